"""Methods of rank aggregation behind one door: `fuse`, with `METHODS` for their names."""

from rankloom.aggregate.adaptive import qalf
from rankloom.aggregate.context import crossdiffusion, sca
from rankloom.aggregate.fusion_graph import fg
from rankloom.aggregate.methods import METHODS, Method, fuse
from rankloom.aggregate.order import rrf
from rankloom.aggregate.query_graph import queryrankfusion
from rankloom.aggregate.reciprocal import helloneighbor

__all__ = [
    "METHODS",
    "Method",
    "crossdiffusion",
    "fg",
    "fuse",
    "helloneighbor",
    "qalf",
    "queryrankfusion",
    "rrf",
    "sca",
]
