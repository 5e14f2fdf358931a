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
from rankloom.aggregate.per_query.adaptive import QALF
from rankloom.aggregate.per_query.kemeny import Kemeny, kemeny_cost
from rankloom.aggregate.per_query.majorities import Condorcet
from rankloom.aggregate.per_query.markov import MC4
from rankloom.aggregate.per_query.positions import ISR, MRA, RBC, RRF, Borda, LogISR, LogNISR
from rankloom.aggregate.per_query.scores import CombANZ, CombMAX, CombMED, CombMIN, CombMNZ, CombSUM, RLSim
from rankloom.aggregate.per_query.weighted import DBSF, GMNZ, WMNZ, Mixed, WSum
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
    "DBSF",
    "FG",
    "GMNZ",
    "ISR",
    "MC4",
    "METHODS",
    "MRA",
    "QALF",
    "RBC",
    "RRF",
    "SUPERVISED",
    "WMNZ",
    "BayesFuse",
    "Borda",
    "CollectionMethod",
    "CombANZ",
    "CombMAX",
    "CombMED",
    "CombMIN",
    "CombMNZ",
    "CombSUM",
    "Condorcet",
    "CrossValidation",
    "IndexMethod",
    "Kemeny",
    "LogISR",
    "LogNISR",
    "MapFuse",
    "Method",
    "Mixed",
    "NeighborMethod",
    "PoolMethod",
    "PosFuse",
    "ProbFuse",
    "QueryMethod",
    "RLSim",
    "SegFuse",
    "SlideFuse",
    "Supervised",
    "Trained",
    "Tuned",
    "Vote",
    "WSum",
    "Weft",
    "WeftIndex",
    "bfstree",
    "check_method",
    "contextrr",
    "corgraph",
    "cprr",
    "cross_validate",
    "crossdiffusion",
    "fuse",
    "helloneighbor",
    "kemeny_cost",
    "lhrr",
    "optimize",
    "queryrankfusion",
    "rdpac",
    "recknngraph",
    "recknngraphccs",
    "register_method",
    "rfe",
    "rkgraph",
    "rlrecom",
    "rlsim_udl",
    "sca",
    "train",
]
