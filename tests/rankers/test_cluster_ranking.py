"""Lists made on a Dask cluster equal those made here, bit by bit."""

import numpy as np
import pytest

import rankloom as rl
from rankloom.datasets import Collection
from rankloom.index.cluster import connected
from rankloom.rankers import rank_collection
from rankloom.rankers.cluster_ranking import rank_by_parts
from rankloom.rankers.vectors.vectors import Vectors

pytestmark = pytest.mark.long
WORDS = ["heart", "skin", "liver", "attack", "failure", "fever", "pain", "chronic", "acute"]
RANKERS = ["okapi", "okapi(max_terms=3)", "2grams-jaccard", "vectors", "vectors(metric=l1)", "jaccard"]


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    with connected("local", workers=2) as one:
        yield one


@pytest.fixture(scope="module")
def some():
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 8))) for _ in range(120)]
    parts = {"texts": texts, "vectors": rng.normal(size=(120, 5)).astype(np.float32)}
    return Collection("some", rl.Ids(f"d{n}" for n in range(120)), parts)


def same(one, other):
    return np.array_equal(one.items, other.items) and one.scores.tobytes() == other.scores.tobytes()


def test_lists_by_parts_have_the_same_bits(client, some):
    here = rank_collection(some, RANKERS, depth=20)
    for lists in here.lists.values():
        for part in (50, 7):
            found = rank_by_parts(lists.fit(), client, depth=20, part=part)
            assert same(found, lists.items)
            assert found.kind == "collection"


def test_lists_by_cells_are_made_here(client, some):
    spelling = "vectors(algorithm=cells)"
    found = rank_collection(some, [spelling], depth=12, scheduler=client.scheduler.address).lists[spelling].items
    here = rank_collection(some, [spelling], depth=12).lists[spelling].items
    assert same(found, here)
    assert found.recall == here.recall > 0


def test_an_empty_collection_has_no_parts(client):
    assert rank_by_parts(Vectors().fit(np.empty((0, 3))), client).items.shape == (0, 0)


def test_a_scheduler_makes_the_lists_of_a_collection(client, some):
    reports = []
    address = client.scheduler.address
    found = rank_collection(some, ["okapi"], depth=9, scheduler=address, progress=lambda *one: reports.append(one))
    assert same(found.lists["okapi"].items, rank_collection(some, ["okapi"], depth=9).lists["okapi"].items)
    assert ("Ranking parts of items", 1, 1) in reports
