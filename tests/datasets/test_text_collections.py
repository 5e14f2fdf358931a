"""Readers of text collections."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest

from rankloom.datasets import cranfield, ohsumed, texts
from rankloom.errors import InputError
from rankloom.rankers import rank_collection

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


def test_ohsumed_may_be_sampled(tmp_path):
    lines = [{"id": f"{number:02}", "labels": ["C06"], "text": "text"} for number in range(20)]
    (tmp_path / "ohsumed_single_label_18302.jsonl").write_text("\n".join(map(json.dumps, lines)))
    few, same, other = (list(ohsumed(str(tmp_path), sample=5, seed=s, check=False).ids) for s in (0, 0, 1))
    assert few == same != other
    assert len(few) == 5
    assert few == sorted(few)


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


def write_texts(folder, docs, queries, qrels, suffix=".gz", vectors=None):
    for name, rows in (("docs.jsonl", docs), ("queries.jsonl", queries)):
        content = "\n".join(map(json.dumps, rows)).encode()
        (folder / f"{name}{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    (folder / "qrels.txt").write_text(qrels)
    if vectors is not None:
        np.savez(folder / "minilm.npz", E=vectors[0], Q=vectors[1])
    return str(folder)


DOCS = [
    {"id": "d1", "title": "Cats", "text": "purr"},
    {"id": "d2", "title": "", "text": "dogs bark"},
    {"id": 3, "text": ""},
]
ASKED = [{"id": "q1", "text": "cats"}, {"id": "q2", "text": "dogs"}]
QRELS = "q1 0 d1 1\nq2 0 d2 2\n"


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_texts_have_titles_queries_and_judgments(tmp_path, suffix):
    found = texts(write_texts(tmp_path, DOCS, ASKED, QRELS, suffix))
    assert (found.name, list(found.ids)) == (tmp_path.name, ["d1", "d2", "3"])
    assert found.part("texts") == ["Cats\npurr", "dogs bark", ""]
    assert found.queries.part("texts") == ["cats", "dogs"]
    assert found.queries.qrels == {"q1": {"d1": 1}, "q2": {"d2": 2}}
    assert set(found.parts) == {"texts"}


def test_queries_are_ranked_by_their_own_vectors(tmp_path):
    vectors = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[0.0, 2.0], [3.0, 1.0]]
    found = texts(write_texts(tmp_path, DOCS, ASKED, QRELS, vectors=vectors))
    ranking = rank_collection(found, ["vectors"], depth=2)
    assert ranking.lists["vectors"].queries.items.tolist() == [[1, 2], [0, 2]]
    assert ranking.lists["vectors"].items.items.tolist() == [[0, 2], [1, 2], [2, 0]]


@pytest.mark.parametrize(
    ("docs", "vectors", "message"),
    [
        ([DOCS[0], DOCS[0]], None, r"docs\.jsonl\.gz:2: duplicate id 'd1'"),
        ([{"id": "d1"}], None, r"docs\.jsonl\.gz:1: Unknown column 'text'"),
        (DOCS, ([[1.0]], [[1.0], [2.0]]), r"array E with a row for each of 3 texts; got shape \(1, 1\)"),
        (DOCS, ([[1.0]] * 3, [1.0, 2.0]), r"array Q with a row for each of 2 queries; got shape \(2,\)"),
    ],
)
def test_texts_that_do_not_fit_together_are_rejected(tmp_path, docs, vectors, message):
    with pytest.raises(InputError, match=message):
        texts(write_texts(tmp_path, docs, ASKED, QRELS, vectors=vectors))


def test_a_folder_without_texts_is_described(tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*docs\.jsonl\. .* queries\.jsonl"):
        texts(tmp_path)


@pytest.mark.parametrize(("name", "n", "n_queries", "n_judged"), [("med", 1033, 30, 30), ("cisi", 1460, 112, 76)])
def test_the_shared_texts_are_complete(shared, name, n, n_queries, n_judged):
    found = texts(shared / "data" / "texts" / name)
    assert (len(found), len(found.queries.ids), len(found.queries.qrels)) == (n, n_queries, n_judged)
    assert found.part("vectors").shape == (n, 384)
    assert found.queries.part("vectors").shape == (n_queries, 384)


def test_cranfield_has_vectors_and_titles_if_wanted(shared):
    found = cranfield(str(shared / "data" / "cranfield"), title=True)
    assert (found.part("vectors").shape, found.queries.part("vectors").shape) == ((1400, 384), (225, 384))
    assert found.part("texts")[0].count("wing in a slipstream") == 2
