"""Rank aggregation: `fuse` runs any method of the registry `METHODS`; `rankloom.methods` has their classes."""

from rankloom.aggregate import index_methods  # noqa: F401 - importing a module registers its methods
from rankloom.aggregate.graphs.context import crossdiffusion, sca
from rankloom.aggregate.graphs.corgraph import corgraph
from rankloom.aggregate.graphs.query_graph import queryrankfusion
from rankloom.aggregate.graphs.reciprocal import helloneighbor
from rankloom.aggregate.graphs.recknngraphccs import recknngraphccs
from rankloom.aggregate.graphs.rkgraph import rkgraph
from rankloom.aggregate.learned import supervised  # noqa: F401
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
from rankloom.aggregate.per_query import (  # noqa: F401
    adaptive,
    kemeny,
    majorities,
    markov,
    positions,
    scores,
    weighted,
)
from rankloom.aggregate.reranking.bfstree import bfstree
from rankloom.aggregate.reranking.contextrr import contextrr
from rankloom.aggregate.reranking.cprr import cprr
from rankloom.aggregate.reranking.lhrr import lhrr
from rankloom.aggregate.reranking.rdpac import rdpac
from rankloom.aggregate.reranking.reciprocal_sets import recknngraph, rlrecom
from rankloom.aggregate.reranking.rfe import rfe
from rankloom.aggregate.reranking.rlsim_udl import rlsim_udl

__all__ = [
    "METHODS",
    "SUPERVISED",
    "CollectionMethod",
    "IndexMethod",
    "Method",
    "QueryMethod",
    "bfstree",
    "contextrr",
    "corgraph",
    "cprr",
    "crossdiffusion",
    "fuse",
    "helloneighbor",
    "lhrr",
    "queryrankfusion",
    "rdpac",
    "recknngraph",
    "recknngraphccs",
    "rfe",
    "rkgraph",
    "rlrecom",
    "rlsim_udl",
    "sca",
    "train",
]
