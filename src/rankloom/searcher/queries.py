"""Queries of a searcher: texts, images, vectors or items, one or several together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.datasets.collection import Contents
from rankloom.errors import InputError, brief
from rankloom.rankers.text.terms import contents_of
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class QueryBatch:
    """Queries that are answered together; an answer does not depend on the others.

    One exception: in a large collection, a single external query may miss a few of the nearest vectors, unless `exact`.
    """

    labels: tuple[str, ...]  #: what answers call the queries
    parts: Mapping[str, Contents] = field(default_factory=dict)  #: of external queries: texts, images, ids
    vectors: Mapping[str, Array] = field(default_factory=dict)  #: of external queries, by ranker
    encoded: Mapping[str, Contents | Array] = field(default_factory=dict)  #: as retrievers take them, by ranker
    items: NDArray[np.intp] | None = None  #: the numbers of items, if the queries are items
    given: frozenset[str] = frozenset()  #: the rankers whose lists were given
    single: bool = False  #: whether a single query was given, rather than a list of one
    exact: bool = False  #: whether all of the nearest vectors are wanted

    def __len__(self) -> int:
        return len(self.labels)


def batch_of_queries(
    ids: Ids,
    query: str | Sequence[str] | None,
    image: object,
    item: str | Sequence[str] | None,
    vectors: Mapping[str, ArrayLike] | None,
    query_ids: str | Sequence[str] | None,
) -> QueryBatch:
    """Return the queries of a search; `ids` are those of the items."""
    if item is None:
        return external_queries(query, image, vectors, query_ids)
    if any(given is not None for given in (query, image, vectors, query_ids)):
        raise InputError("Search with an item, or with a text, image or vectors; not both.")
    return item_queries(item, ids)


def external_queries(
    text: str | Sequence[str] | None,
    image: object,
    vectors: Mapping[str, ArrayLike] | None,
    ids: str | Sequence[str] | None = None,
) -> QueryBatch:
    """Return external queries, each by text, image, vectors, or several of them."""
    if not isinstance(vectors, Mapping | None):
        raise InputError(f"vectors must be {{name of a ranker: vector}}; got {type(vectors).__name__}.")
    given = {"texts": text, "images": image, "ids": ids}
    parts = {
        name: contents_of(name, _listed(name, contents)) for name, contents in given.items() if contents is not None
    }
    is_list = any(isinstance(contents, list | tuple) for contents in given.values())
    arrays = {name: _numbers(name, vector) for name, vector in (vectors or {}).items()}
    single = not is_list and all(array.ndim == 1 for array in arrays.values())
    matrices = {name: array[None] if single else array for name, array in arrays.items()}
    counts = {name: len(rows) for name, rows in parts.items()} | {name: len(rows) for name, rows in matrices.items()}
    if not counts:
        raise InputError("Give something to search for: a text, image=, item= or vectors=.")
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise InputError(f"A batch needs the same number of everything; got {shown}.")
    return QueryBatch(_labels(parts, next(iter(counts.values()))), parts, matrices, single=single)


def item_queries(item: str | Sequence[str], ids: Ids) -> QueryBatch:
    """Return items of the collection as queries, by id."""
    given: list[Any] = list(item) if isinstance(item, list | tuple) else [item]
    for id in given:
        if not isinstance(id, str):
            raise InputError(f"item must be the id of a document, a string; got {brief(id)}.")
    numbers = ids.numbers(given, "item").astype(np.intp)
    return QueryBatch(tuple(given), items=numbers, single=isinstance(item, str))


def _listed(part: str, given: object) -> list[Any]:
    """Return one or several contents as a list; texts and ids must be strings."""
    contents: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    for content in contents:
        if part != "images" and not isinstance(content, str):
            raise InputError(f"A query must be a text or a list of texts; got {brief(content)}.")
    return contents


def _numbers(name: str, given: ArrayLike) -> Array:
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        array = np.empty(())
    if array.ndim not in (1, 2) or array.dtype.kind not in "iuf":
        raise InputError(f"vectors={{{name!r}: ...}} must be numbers, a row for each query; got {brief(given)}.")
    return array


def _labels(parts: Mapping[str, Contents], n: int) -> tuple[str, ...]:
    if "ids" in parts or "texts" in parts:
        return tuple(parts.get("texts", parts.get("ids", ())))
    if "images" in parts:
        return tuple(str(image) if isinstance(image, str | Path) else "image" for image in parts["images"])
    return ("vector",) * n
