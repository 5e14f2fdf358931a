"""Arguments of the wrong type at every public door: our error, never a TypeError from within."""

import warnings
from functools import cache

import numpy as np
import pytest

import rankloom as rl
from rankloom.io import read_ranks
from rankloom.methods import optimize

COLLECTION = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], kind="collection")
QUERIES = [rl.Ranks.from_dict({"q": {"a": 1.0, "b": 0.5}}), rl.Ranks.from_dict({"q": {"b": 1.0}})]
QRELS = {"q": {"a": 1}}
#: What is valid after all.
ACCEPTED = {("k", "5"), ("from_dict", "{}"), ("searcher", "None"), ("queries", "None")}
WRONG = [5, None, {}, [1], ["a"], [None], np.array([1.0, 2.0]), b"x", object()]
DOORS = {
    "Ranks": lambda wrong: rl.Ranks(wrong),
    "from_dict": lambda wrong: rl.Ranks.from_dict(wrong),
    "fuse": lambda wrong: rl.fuse(wrong, method="rrf"),
    "build": lambda wrong: rl.FusionIndex.build(wrong),
    "weft": lambda wrong: rl.WeftIndex.build(wrong),
    "correlation": lambda wrong: rl.correlation(wrong, COLLECTION),
    "evaluate": lambda wrong: rl.evaluate(wrong, labels=[1]),
    "train": lambda wrong: rl.train(wrong, QRELS, "posfuse"),
    "train by": lambda wrong: rl.train(QUERIES, wrong, "posfuse"),
    "optimize": lambda wrong: optimize(wrong, QRELS, "rrf"),
    "optimize by": lambda wrong: optimize(QUERIES, QRELS, wrong),
    "build_on_disk": lambda wrong: rl.FusionIndex.build_on_disk(wrong, "x.loom"),
    "searcher": lambda wrong: rl.Searcher.build(["a"], rankers=wrong),
    "k": lambda wrong: index().search(k=wrong),
    "queries": lambda wrong: index().search(wrong),
    "explain": lambda wrong: index().explain(wrong, 99),
    "ids": lambda wrong: index().with_ids(wrong),
    "save": lambda wrong: index().save(wrong),
    "open": lambda wrong: rl.FusionIndex.open(wrong),
    "open searcher": lambda wrong: rl.Searcher.open(wrong),
    "read": lambda wrong: read_ranks(wrong),
}


@cache
def index():
    return rl.FusionIndex.build([COLLECTION])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("wrong", WRONG, ids=["5", "None", "{}", "[1]", "[a]", "[None]", "array", "bytes", "object"])
def test_a_wrong_type_is_our_error(tmp_path, monkeypatch, door, wrong):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rl.RankloomWarning)
        try:
            DOORS[door](wrong)
        except rl.RankloomError:
            pass
        else:
            assert (door, repr(wrong)) in ACCEPTED
    assert not list(tmp_path.iterdir())


def test_lists_of_ids_and_generators_of_ranks_are_taken():
    index = rl.FusionIndex.build(one for one in [COLLECTION, COLLECTION]).with_ids(["a", "b", "c"])
    assert index.settings.n_rankers == 2
    assert list(index.item_ids) == ["a", "b", "c"]
