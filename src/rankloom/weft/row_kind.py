"""The rows of weft as those of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.weft.arguments import Posted, Rows
from rankloom.errors import InputError, brief, check_flag, whole_number
from rankloom.index.job import Job, Step
from rankloom.index.normalize import normalize_collection, normalize_queries
from rankloom.index.order import Order
from rankloom.index.row_kind import Comparison, HowToCompare, Kernel, RowKind
from rankloom.index.row_table import ALL, QueryRows, RowTable
from rankloom.index.settings import IndexSettings, checked_flags
from rankloom.index.verify import SHARED, Layout, Ranges
from rankloom.io.text_file import Plain
from rankloom.ranks import PAD, Ranks, stack_lists
from rankloom.ranks.arrays import Array, Floats, Int32s
from rankloom.threads import Scratch, running
from rankloom.weft.rows import expanded, item_lists, max_entries, neighbors_of, posted
from rankloom.weft.votes import MIN_MET, N_NEAREST, stacked_nearest
from rankloom.weft.weights import (
    AGREED,
    Weights,
    agreement_shares,
    field_parts,
    have_lists,
    positive_weights,
    rarity,
    shares_of,
)

COMPARATOR = "weft"  # there is only one
MET = "met"  # the same, with a list of those that share so many entries, for each number


@dataclass(frozen=True, slots=True)
class WeftSettings(IndexSettings):
    """How a weft index was built."""

    expand: int
    width: int | None
    symmetric: tuple[bool, ...] = field(default=(), kw_only=True)
    exhaustive: tuple[bool, ...] = field(default=(), kw_only=True)

    def checked(self) -> WeftSettings:
        """Return the settings of a build in their own types; raise InputError if one is not valid."""
        expand = whole_number("expand", self.expand)
        width = None if self.width is None else whole_number("width", self.width)
        checked = IndexSettings.checked(self)
        symmetric = checked_flags("symmetric", self.symmetric, self.n_rankers)
        exhaustive = checked_flags("exhaustive", self.exhaustive, self.n_rankers)
        expand = min(expand, checked.max_expand)
        return replace(checked, expand=expand, width=width, symmetric=symmetric, exhaustive=exhaustive)

    @property
    def max_expand(self) -> int:
        """The largest number of entries that a row can have before it is expanded."""
        return self.n_rankers * self.cutoff + 1


#: The fusion that agreement is measured against.
AGREEMENT = WeftSettings(1, 10, 1000, True, expand=4, width=None)


@dataclass(frozen=True)
class WeftRows(RowKind[Rows]):
    """The kind of row of a weft index; what else it has matters only in a build."""

    settings: WeftSettings
    weights: Weights = None
    keep_nearest: bool = False

    SETTINGS: ClassVar[type[IndexSettings]] = WeftSettings
    ROWS: ClassVar[tuple[str, ...]] = ("post_weights", "row_sizes")
    CONTENT: ClassVar[type[Posted]] = Posted
    LAYOUT: ClassVar[Layout] = {  # with m rankers, and the cutoff L
        **SHARED,
        "lists": ("int32", ("m", "n", "L")),
        "shares": ("float64", ("m",)),
        "row_sizes": ("uint32", ("rows", "m + 1")),
        "post_weights": ("uint16", ("entries + 1", "m + 1")),
    }
    OPTIONAL: ClassVar[Layout] = {  # what only votes need
        "nearest": ("int32", ("m", "n", N_NEAREST)),
        "nearest_scores": ("float32", ("m", "n", N_NEAREST)),
    }
    RANGES: ClassVar[Ranges] = {"lists": (PAD, "n - 1"), "shares": (0.0, 1.0), "nearest": (PAD, "n - 1")}

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        n_rankers: int,
        *,
        weights: Weights = None,
        keep_nearest: bool = False,
        **options: Any,
    ) -> Self:
        if weights is not None and not (isinstance(weights, str) and weights == AGREED):
            raise InputError(
                f"weights must be 'agreement' or None; got {brief(weights)}. Give numbers when you search."
            )
        check_flag(keep_nearest=keep_nearest)
        return replace(super().of(names, n_rankers, **options), weights=weights, keep_nearest=keep_nearest)

    def is_valid(self) -> bool:
        return self.settings.expand <= self.settings.max_expand

    def comparison(self, how: HowToCompare) -> Comparison:
        weights = cast("Sequence[float] | None", how)
        return COMPARATOR if weights is None else tuple(positive_weights(weights, self.settings.n_rankers))

    def build(self, collection: Sequence[Ranks]) -> dict[str, Array]:
        """Return the arrays of the method: order, lists, weights, rows, postings."""
        cutoff = max(self.settings.cutoff, AGREEMENT.cutoff)
        order, normalized = normalize_collection(collection, cutoff, self.settings)
        shares = _agreement(normalized, order) if self.weights == AGREED else shares_of(have_lists(normalized))
        nearest = stacked_nearest(collection) if self.keep_nearest else {}
        return self.all_arrays(item_lists(normalized, self.settings.cutoff), order, shares) | nearest

    def all_arrays(self, lists: Int32s, order: Order, shares: Floats) -> dict[str, Array]:
        """Return the arrays of an index by the lists of the items and the weights of the rankers."""
        neighbors = neighbors_of(lists, order, shares, self.settings)
        rows = expanded(lists, neighbors, Scratch(lists.shape[1]), are_items=True)
        return {**order._asdict(), "lists": lists, "shares": shares, **self.arrays(rows)}

    def arrays(self, rows: Rows, slot: Array | None = None) -> dict[str, Array]:
        return posted(rows, slot)

    def rows(self, numbers: Array, table: RowTable[Rows]) -> Rows:
        """Return the rows of items, expanded once more: only their posting lists are stored."""
        with running(progress=lambda stage, done, total: None):  # it is part of a stage, which reports
            return self._expanded(table.arrays["lists"][:, numbers], table, are_items=True)

    def query_rows(self, lists: Sequence[Ranks], virtual: bool | None, table: RowTable[Rows]) -> Rows:
        own = stack_lists(normalize_queries(lists, virtual, table), self.settings.cutoff)
        return self._expanded(own, table, are_items=False)

    def _expanded(self, own: Int32s, table: RowTable[Rows], *, are_items: bool) -> Rows:
        neighbors = neighbors_of(table.arrays["lists"], table.order, table.arrays["shares"], self.settings)
        return expanded(frozen(own), neighbors, table.slots, are_items=are_items)

    @property
    def n_sums(self) -> int:
        fields = self.settings.n_rankers + 1
        return max(-(-fields // 4) * 4, fields + 1)  # added four at a time; the last is followed by a count

    def linked(self, rows: Rows, members: Array | None, table: RowTable[Rows]) -> Rows:
        return rows

    def kernel(self, comparator: Comparison, table: RowTable[Rows]) -> Kernel:
        from rankloom._kernels.weft.search import search

        weights = None if isinstance(comparator, str) else comparator
        parts = field_parts(table.arrays["shares"], weights)
        return partial(search, parts, MIN_MET if comparator == MET else 1)

    def item_bytes(self, depth: int) -> int:
        settings = self.settings
        entries = max_entries(settings.n_rankers, settings.cutoff, settings.expand, settings.width)
        return 24 * min(settings.depth, depth) + entries * (12 + 4 * settings.n_rankers)

    def steps(self, job: Job) -> list[Step]:
        from rankloom.weft.on_disk import weft_steps

        return weft_steps(job)

    def spec(self) -> Plain:
        if self.weights is not None:
            raise InputError(
                f"A build on disk cannot compare all lists, as weights={self.weights!r} does; leave it out."
            )
        return {"keep_nearest": self.keep_nearest}


def _agreement(normalized: Sequence[Int32s], order: Order) -> Floats:
    """Return weights that grow with agreement with the fusion, and are lower for redundant rankers."""
    scratch, listed = Scratch(len(order.numbers)), have_lists(normalized)
    lists = item_lists(normalized, AGREEMENT.cutoff)
    unlike = rarity(lists, scratch) * [has or not any(listed) for has in listed]
    unlike = frozen(unlike / unlike.sum())
    kind = WeftRows(replace(AGREEMENT, n_rankers=len(lists)))
    table = RowTable(kind, kind.all_arrays(lists, order, unlike))
    rows = np.arange(table.n_items, dtype=np.int32)
    first = table.search(COMPARATOR, QueryRows(rows, rows, order.numbers), ALL, AGREEMENT.cutoff).items
    inside = frozen(np.where(first == PAD, PAD, order.places[first]).astype(np.int32))
    return agreement_shares(lists, inside, unlike, scratch)
