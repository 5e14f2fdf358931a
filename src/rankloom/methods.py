"""The fusion methods, the registries of `fuse`, and the search for a method's options and weights."""

from rankloom.aggregate import (
    FG,
    METHODS,
    RRF,
    SUPERVISED,
    CollectionMethod,
    IndexMethod,
    Method,
    NeighborMethod,
    PoolMethod,
    QueryMethod,
    Supervised,
    Vote,
    Weft,
    check_method,
    cross_validate,
    optimize,
    register_method,
)
from rankloom.aggregate.normalizations import NORMALIZATIONS

__all__ = [
    "FG",
    "METHODS",
    "NORMALIZATIONS",
    "RRF",
    "SUPERVISED",
    "CollectionMethod",
    "IndexMethod",
    "Method",
    "NeighborMethod",
    "PoolMethod",
    "QueryMethod",
    "Supervised",
    "Vote",
    "Weft",
    "check_method",
    "cross_validate",
    "optimize",
    "register_method",
]
