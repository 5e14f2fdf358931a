"""Readers of text collections."""

import gzip
import json
from collections import Counter

import pytest

from rankloom.datasets import cranfield, ohsumed
from rankloom.errors import InputError

LINES = [
    {"id": "2", "labels": ["C06"], "text": "second"},
    {"id": "1", "labels": ["C14"], "text": "first"},
    {"id": "3", "labels": ["C14", "C06"], "text": "of two classes"},
]


def test_ohsumed_has_18302_abstracts_with_one_of_23_classes(shared):
    found = ohsumed(str(shared / "data" / "ohsumed"))
    sizes = Counter(found.labels)
    assert len(found) == 18302
    assert (len(sizes), min(sizes.values()), max(sizes.values())) == (23, 56, 2876)  # as the paper says
    assert found.part("texts")[0].startswith("Evaluation of women with possible appendicitis")


@pytest.mark.parametrize("packed", [False, True])
def test_ohsumed_skips_abstracts_with_several_classes(tmp_path, packed):
    text = "\n".join(map(json.dumps, LINES)).encode()
    name = tmp_path / "ohsumed_single_label_18302.jsonl"
    name.with_name(name.name + ".gz").write_bytes(gzip.compress(text)) if packed else name.write_bytes(text)
    found = ohsumed(str(tmp_path), check=False)
    assert list(found.ids) == ["1", "2"]
    assert found.labels == ("C14", "C06")
    assert found.part("texts") == ["first", "second"]
    with pytest.raises(InputError, match="ohsumed should have 18302 abstracts with one label; found 2"):
        ohsumed(str(tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"id": 1}',
        '{"id": 1, "labels": "C1", "text": ""}',
        '{"id": null, "labels": ["C1"], "text": ""}',
        '{"id": 1, "labels": [null], "text": ""}',
        '{"id": 1, "labels": ["C1"], "text": null}',
    ],
)
def test_ohsumed_rejects_a_malformed_line_with_its_number(tmp_path, line):
    (tmp_path / "ohsumed_single_label_18302.jsonl").write_text(json.dumps(LINES[0]) + "\n" + line)
    with pytest.raises(InputError, match=r"18302\.jsonl:2: expected"):
        ohsumed(str(tmp_path), check=False)


def test_ohsumed_rejects_a_duplicate_id_with_both_lines(tmp_path):
    (tmp_path / "ohsumed_single_label_18302.jsonl").write_text("\n".join(map(json.dumps, [*LINES, LINES[0]])))
    with pytest.raises(InputError, match=r"18302\.jsonl:4: duplicate id '2'; it is in line 1 too"):
        ohsumed(str(tmp_path), check=False)


def test_a_missing_file_is_described(tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*ohsumed_single_label_18302\.jsonl\. .*lines of"):
        ohsumed(str(tmp_path))
    with pytest.raises(InputError, match=r"There is no file .*cran\.all\.1400\.xml\. .* cranqrel\.trec\.txt"):
        cranfield(str(tmp_path))


def test_cranfield_has_1400_abstracts_and_225_queries(shared):
    found = cranfield(str(shared / "data" / "cranfield"))
    assert (len(found), len(found.queries.ids)) == (1400, 225)
    assert sum(map(len, found.queries.qrels.values())) == 1837
    assert set(found.queries.qrels) == set(found.queries.ids)
    assert found.part("texts")[470] == ""  # abstract 471 has no text
    assert found.part("texts")[0].startswith("experimental investigation of the aerodynamics")


def test_cranfield_queries_are_numbered_in_file_order(shared):
    # The third query has <num> 4, but the judgments call it 3; its relevant abstracts are about composite slabs.
    found = cranfield(str(shared / "data" / "cranfield"))
    assert found.queries.part("texts")[2].startswith("what problems of heat conduction in composite slabs")
    relevant = [item for item, grade in found.queries.qrels["3"].items() if grade > 0]
    texts = [found.part("texts")[found.ids.number(item)] for item in relevant]
    assert sum("slab" in text for text in texts) >= len(texts) / 2


def test_cranfield_checks_counts_and_elements(tmp_path):
    (tmp_path / "cran.all.1400.xml").write_text("<doc><docno>1</docno><text>\na b\n</text></doc>")
    (tmp_path / "cran.qry.xml").write_text("<xml><top><num> 7</num><title>\nb\n</title></top></xml>")
    (tmp_path / "cranqrel.trec.txt").write_text("1 0 1 1\n")
    found = cranfield(str(tmp_path), check=False)
    assert (found.part("texts"), found.queries.part("texts"), list(found.queries.ids)) == (["a b"], ["b"], ["1"])
    with pytest.raises(InputError, match="cranfield should have 1400 abstracts; found 1"):
        cranfield(str(tmp_path))
    (tmp_path / "cran.qry.xml").write_text("<top><num> 7</num></top>")
    with pytest.raises(InputError, match="expected <title> in each element"):
        cranfield(str(tmp_path))
