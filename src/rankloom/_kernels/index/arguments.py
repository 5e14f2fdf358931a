"""What searches and other kernels are called with."""

from typing import Any, NamedTuple

import numpy as np


class Transposed(NamedTuple):
    """The rows of a CSR matrix that hold each item, in CSR form, and the item's column in each, or no columns."""

    ptr: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


class SparseRows(NamedTuple):
    """The rows of a sparse matrix, in CSR form."""

    ptr: np.ndarray
    items: np.ndarray
    values: np.ndarray


class PostingLists(NamedTuple):
    """The rows that have an item, `rows[start:stop]`, and the smallest size of those."""

    start: np.ndarray
    stop: np.ndarray
    rows: np.ndarray
    min_size: np.ndarray


class Queries(NamedTuple):
    """Queries with their rows made explicit: query x has row `rows[x]` of `content`.

    Its results are in row `into[x]` of the best so far, and `own[x]` is its item, -1 if it is external. The rows that
    have the item in entry e of `content` are those of posting list `sources[e]`.
    """

    rows: np.ndarray
    into: np.ndarray
    own: np.ndarray
    sources: np.ndarray
    content: Any


class Target(NamedTuple):
    """The rows to search, which may be a part of all; `max_entries` is above the number of entries of any of them.

    `numbers` has their item numbers. Only rows in the mask `allowed` are returned, all if it is empty.
    """

    content: Any
    postings: PostingLists
    numbers: np.ndarray
    allowed: np.ndarray
    max_entries: int


class SearchScratch(NamedTuple):
    """Arrays reused between calls: `slot` by item, `seen` and `sums` by row; zeros except for `seen`."""

    slot: np.ndarray
    seen: np.ndarray
    sums: np.ndarray


class ScoredLists(NamedTuple):
    """Lists padded with -1 and their scores, such as the best items of each query so far."""

    items: np.ndarray
    scores: np.ndarray
