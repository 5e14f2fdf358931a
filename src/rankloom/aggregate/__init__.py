"""Rank aggregation: `fuse` runs any method of the registry `METHODS`."""

from rankloom.aggregate.adaptive import qalf
from rankloom.aggregate.bfstree import bfstree
from rankloom.aggregate.context import crossdiffusion, sca
from rankloom.aggregate.contextrr import contextrr
from rankloom.aggregate.contract import check_method
from rankloom.aggregate.corgraph import corgraph
from rankloom.aggregate.cprr import cprr
from rankloom.aggregate.index_methods import fg
from rankloom.aggregate.kemeny import kemeny, kemeny_cost
from rankloom.aggregate.lhrr import lhrr
from rankloom.aggregate.markov import mc4
from rankloom.aggregate.methods import METHODS, SUPERVISED, Method, Supervised, fuse, register_method
from rankloom.aggregate.order import borda, isr, log_isr, logn_isr, mra, rbc, rrf
from rankloom.aggregate.pairwise import condorcet
from rankloom.aggregate.query_graph import queryrankfusion
from rankloom.aggregate.rdpac import rdpac
from rankloom.aggregate.reciprocal import helloneighbor
from rankloom.aggregate.reciprocal_sets import recknngraph, rlrecom
from rankloom.aggregate.recknngraphccs import recknngraphccs
from rankloom.aggregate.rfe import rfe
from rankloom.aggregate.rkgraph import rkgraph
from rankloom.aggregate.rlsim_udl import rlsim_udl
from rankloom.aggregate.score import combanz, combmax, combmed, combmin, combmnz, combsum, rlsim
from rankloom.aggregate.supervised import BayesFuse, MapFuse, PosFuse, ProbFuse, SegFuse, SlideFuse
from rankloom.aggregate.training import Trained, train
from rankloom.aggregate.tuning import CrossValidation, Tuned, cross_validate, optimize
from rankloom.aggregate.weft import WeftIndex
from rankloom.aggregate.weighted import dbsf, gmnz, mixed, wmnz, wsum

__all__ = [
    "METHODS",
    "SUPERVISED",
    "BayesFuse",
    "CrossValidation",
    "MapFuse",
    "Method",
    "PosFuse",
    "ProbFuse",
    "SegFuse",
    "SlideFuse",
    "Supervised",
    "Trained",
    "Tuned",
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
    "fg",
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
    "rrf",
    "sca",
    "train",
    "wmnz",
    "wsum",
]
