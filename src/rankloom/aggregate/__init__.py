"""Methods of rank aggregation behind one door: `fuse`, with `METHODS` for their names."""

from rankloom.aggregate.corgraph import corgraph
from rankloom.aggregate.fusion_graph import fg
from rankloom.aggregate.methods import METHODS, Method, fuse
from rankloom.aggregate.order import rrf
from rankloom.aggregate.recknngraph import recknngraphccs
from rankloom.aggregate.rkgraph import rkgraph

__all__ = ["METHODS", "Method", "corgraph", "fg", "fuse", "recknngraphccs", "rkgraph", "rrf"]
