"""Rank aggregation: `fuse` runs any method of the registry `METHODS`; `rankloom.methods` imports all of them."""

from rankloom.aggregate.learned.training import train
from rankloom.aggregate.methods import (
    METHODS,
    SUPERVISED,
    CollectionMethod,
    IndexMethod,
    Method,
    QueryMethod,
    fuse,
)

__all__ = [
    "METHODS",
    "SUPERVISED",
    "CollectionMethod",
    "IndexMethod",
    "Method",
    "QueryMethod",
    "fuse",
    "train",
]
