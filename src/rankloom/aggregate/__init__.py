"""Rank aggregation: `fuse` runs any method of the registry `METHODS`."""

from rankloom.aggregate.contract import check_method
from rankloom.aggregate.graphs.context import crossdiffusion, sca
from rankloom.aggregate.graphs.corgraph import corgraph
from rankloom.aggregate.graphs.query_graph import queryrankfusion
from rankloom.aggregate.graphs.reciprocal import helloneighbor
from rankloom.aggregate.graphs.recknngraphccs import recknngraphccs
from rankloom.aggregate.graphs.rkgraph import rkgraph
from rankloom.aggregate.index_methods import FG, Vote, Weft
from rankloom.aggregate.learned.supervised import BayesFuse, MapFuse, PosFuse, ProbFuse, SegFuse, SlideFuse
from rankloom.aggregate.learned.training import Trained, train
from rankloom.aggregate.learned.tuning import CrossValidation, Tuned, cross_validate, optimize
from rankloom.aggregate.methods import (
    METHODS,
    SUPERVISED,
    CollectionMethod,
    IndexMethod,
    Method,
    NeighborMethod,
    PoolMethod,
    QueryMethod,
    Supervised,
    fuse,
    register_method,
)
from rankloom.aggregate.per_query.adaptive import qalf
from rankloom.aggregate.per_query.kemeny import kemeny, kemeny_cost
from rankloom.aggregate.per_query.majorities import condorcet
from rankloom.aggregate.per_query.markov import mc4
from rankloom.aggregate.per_query.positions import RRF, borda, isr, log_isr, logn_isr, mra, rbc
from rankloom.aggregate.per_query.scores import combanz, combmax, combmed, combmin, combmnz, combsum, rlsim
from rankloom.aggregate.per_query.weighted import dbsf, gmnz, mixed, wmnz, wsum
from rankloom.aggregate.reranking.bfstree import bfstree
from rankloom.aggregate.reranking.contextrr import contextrr
from rankloom.aggregate.reranking.cprr import cprr
from rankloom.aggregate.reranking.lhrr import lhrr
from rankloom.aggregate.reranking.rdpac import rdpac
from rankloom.aggregate.reranking.reciprocal_sets import recknngraph, rlrecom
from rankloom.aggregate.reranking.rfe import rfe
from rankloom.aggregate.reranking.rlsim_udl import rlsim_udl
from rankloom.weft import WeftIndex

__all__ = [
    "FG",
    "METHODS",
    "RRF",
    "SUPERVISED",
    "BayesFuse",
    "CollectionMethod",
    "CrossValidation",
    "IndexMethod",
    "MapFuse",
    "Method",
    "NeighborMethod",
    "PoolMethod",
    "PosFuse",
    "ProbFuse",
    "QueryMethod",
    "SegFuse",
    "SlideFuse",
    "Supervised",
    "Trained",
    "Tuned",
    "Vote",
    "Weft",
    "WeftIndex",
    "bfstree",
    "borda",
    "check_method",
    "combanz",
    "combmax",
    "combmed",
    "combmin",
    "combmnz",
    "combsum",
    "condorcet",
    "contextrr",
    "corgraph",
    "cprr",
    "cross_validate",
    "crossdiffusion",
    "dbsf",
    "fuse",
    "gmnz",
    "helloneighbor",
    "isr",
    "kemeny",
    "kemeny_cost",
    "lhrr",
    "log_isr",
    "logn_isr",
    "mc4",
    "mixed",
    "mra",
    "optimize",
    "qalf",
    "queryrankfusion",
    "rbc",
    "rdpac",
    "recknngraph",
    "recknngraphccs",
    "register_method",
    "rfe",
    "rkgraph",
    "rlrecom",
    "rlsim",
    "rlsim_udl",
    "sca",
    "train",
    "wmnz",
    "wsum",
]
