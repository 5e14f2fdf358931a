"""Lists in, list out: against WeftIndex.vote and against the plain version, with guests and filters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_texts import documents

import plain_vote
from plain_vote import entries, nearest
from rankloom import RankloomError, Searcher, WeftIndex
from strategies import examples

N = 150
RANKERS = {"words": "okapi", "meaning": "bow-cosine"}
QUERIES = ["heat boundary layer", "supersonic wing flow", "blood pressure", "pawn endgame", "temperature drag"]
CLOSE = 2e-4


@pytest.fixture(scope="module")
def searcher():
    return Searcher.build(documents(N), RANKERS, cutoff=8, depth=30, self_test=False)


@pytest.fixture(scope="module")
def index(searcher):
    """Return the same index, built of the lists of the documents by hand."""
    return WeftIndex.build(dict(searcher.state.lists), cutoff=8, depth=30, comparable=[False, False])


def own_lists(searcher, text, depth=300):
    """Return what the searcher's own rankers list, as an engine would give it."""
    return {
        name: [(ranks.item_id(item), float(score)) for item, score in entries(ranks, 0)]
        for name, ranks in searcher.lists({"q": text}, depth).items()
    }


def scored(answer):
    return [(hit.id, hit.score) for hit in answer]


@pytest.mark.parametrize("text", QUERIES)
def test_given_lists_are_fused_as_the_index_does_bit_by_bit(searcher, index, text):
    lists = own_lists(searcher, text)
    asked = searcher.lists({"q": text}, 300)
    asked = {name: ranks.head(len(lists[name])) for name, ranks in asked.items()}
    out = index.with_ids(searcher.ids).vote(asked, 50)
    expected = [(out.item_id(item), score) for item, score in entries(out, 0)]
    assert scored(searcher.search(text, 50, lists=lists, neighbors="all")) == expected


def test_a_complete_list_is_as_the_searchers_own(searcher):
    text = QUERIES[0]
    lists = own_lists(searcher, text)
    found = searcher.search(text, 50, lists=lists, neighbors="all", complete=["words", "meaning"])
    given = searcher.search(text, 50, lists=lists, neighbors="all", complete=["words", "meaning"],
                            scores={"meaning": "cosine"})  # fmt: skip
    assert scored(given) == scored(searcher.search(text, 50))
    assert scored(found) != scored(given)  # without the correction of hubs


def drawn_list(data, known, guests):
    ids = data.draw(st.lists(st.sampled_from([*known, *guests]), unique=True, min_size=1, max_size=40))
    scores = sorted(data.draw(st.lists(st.integers(0, 60), min_size=len(ids), max_size=len(ids))), reverse=True)
    return list(zip(ids, [score / 8 for score in scores], strict=True))


def neighbors_of(state, name, guests, listed):
    """Return {item: neighbors} of all items and of guests, which have one neighbor at the mean closeness."""
    near = nearest(state.lists[name])
    closeness = [np.mean([s for _, s in near[i][:20]]) if near[i] else 0.0 for i in listed if i < len(state)]
    mean = float(np.mean(closeness)) if closeness else 0.0
    known = dict(enumerate(near)) if isinstance(near, list) else near
    return known | {guest: [(10**6, mean)] for guest in guests}


@examples(500)
@given(data=st.data())
def test_votes_are_those_of_the_plain_version(searcher, data):
    state, guests = searcher.state, ["new1", "new2", "new3"]
    lists = {name: drawn_list(data, list(state.ids)[:60], guests) for name in RANKERS}
    complete = data.draw(st.sets(st.sampled_from(list(RANKERS))))
    cosine = data.draw(st.booleans())
    out = searcher.search("q", 200, lists=lists, neighbors="all", complete=complete,
                          scores={"meaning": "cosine"} if cosine else {})  # fmt: skip
    seen = dict.fromkeys(id for entries in lists.values() for id, _ in entries if id in guests)
    numbers = {id: n for n, id in enumerate([*state.ids, *seen])}
    by_number = [[(numbers[id], score) for id, score in own] for own in lists.values()]
    near = [
        neighbors_of(state, name, range(N, len(numbers)), [i for i, _ in own])
        for name, own in zip(RANKERS, by_number, strict=True)
    ]
    weft = weft_list(searcher, lists)
    options = {"symmetric": [False, cosine], "short": [name in complete for name in RANKERS]}
    expected = plain_vote.vote(by_number, near, weft, len(numbers), **options)
    got = {numbers[hit.id]: hit.score for hit in out}
    assert got == pytest.approx({item: expected[item] for item in got}, abs=CLOSE)
    assert list(got.values()) == pytest.approx(sorted(expected.values(), reverse=True)[: len(got)], abs=CLOSE)
    assert {numbers[id] for id in seen} <= set(got)


def weft_list(searcher, lists):
    """Return weft's list for the known items of given lists."""
    from rankloom.ranks import Ranks

    known = []
    for own in lists.values():
        kept = [(searcher.ids.number(id), score) for id, score in own if id in searcher]
        items = [[item for item, _ in kept]]
        known.append(Ranks(np.array(items, np.int32).reshape(1, -1),
                           np.array([[s for _, s in kept]], np.float32).reshape(1, -1), N, kind="queries"))  # fmt: skip
    return entries(searcher.state.weft(tuple(RANKERS)).vote_list(known, 300), 0)


def test_guests_have_ids_and_nothing_else(searcher):
    (hit,) = searcher.search(lists={"words": ["new"]})
    assert (hit.id, hit.number, hit.document, hit.ranks["words"]) == ("new", None, {"id": "new"}, 1)
    assert searcher.search(lists={"words": ["new"]}).explain("new").item == "new"
    with pytest.raises(RankloomError, match="no document 'new'"):
        searcher.search(lists={"words": ["new", "d1"]}, method="weft").explain("new")


