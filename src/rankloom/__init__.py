"""Fuse the ranked lists of several rankers into one better list, without labels and without tuning."""

from typing import TYPE_CHECKING

from rankloom.aggregate import fuse, train
from rankloom.errors import RankloomError, RankloomWarning
from rankloom.evaluation import compare, correlation, evaluate, select
from rankloom.fusion_graph import FusionIndex
from rankloom.io import read_qrels, read_run, read_runs, write_run
from rankloom.io.version import __version__
from rankloom.ranks import Ids, Ranks
from rankloom.weft import WeftIndex

if TYPE_CHECKING:
    from rankloom.datasets import Collection, open_collection
    from rankloom.experiment import Experiment
    from rankloom.searcher import Answer, Hit, Searcher

__all__ = [
    "Answer",
    "Collection",
    "Experiment",
    "FusionIndex",
    "Hit",
    "Ids",
    "RankloomError",
    "RankloomWarning",
    "Ranks",
    "Searcher",
    "WeftIndex",
    "__version__",
    "compare",
    "correlation",
    "evaluate",
    "fuse",
    "open_collection",
    "read_qrels",
    "read_run",
    "read_runs",
    "select",
    "train",
    "write_run",
]

#: Names whose modules load when they are first used, so that `import rankloom` stays quick.
_LAZY = {
    "Answer": "rankloom.searcher",
    "Collection": "rankloom.datasets",
    "Experiment": "rankloom.experiment",
    "Hit": "rankloom.searcher",
    "Searcher": "rankloom.searcher",
    "open_collection": "rankloom.datasets",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'rankloom' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = getattr(import_module(_LAZY[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
