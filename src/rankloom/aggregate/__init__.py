"""Methods of rank aggregation behind one door: `fuse`, with `METHODS` for their names."""

from rankloom.aggregate.contract import check_method
from rankloom.aggregate.fusion_graph import fg
from rankloom.aggregate.kemeny import kemeny, kemeny_cost
from rankloom.aggregate.methods import METHODS, Method, fuse
from rankloom.aggregate.order import borda, mra, rrf
from rankloom.aggregate.pairwise import condorcet
from rankloom.aggregate.score import combanz, combmax, combmed, combmin, combmnz, combsum, rlsim

__all__ = [
    "METHODS",
    "Method",
    "borda",
    "check_method",
    "combanz",
    "combmax",
    "combmed",
    "combmin",
    "combmnz",
    "combsum",
    "condorcet",
    "fg",
    "fuse",
    "kemeny",
    "kemeny_cost",
    "mra",
    "rlsim",
    "rrf",
]
