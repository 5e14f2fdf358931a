"""The arguments of `Searcher.search`, by what is searched for: they decide whether it returns one answer or a list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from rankloom.aggregate import Method
from rankloom.datasets.images import ImageFile
from rankloom.ranks.arrays import Array
from rankloom.registry import Call
from rankloom.searcher.given_lists import Given, Neighbors
from rankloom.searcher.page import Rerank
from rankloom.searcher.store import Where

Image = str | Path | bytes | ImageFile | Array
Several = list[str] | tuple[str, ...]
Vector = Sequence[float] | np.ndarray[tuple[int], np.dtype]
Vectors = Mapping[str, ArrayLike]  #: name of a ranker -> a vector, or a matrix with a row for each query
Rows = Sequence[Sequence[float]]
Matrix = np.ndarray[tuple[int, int], np.dtype] | Sequence[np.ndarray[tuple[int], np.dtype]]


class SearchOptions(TypedDict, total=False):
    """How to search."""

    offset: int
    method: str | Call | Method
    rankers: Sequence[str] | None
    weights: Mapping[str, float] | Sequence[float] | None
    where: Where | None
    group_by: str | None
    facets: Sequence[str]
    fields: Sequence[str] | None
    rerank: Rerank | None
    rerank_depth: int
    exact: bool


class ListOptions(SearchOptions, total=False):
    """What the lists of one query are, and which items besides theirs may be returned."""

    lists: Given
    complete: Collection[str] | None
    scores: Mapping[str, str] | None
    neighbors: Neighbors | None
    allowed: Collection[str] | None


class TextOptions(SearchOptions, total=False):
    """How to search for texts, and what they come with."""

    image: Any
    vectors: Vectors | None
    ids: str | Sequence[str] | None


class QueryOptions(SearchOptions, total=False):
    """What to search with instead of a text: a document, an image, a query that rankers know by its id, or vectors."""

    item: str
    image: Image
    ids: str
    vectors: Mapping[str, Vector]


class QueriesOptions(SearchOptions, total=False):
    """Several documents, images, ids or vectors to search with."""

    item: Several
    image: list[Any] | tuple[Any, ...]
    ids: Several
    vectors: Mapping[str, Rows | Matrix]
