"""Rankers: what ranks the items of a collection by one of their parts."""

from rankloom.rankers.precomputed import Matrix, RankFile
from rankloom.rankers.ranker import RANKERS, Fitted, Ranker, register
from rankloom.rankers.vectors import Vectors

__all__ = ["RANKERS", "Fitted", "Matrix", "RankFile", "Ranker", "Vectors", "register"]
