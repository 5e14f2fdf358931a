"""What the kernels of weft are called with."""

from typing import NamedTuple

import numpy as np

UNIT = 1 << 15  # a weight of 1; a power of 2, so that simple fractions are exact


class Rows(NamedTuple):
    """Expanded rows in CSR form, with a column of weights for each field."""

    ptr: np.ndarray
    items: np.ndarray
    weights: np.ndarray  # (entries, fields)
    sizes: np.ndarray  # (rows, fields): the sum of the weights of a row


class Posted(NamedTuple):
    """The rows of an index, searched by their posting lists.

    `weights` has the weights of each entry of these, by field, and a row more, so that four can be read at a time.
    """

    weights: np.ndarray  # (entries + 1, fields)
    sizes: np.ndarray  # (rows, fields)


class Neighbors(NamedTuple):
    """What rows are expanded with: the lists of all items by each ranker, and how.

    `near` has the weight of each position, `shares` that of each ranker. A row is expanded by `expand` entries, and
    the `width` largest entries of each field are stored.
    """

    lists: np.ndarray
    numbers: np.ndarray  # the item number of each item, which breaks ties
    near: np.ndarray
    shares: np.ndarray
    expand: int
    width: int


class NewRows(NamedTuple):
    """Consecutive rows to fill: the end of each, its entries, and its sizes."""

    ends: np.ndarray
    items: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray


class Nearest(NamedTuple):
    """The neighbors of items by a ranker, best first, and their scores; the item itself does not count.

    `rows` has the row of each item; empty if row i is that of item i.
    """

    items: np.ndarray
    scores: np.ndarray
    rows: np.ndarray


class Standing(NamedTuple):
    """Lists sorted by their scores, the z of these, that of items not listed, and the floor."""

    items: np.ndarray
    z: np.ndarray
    rest: np.ndarray
    floor: np.ndarray
