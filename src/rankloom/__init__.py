"""Fuse the ranked lists of several rankers into one better list, without labels and without tuning."""

from typing import TYPE_CHECKING, Any

from rankloom.aggregate import (
    METHODS,
    SUPERVISED,
    WeftIndex,
    cross_validate,
    fuse,
    optimize,
    register_method,
    train,
)
from rankloom.aggregate.normalizations import NORMALIZATIONS
from rankloom.errors import (
    IndexFileError,
    InputError,
    MissingExtraError,
    RankloomError,
    RankloomWarning,
    UnknownNameError,
)
from rankloom.evaluation import compare, correlation, evaluate, register_measure, select
from rankloom.fusion_graph import (
    COMPARATORS,
    WEIGHTINGS,
    Explanation,
    FusionGraph,
    FusionIndex,
    register_comparator,
    register_weighting,
)
from rankloom.io import read_qrels, read_ranks, read_run, read_runs, write_ranks, write_run
from rankloom.io.version import __version__
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.align import align
from rankloom.registry import load_plugin

if TYPE_CHECKING:
    from rankloom.datasets import Collection, open_collection, register_collection
    from rankloom.experiment import Experiment
    from rankloom.rankers import rank_collection, register_ranker
    from rankloom.searcher import Answer, Hit, Searcher

__all__ = [
    "COMPARATORS",
    "METHODS",
    "NORMALIZATIONS",
    "PAD",
    "SUPERVISED",
    "WEIGHTINGS",
    "Answer",
    "Collection",
    "Experiment",
    "Explanation",
    "FusionGraph",
    "FusionIndex",
    "Hit",
    "Ids",
    "IndexFileError",
    "InputError",
    "MissingExtraError",
    "RankloomError",
    "RankloomWarning",
    "Ranks",
    "Searcher",
    "UnknownNameError",
    "WeftIndex",
    "__version__",
    "align",
    "compare",
    "correlation",
    "cross_validate",
    "evaluate",
    "fuse",
    "load_plugin",
    "open_collection",
    "optimize",
    "rank_collection",
    "read_qrels",
    "read_ranks",
    "read_run",
    "read_runs",
    "register_collection",
    "register_comparator",
    "register_measure",
    "register_method",
    "register_ranker",
    "register_weighting",
    "select",
    "train",
    "write_ranks",
    "write_run",
]

#: Names whose modules load when they are first used, so that `import rankloom` stays quick.
_LAZY = {
    "Answer": "rankloom.searcher",
    "Hit": "rankloom.searcher",
    "Searcher": "rankloom.searcher",
    "Collection": "rankloom.datasets",
    "Experiment": "rankloom.experiment",
    "open_collection": "rankloom.datasets",
    "rank_collection": "rankloom.rankers",
    "register_collection": "rankloom.datasets",
    "register_ranker": "rankloom.rankers",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'rankloom' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = getattr(import_module(_LAZY[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
