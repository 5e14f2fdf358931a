"""The arguments of `Searcher.search`, by what is searched for: they decide whether it returns one answer or a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Required, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from rankloom.aggregate import Method
from rankloom.datasets.images import ImageFile
from rankloom.ranks.arrays import Array
from rankloom.registry import Call
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


class TextOptions(SearchOptions, total=False):
    """How to search for texts, and what they come with."""

    image: Any
    vectors: Vectors | None
    ids: str | Sequence[str] | None


class ItemOptions(SearchOptions, total=False):
    """A document to search with."""

    item: Required[str]


class ItemsOptions(SearchOptions, total=False):
    """Documents to search with."""

    item: Required[Several]


class ImageOptions(SearchOptions, total=False):
    """An image to search with."""

    image: Required[Image]
    vectors: Vectors | None


class ImagesOptions(SearchOptions, total=False):
    """Images to search with."""

    image: Required[list[Any] | tuple[Any, ...]]
    vectors: Vectors | None


class IdOptions(SearchOptions, total=False):
    """A query that rankers know by its id."""

    ids: Required[str]
    vectors: Vectors | None


class IdsOptions(SearchOptions, total=False):
    """Queries that rankers know by their ids."""

    ids: Required[Several]
    vectors: Vectors | None


class VectorOptions(SearchOptions, total=False):
    """A vector to search with, for each of some rankers."""

    vectors: Required[Mapping[str, Vector]]


class RowsOptions(SearchOptions, total=False):
    """Vectors to search with, as lists."""

    vectors: Required[Mapping[str, Rows]]


class MatrixOptions(SearchOptions, total=False):
    """Vectors to search with, as rows of a matrix."""

    vectors: Required[Mapping[str, Matrix]]
