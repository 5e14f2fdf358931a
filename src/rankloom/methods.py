"""The fusion methods, the registries of `fuse`, and the search for a method's options and weights."""

from rankloom.aggregate.contract import check_method
from rankloom.aggregate.graphs.context import SCA, CrossDiffusion, HelloNeighbor
from rankloom.aggregate.graphs.corgraph import CorGraph
from rankloom.aggregate.graphs.query_graph import QueryRankFusion
from rankloom.aggregate.graphs.recknngraphccs import RecKNNGraphCCs
from rankloom.aggregate.graphs.rkgraph import RkGraph
from rankloom.aggregate.index_methods import FG, Vote, Weft
from rankloom.aggregate.learned.supervised import BayesFuse, MapFuse, PosFuse, ProbFuse, SegFuse, SlideFuse
from rankloom.aggregate.learned.tuning import Bayes, Grid, cross_validate, optimize
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
    register_method,
)
from rankloom.aggregate.per_query.adaptive import QALF
from rankloom.aggregate.per_query.kemeny import Kemeny, kemeny_cost
from rankloom.aggregate.per_query.majorities import MC4, Condorcet, MajorityMethod
from rankloom.aggregate.per_query.positions import ISR, MRA, RBC, RRF, Borda, LogISR, LogNISR
from rankloom.aggregate.per_query.scores import CombANZ, CombMAX, CombMED, CombMethod, CombMIN, CombMNZ, CombSUM, RLSim
from rankloom.aggregate.per_query.weighted import DBSF, GMNZ, WMNZ, LogOdds, Mixed, WSum
from rankloom.aggregate.reranking.bfstree import BFSTree
from rankloom.aggregate.reranking.contextrr import ContextRR
from rankloom.aggregate.reranking.cprr import CPRR
from rankloom.aggregate.reranking.lhrr import LHRR
from rankloom.aggregate.reranking.rdpac import RDPAC
from rankloom.aggregate.reranking.reciprocal_sets import RecKNNGraph, RLRecom
from rankloom.aggregate.reranking.rfe import RFE
from rankloom.aggregate.reranking.rlsim_udl import RLSimUDL
from rankloom.ranks.normalizations import NORMALIZATIONS

__all__ = [
    "CPRR",
    "DBSF",
    "FG",
    "GMNZ",
    "ISR",
    "LHRR",
    "MC4",
    "METHODS",
    "MRA",
    "NORMALIZATIONS",
    "QALF",
    "RBC",
    "RDPAC",
    "RFE",
    "RRF",
    "SCA",
    "SUPERVISED",
    "WMNZ",
    "BFSTree",
    "Bayes",
    "BayesFuse",
    "Borda",
    "CollectionMethod",
    "CombANZ",
    "CombMAX",
    "CombMED",
    "CombMIN",
    "CombMNZ",
    "CombMethod",
    "CombSUM",
    "Condorcet",
    "ContextRR",
    "CorGraph",
    "CrossDiffusion",
    "Grid",
    "HelloNeighbor",
    "IndexMethod",
    "Kemeny",
    "LogISR",
    "LogNISR",
    "LogOdds",
    "MajorityMethod",
    "MapFuse",
    "Method",
    "Mixed",
    "NeighborMethod",
    "PoolMethod",
    "PosFuse",
    "ProbFuse",
    "QueryMethod",
    "QueryRankFusion",
    "RLRecom",
    "RLSim",
    "RLSimUDL",
    "RecKNNGraph",
    "RecKNNGraphCCs",
    "RkGraph",
    "SegFuse",
    "SlideFuse",
    "Supervised",
    "Vote",
    "WSum",
    "Weft",
    "check_method",
    "cross_validate",
    "kemeny_cost",
    "optimize",
    "register_method",
]