def test_a_second_stage_sees_the_ids_of_guests(searcher):
    def length(query, found):
        return [len(document.get("text", document["id"])) for document in found]

    answer = searcher.search("heat", lists={"words": ["a long id", "new"]}, rerank=length)
    assert [(hit.id, hit.rerank_score) for hit in answer] == [("a long id", 9.0), ("new", 3.0)]


def test_without_a_filter_only_listed_items_are_returned(searcher):
    lists = {name: own[:5] for name, own in own_lists(searcher, QUERIES[0]).items()}
    listed = {id for own in lists.values() for id, _ in own}
    assert {hit.id for hit in searcher.search(lists=lists, k=100)} <= listed
    assert {hit.id for hit in searcher.search(lists=lists, k=100, neighbors="all")} - listed


def test_what_is_allowed_restricts_answers_and_explanations(searcher):
    lists = own_lists(searcher, QUERIES[0])
    allowed = {f"d{number}" for number in range(0, N, 3)} | {"new"}
    lists["words"].insert(0, ("new", lists["words"][0][1] + 1))
    answer = searcher.search(lists=lists, k=N, allowed=allowed)
    assert {hit.id for hit in answer} <= allowed
    assert answer[0].id == "new" or "new" in {hit.id for hit in answer}
    for hit in answer:
        why = answer.explain(hit.id)
        assert why.similarity == pytest.approx(hit.score, abs=CLOSE)
        assert all(part.kind == "hidden" or answer._ids[part.source] in allowed for part in why.parts)
    by_year = searcher.search(lists=lists, k=N, where={"year": {"gte": 2002}})
    assert all(hit.number is None or hit.document["year"] >= 2002 for hit in by_year)


def test_other_methods_fuse_given_lists_too(searcher):
    lists = {"words": ["d3", "new", "d1"], "meaning": ["d1", "d2"]}
    found = dict(scored(searcher.search(lists=lists, method="rrf", k=9)))
    assert found == pytest.approx({"d1": 1 / 63 + 1 / 61, "d3": 1 / 61, "new": 1 / 62, "d2": 1 / 62})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lists": {"words": "d1"}}, "must be ids"),
        ({"lists": {"sound": ["d1"]}}, "words"),
        ({"lists": {}}, "Give lists"),
        ({"lists": {"words": [("d1", float("nan"))]}}, "finite"),
        ({"lists": {"words": [("d1", 1e300)]}}, "finite"),
        ({"lists": {"words": [(1, 2.5)]}}, "ids, which are strings"),
        ({"lists": {"words": [("d1", 10**400)]}}, "finite"),
        ({"lists": {"words": ["d1"]}, "scores": ["words"]}, "Give scores as"),
        ({"lists": {"words": ["d1"]}, "allowed": [1]}, "allowed must be a text or a list of texts"),
        ({"lists": {"words": ["d1"]}, "allowed": [["d1"]]}, "allowed must be a text or a list of texts"),
        ({"lists": {"words": [("d1", 1.0), "d2"]}}, "for all"),
        ({"lists": {"words": [("d1", 1.0), ("d2", 2.0)]}}, "must not rise"),
        ({"lists": {"words": ["d1", "d1"]}}, "twice"),
        ({"lists": {"words": ["d1"]}, "item": "d1"}, "one query"),
        ({"lists": {"words": ["d1"]}, "complete": ["sound"]}, "sound"),
        ({"lists": {"words": ["d1"]}, "neighbors": "some"}, "listed"),
        ({"lists": {"words": ["d1"]}, "allowed": "d1"}, "allowed"),
        ({"query": "heat", "neighbors": "all"}, "give lists"),
    ],
)
def test_wrong_lists_are_refused_in_a_sentence(searcher, options, message):
    with pytest.raises(RankloomError, match=message):
        searcher.search(**options)


def test_empty_lists_give_an_empty_answer(searcher):
    assert len(searcher.search(lists={"words": []})) == 0


def test_updates_do_not_change_what_lists_mean():
    made = documents(N)
    grown = Searcher.build(made[:-5], RANKERS, cutoff=8, depth=30, self_test=False)
    grown.add(made[-5:])
    grown.delete(["d7", "d9"])
    lists = {name: [*own, ("d7", 0.0)] for name, own in own_lists(grown, QUERIES[0]).items()}
    answer = grown.search(lists=lists, k=20)
    assert len(answer) == 20
    assert [hit.number for hit in grown.search(lists={"words": ["d7"]})] == [None]


def test_a_searcher_may_keep_ids_alone(searcher, tmp_path):
    made = documents(N)
    alone = Searcher.build(made, RANKERS, cutoff=8, depth=30, self_test=False, store="ids")
    assert scored(alone.search(QUERIES[0], 20)) == scored(searcher.search(QUERIES[0], 20))
    alone.add([{"id": "late", "text": "heat heat heat", "year": 1}])
    alone.save(tmp_path / "ids.loom")
    opened = Searcher.open(tmp_path / "ids.loom")
    assert [hit.document for hit in opened.search("heat", 2)] == [{"id": hit.id} for hit in alone.search("heat", 2)]
    assert opened.document("late") == {"id": "late"}
    stored = b"".join(path.read_bytes() for path in (tmp_path / "ids.loom").glob("documents*"))
    assert b"heat" not in stored
    with pytest.raises(RankloomError, match="not kept"):
        opened.compact()
    with pytest.raises(RankloomError, match="year"):
        opened.search("heat", where={"year": 2001})
    with pytest.raises(RankloomError, match="store"):
        Searcher.build(made, RANKERS, store="none")
