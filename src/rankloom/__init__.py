"""Fuse the ranked lists of several rankers into one better list, without labels and without tuning."""

from rankloom.aggregate import METHODS, fuse
from rankloom.align import align
from rankloom.errors import IndexFileError, InputError, MissingExtraError, RankloomError, UnknownNameError
from rankloom.evaluation import correlation, evaluate
from rankloom.graph import Explanation, FusionGraph
from rankloom.index import FusionIndex
from rankloom.io import read_qrels, read_ranks, read_run, read_runs, write_ranks, write_run
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.scores import NORMALIZATIONS
from rankloom.version import __version__

__all__ = [
    "METHODS",
    "NORMALIZATIONS",
    "PAD",
    "Explanation",
    "FusionGraph",
    "FusionIndex",
    "Ids",
    "IndexFileError",
    "InputError",
    "MissingExtraError",
    "RankloomError",
    "Ranks",
    "UnknownNameError",
    "__version__",
    "align",
    "correlation",
    "evaluate",
    "fuse",
    "read_qrels",
    "read_ranks",
    "read_run",
    "read_runs",
    "write_ranks",
    "write_run",
]
