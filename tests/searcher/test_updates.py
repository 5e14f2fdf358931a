"""Adding and deleting: once merged, the same bits as a build from scratch with the same statistics."""

import threading
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_texts import documents, encode

import rankloom as rl
from rankloom.errors import InputError
from rankloom.searcher.documents import Documents
from rankloom.searcher.read_only import ReadOnlySearcher
from rankloom.searcher.state import State
from rankloom.searcher.updates import merged_state, rebuilt_lists
from strategies import examples

RANKERS = {
    "bm25": "okapi", "set": "jaccard", "pairs": "2grams-cosine", "graph": "gnf-wgu", "dense": encode,
}  # fmt: skip


def from_scratch(first, docs):
    """Return the state that a build of these documents gives with the statistics of another searcher."""
    texts = [f"{one['title']}\n{one['text']}" for one in docs]
    models = {
        name: replace(model, fitted=model.fitted.subset(np.empty(0, np.intp)).appended(texts))
        for name, model in first.retrievers.items()
    }
    return State.of_documents(Documents.of(docs), models, rebuilt_lists(models, first.settings.depth), first.settings)


def assert_same_state(one, other):
    assert list(one.store) == list(other.store)
    for name in one.retrievers:
        np.testing.assert_array_equal(one.lists[name].items, other.lists[name].items, err_msg=name)
        np.testing.assert_array_equal(one.lists[name].scores, other.lists[name].scores, err_msg=name)
    mine, theirs = (state.weft(tuple(state.retrievers)).index.arrays for state in (one, other))
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    if len(one):
        answers = [ReadOnlySearcher(state).search("heart heat of wings", k=8, method="vote") for state in (one, other)]
        assert [(hit.id, hit.score) for hit in answers[0]] == [(hit.id, hit.score) for hit in answers[1]]


UPDATES = st.lists(st.tuples(st.booleans(), st.integers(0, 99)), max_size=6)


@examples(15)
@given(st.integers(1, 12), st.integers(3, 9), UPDATES)
def test_any_sequence_of_updates_equals_a_build_from_scratch(n, depth, steps):
    assert_updates_equal_a_build(n, depth, steps)


@pytest.mark.long
@examples(200)
@given(st.integers(1, 12), st.integers(3, 9), UPDATES)
def test_many_sequences_of_updates_equal_a_build_from_scratch(n, depth, steps):
    assert_updates_equal_a_build(n, depth, steps)


def assert_updates_equal_a_build(n, depth, steps):
    docs = documents(n, seed=depth)
    searcher = rl.Searcher.build(docs, RANKERS, depth=depth, cutoff=4)
    first = searcher.state
    made = n
    for is_add, seed in steps:
        if is_add:
            more = documents(seed % 4 + 1, seed, made)
            if seed % 3 == 0:  # copies, so that scores tie
                more = [{**docs[seed % len(docs)], "id": one["id"]} for one in more]
            made += len(more)
            searcher.add(more)
            docs = [*docs, *more]
        elif len(docs) > 2:
            gone = {docs[seed % len(docs)]["id"], docs[seed * 7 % len(docs)]["id"]}
            searcher.delete(gone)
            docs = [one for one in docs if one["id"] not in gone]
    state = searcher.state
    assert_same_state(merged_state(state) if state.is_grown else state, from_scratch(first, docs))


def test_new_documents_are_found_and_deleted_ones_are_not():
    searcher = rl.Searcher.build(["a cat", "a dog"], ["bm25", "bow-cosine"])
    searcher.add(["a cat and a dog", {"id": "x", "text": "another cat"}])
    assert len(searcher) == 4
    assert "x" in [hit.id for hit in searcher.search("cat")]
    assert "2" in searcher
    searcher.delete(["x", "0"])
    assert [hit.id for hit in searcher.search("cat", k=1)] == ["2"]
    searcher.add(["a new cat"])
    assert searcher.document("4")["text"] == "a new cat"  # ids are not used twice


def test_compacting_learns_new_words():
    searcher = rl.Searcher.build(["a cat", "a dog"], ["bm25", "bow-cosine"])
    searcher.add(["a zebra"])
    assert len(searcher.search("zebra")) == 0
    searcher.compact()
    assert searcher.search("zebra")[0].id == "2"
    fresh = rl.Searcher.build(["a cat", "a dog", "a zebra"], ["bm25", "bow-cosine"])
    assert_same_state(searcher.state, fresh.state)


def test_bad_updates_change_nothing():
    searcher = rl.Searcher.build(documents(5), ["bm25", "bow"])
    before = searcher.state
    with pytest.raises(InputError, match="'d1' already exists; delete it first"):
        searcher.add([{"id": "d1", "text": "again"}])
    with pytest.raises(InputError, match="Unknown document 'd9'"):
        searcher.delete(["d1", "d9"])
    with pytest.raises(InputError, match="Put it in a list"):
        searcher.delete("d1")
    with pytest.raises(InputError, match="at least one document"):
        searcher.delete([f"d{n}" for n in range(5)])
    deep = reduce(lambda inner, _: [inner], range(5000), [])
    with pytest.raises(InputError, match="The field 'f' of document 0 cannot be stored: it is nested too deeply"):
        searcher.add([{"id": "new", "text": "x", "f": deep}])
    searcher.add([])
    searcher.delete([])
    assert searcher.state is before


def test_a_ranker_that_cannot_be_updated_says_so(tmp_path):
    path = tmp_path / "distances.npy"
    np.save(path, 1 - np.eye(3))
    searcher = rl.Searcher.build(documents(3), {"m": f"matrix(path={path})"})
    assert searcher.search(item="d1", k=1)[0].id == "d1"
    with pytest.raises(InputError, match="'m' cannot be updated"):
        searcher.add([{"id": "new", "text": "x"}])
    with pytest.raises(InputError, match="'m' cannot be saved"):
        searcher.save(tmp_path / "x.loom")


def test_searches_go_on_while_documents_change():
    searcher = rl.Searcher.build(documents(40), ["bm25", "bow-cosine"])
    failures = []

    def search():
        try:
            for _ in range(60):
                for hit in searcher.search("heart flow", k=5):
                    assert hit.document["id"] == hit.id
        except Exception as error:
            failures.append(error)

    workers = [threading.Thread(target=search) for _ in range(3)]
    for worker in workers:
        worker.start()
    for round_ in range(8):
        searcher.add(documents(2, round_, 100 + 2 * round_))
        searcher.delete([f"d{round_}"])
    for worker in workers:
        worker.join()
    assert not failures
