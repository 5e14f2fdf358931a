"""Searcher: documents, fitted rankers and an index in one object."""

from rankloom.searcher.answer import Answer, Hit
from rankloom.searcher.searcher import Searcher

__all__ = ["Answer", "Hit", "Searcher"]
