"""Fuse the ranked lists of several rankers into one better list, without labels and without tuning."""

from rankloom.align import align
from rankloom.errors import IndexFileError, InputError, MissingExtraError, RankloomError, UnknownNameError
from rankloom.ranks import PAD, Ids, Ranks

__version__ = "0.1.0"

__all__ = [
    "PAD",
    "Ids",
    "IndexFileError",
    "InputError",
    "MissingExtraError",
    "RankloomError",
    "Ranks",
    "UnknownNameError",
    "align",
]
