"""Are the lists of several rankers about the same items? Files in different orders look like diverse rankers.

Two rankers of the same items share neighbors, however different they are. If they share no more than if the ids of one
of them were shuffled, their files are probably not in the same order. Class labels cannot show that where a class is
numbered in another order, and fusion even profits from it: so, with labels, ids are shuffled within classes. The most
common cause, files sorted as text by one program and by number by another, is tried as such.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, RankloomWarning
from rankloom.ranks import Ids, Ranks
from rankloom.ranks.align import align_collection
from rankloom.ranks.arrays import Floats, Indexes, Int64s

DEPTH, MAX_NEIGHBORS = 100, 10  # of a list, what is looked at; and the neighbors of an item that count
MAX_SHARE = 3  # at most one in three members of a class are neighbors, so that shuffling changes them
MIN_DEVIATIONS, MIN_ROOM = 3.0, 10.0  # of what chance gives: agreement below, where there is room for that much more
MIN_LIFT, MIN_RECIPROCAL = 2.0, 0.1  # a ranker of noise agrees with nobody: it says nothing about the order
MAX_SHOWN = 3  # pairs of rankers in a warning
NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Sharing:
    """How many neighbors two rankers share, and how many they would share with shuffled ids.

    Attributes
    ----------
    shared : int
        Pairs of items, an item and a neighbor, that both have.
    expected, deviation : float
        Mean and standard deviation of that number over all ways to shuffle the ids of one ranker (Mantel's test).
    possible : int
        Pairs of the ranker that has fewer of them.
    """

    shared: int
    expected: float
    deviation: float
    possible: int

    @property
    def like_shuffled(self) -> bool:
        """Whether the rankers share no more than shuffled ids would, though they could."""
        room = self.possible - self.expected > MIN_ROOM * self.deviation
        return room and self.shared <= self.expected + MIN_DEVIATIONS * self.deviation

    def __str__(self) -> str:
        return f"{self.shared} neighbors shared, {self.expected:.0f} ± {self.deviation:.0f} if shuffled"


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The neighbors of all items by one ranker: a directed graph within classes, as sorted keys row * n + item."""

    keys: Int64s
    n_items: int
    telling: bool  # whether they are not just noise

    def renamed(self, new: Indexes) -> Neighbors:
        """Return the same neighbors with other numbers of the items."""
        rows, items = np.divmod(self.keys, self.n_items)
        keys = np.sort(new[rows].astype(np.int64) * self.n_items + new[items])
        return Neighbors(keys, self.n_items, self.telling)

    def moments(self, classes: Indexes) -> tuple[Floats, ...]:
        """Return, for each class, the sums over pairs of edges that have the same ends in common."""
        n, count = len(classes), int(classes.max(initial=0)) + 1
        rows, items = np.divmod(self.keys, n)
        out, into = (np.bincount(ends, minlength=n).astype(np.float64) for ends in (rows, items))
        total = np.bincount(classes[rows], minlength=count).astype(np.float64)
        back = np.isin(items * n + rows, self.keys, assume_unique=True)
        mutual = np.bincount(classes[rows[back]], minlength=count).astype(np.float64)
        same_row, same_item, chains = (
            np.asarray(np.bincount(classes, product, count), np.float64)
            for product in (out * out, into * into, out * into)
        )
        paired = (total, mutual, same_row - total, same_item - total, chains - mutual, chains - mutual)
        return (*paired, total * total - np.sum(paired, axis=0), total)


def sharing(first: Neighbors, second: Neighbors, classes: Indexes) -> Sharing:
    """Return how many neighbors two rankers share, against all permutations of ids within classes.

    References
    ----------
    Mantel (1967), The detection of disease clustering and a generalized regression approach, Cancer Research 27
    """
    c = np.bincount(classes).astype(np.float64)
    pairs, triples = c * (c - 1), c * (c - 1) * (c - 2)
    ways = (pairs, pairs, triples, triples, triples, triples, triples * (c - 3))
    *ours, size = first.moments(classes)
    *theirs, other = second.moments(classes)
    squares = np.sum([_ratio(a * b, way) for a, b, way in zip(ours, theirs, ways, strict=True)], axis=0)
    means = _ratio(size * other, pairs)
    variance = float(np.sum(squares - means * means))
    return Sharing(
        _shared(first, second), float(means.sum()), sqrt(max(variance, 0.0)), min(first.keys.size, second.keys.size)
    )


def check_alignment(rankers: Mapping[str, Ranks], labels: ArrayLike | None = None) -> str:
    """Warn about rankers that agree no more than shuffled ids would: their files may be in different orders.

    Parameters
    ----------
    rankers : {name: Ranks}
        Collection ranks, as aligned as they are to be fused.
    labels : array of shape (n_items,), optional
        Class of each item. With them, neighbors of an item's own class count, and ids are shuffled within classes;
        without, neighbors that list each other.

    Returns
    -------
    str
        The warning; empty without one. Small collections and rankers of noise give none.

    Examples
    --------
    >>> check_alignment({"a": Ranks([[0, 1], [1, 0]]), "b": Ranks([[0, 1], [1, 0]])})
    ''
    """
    if len(rankers) < 2:
        return ""
    aligned = align_collection(list(rankers.values()))
    n = aligned[0].n_items
    classes = np.zeros(n, np.intp) if labels is None else np.unique(np.asarray(labels), return_inverse=True)[1]
    if len(classes) != n:
        raise InputError(f"labels must be one for each item, {n} in all; got {len(classes)}.")
    found = {name: _neighbors(ranks, classes, labels is None) for name, ranks in zip(rankers, aligned, strict=True)}
    telling = [name for name, neighbors in found.items() if neighbors.telling]
    shares = {pair: sharing(found[pair[0]], found[pair[1]], classes) for pair in combinations(telling, 2)}
    alike = [f"{' and '.join(pair)} ({share})" for pair, share in shares.items() if share.like_shuffled]
    new = _by_text(aligned[0].item_ids)
    better = [
        f"{' and '.join(pair)} ({share.shared} neighbors shared, {most} if renumbered)"
        for pair, share in shares.items()
        if new is not None and not share.like_shuffled
        for most in [max(_shared(found[a], found[b].renamed(new)) for a, b in (pair, pair[::-1]))]
        if most > share.shared + MIN_ROOM * share.deviation
    ]
    where = "" if labels is None else "within classes "
    sentences = []
    if alike:
        sentences.append(f"These rankers agree {where}no more than shuffled ids would: {_some(alike)}.")
    if better:
        sentences.append(f"These would agree more if one had its files as 1, 10, 2, not 1, 2, 10: {_some(better)}.")
    if not sentences:
        return ""
    message = " ".join([*sentences, "Are their files in the same order?"])
    warnings.warn(message, RankloomWarning, stacklevel=2)
    return message


def _some(pairs: Sequence[str]) -> str:
    more = f", and {len(pairs) - MAX_SHOWN} more pairs" if len(pairs) > MAX_SHOWN else ""
    return "; ".join(pairs[:MAX_SHOWN]) + more


def _by_text(ids: Ids | None) -> Indexes | None:
    """Return the new number of each item if files numbered 1, 2, 10 are read as 1, 10, 2; None if that is the same."""
    names = [name.casefold() for name in ids or ()]
    as_text = sorted(range(len(names)), key=names.__getitem__)
    as_numbers = sorted(
        range(len(names)),
        key=lambda i: [part.zfill(20) if part.isdecimal() else part for part in NUMBER.split(names[i])],
    )
    if as_text == as_numbers:
        return None
    new = np.empty(len(names), np.intp)
    new[as_numbers] = as_text
    return new


def _shared(first: Neighbors, second: Neighbors) -> int:
    return int(np.intersect1d(first.keys, second.keys, assume_unique=True).size)


def _neighbors(ranks: Ranks, classes: Indexes, reciprocal: bool) -> Neighbors:
    """Return the first neighbors of each item in its class; of them the reciprocal ones, if these are asked for."""
    items, n = ranks.head(DEPTH).items, len(classes)
    rows = np.arange(n)[:, None]
    others = (items >= 0) & (items != rows)
    inside = others & (classes[items] == classes[:, None])
    sizes = np.bincount(classes)[classes]
    counted = np.clip((sizes - 1) // MAX_SHARE, 1, MAX_NEIGHBORS)
    near = inside & (np.cumsum(inside, axis=1) <= counted[:, None])
    keys = np.sort((rows.astype(np.int64) * n + items)[near])
    if reciprocal:
        mutual = keys[np.isin(keys % n * n + keys // n, keys, assume_unique=True)]
        return Neighbors(mutual, n, mutual.size >= MIN_RECIPROCAL * keys.size)
    first = others & (np.cumsum(others, axis=1) <= MAX_NEIGHBORS)
    by_chance = float((first.sum(axis=1) * (sizes - 1)).sum()) / max(n - 1, 1)
    return Neighbors(keys, n, int((first & inside).sum()) >= MIN_LIFT * by_chance)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; 0 where there is no such pair of edges."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
