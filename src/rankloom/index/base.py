"""The base class of the indexes: ids, external queries, search by blocks, saving and opening.

`FusionIndex` and `WeftIndex` differ in what the row of an item holds and in how two rows compare.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.errors import InputError, brief, whole_number
from rankloom.fusion_graph.normalize import Absent, normalize_queries
from rankloom.fusion_graph.weave import Order
from rankloom.index.cluster import connected
from rankloom.index.served import ServedShards
from rankloom.index.settings import Array, IndexSettings
from rankloom.index.shard import (
    PostingLists,
    Shard,
    gathered,
    in_order,
    is_of_shard,
    picked,
    prefix,
    shard_postings,
    shard_size,
    shards_of,
)
from rankloom.index.verify import DamageError, Layout, Ranges, check_arrays, raising, read_settings
from rankloom.io.array_folder import limit_pages, open_folder, release_pages, save_folder
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.io.text_file import as_path
from rankloom.io.version import __version__
from rankloom.ranks import PAD, Ids, Kind, Ranks
from rankloom.ranks.align import Missing, RankerLists, align, by_name
from rankloom.threads import Scratch, cut_blocks, run_blocks

Int32s = NDArray[np.int32]
ALL = frozen(np.ones(0, np.bool_))  # an empty mask allows every item
#: An item by number or id, or the lists of an external query: for each ranker, Ranks of one row.
Query = int | str | RankerLists
#: (shard, its posting lists, queries, its mask of allowed rows, slot, seen, items, similarities) answers queries.
Kernel = Callable[[Shard, PostingLists, tuple[Any, ...], Array, Array, Array, Array, Array], None]


class Asked(NamedTuple):
    """Queries: their rows, the rows of their results, their own items (PAD if external), and external rows."""

    rows: Int32s
    into: Int32s
    own: Int32s
    rows_of: Any  # None: the queries are items


class CollectionIndex(ABC):
    """Arrays over the items of a collection, searched exactly; read-only, and safe to search from several threads.

    Parameters
    ----------
    arrays : dict of arrays
        `numbers` and `places` (see `Order`), those of the method, the scores of the items' lists by each ranker that
        has scores (`scores_0`, ...), and packed ids.
    """

    KIND: ClassVar[str]  #: the kind recorded in the folder on disk
    FORMATS: ClassVar[range] = range(1, 3)  #: the format numbers that this version reads; 2 has shards
    ROWS: ClassVar[tuple[str, ...]]  #: the arrays with the entries of rows, in CSR form
    NORMS: ClassVar[str]  #: the array that has a row for each item
    SETTINGS: ClassVar[type[IndexSettings]]
    LAYOUT: ClassVar[Layout]  #: the arrays: dtype, and shape in terms of named sizes
    RANGES: ClassVar[Ranges]  #: the values that arrays may have

    def __init__(self, settings: Any, arrays: dict[str, Array]) -> None:
        self.settings = settings
        self.n_items = len(arrays["numbers"])
        self._arrays = arrays
        self._order = Order(arrays["numbers"], arrays["places"])
        self._shards = shards_of(arrays)
        self._slots = Scratch(self.n_items)
        self._ids: Ids | None = None
        self._lock = Lock()
        self._path: Path | None = None  # of an index that was opened
        self._served: ServedShards | None = None

    @property
    def n_shards(self) -> int | None:
        """The number of shards; None if the index is not sharded."""
        return None if "row_ptr" in self._arrays else len(self._shards)

    @property
    def item_ids(self) -> Ids | None:
        """Ids of the items, if the index was built with ids."""
        with self._lock:  # two threads must not both unpack them
            if self._ids is None and "id_ptr" in self._arrays:
                self._ids = unpack_ids(self._arrays["id_bytes"], self._arrays["id_ptr"])
            return self._ids

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `save` writes; ids that were set by `with_ids` are among them."""
        ids = self._ids
        if ids is None or "id_ptr" in self._arrays:
            return self._arrays
        return {**self._arrays, **dict(zip(("id_bytes", "id_ptr"), pack_ids(ids), strict=True))}

    def with_ids(self, ids: Ids | Sequence[str]) -> Self:
        """Set the ids of an index that was built or opened without ids, and return it; `save` writes them."""
        ids = ids if isinstance(ids, Ids) else Ids(ids)
        if len(ids) != self.n_items:
            raise InputError(f"The index has {self.n_items} items; got {len(ids)} ids.")
        if "id_ptr" in self._arrays and ids != self.item_ids:
            raise InputError("The index was built with other ids; build it again to change them.")
        with self._lock:
            self._ids = ids
        return self

    def _with_arrays(self, arrays: dict[str, Array]) -> Self:
        """Return an index with the same settings and ids, and with these copies of its arrays, or with its own."""
        other = type(self)(self.settings, arrays)
        other._ids = self._ids
        return other

    @classmethod
    def of_arrays(cls, arrays: dict[str, Array], meta: Mapping[str, Any], *, verify: bool, path: Path) -> Self:
        """Return an index from arrays and metadata read from disk, after checking them."""
        settings = read_settings(cls.SETTINGS, meta.get("settings"), path)
        with raising(path):
            if settings.absent not in get_args(Absent) or not cls._valid(settings):
                raise DamageError("its settings are not valid")
            sizes = {"m": settings.n_rankers, "m + 1": settings.n_rankers + 1, "L": settings.cutoff}
            check_arrays(arrays, cls.LAYOUT, cls.RANGES, sizes, thoroughly=verify)
        return cls(settings, arrays)

    @staticmethod
    @abstractmethod
    def _valid(settings: Any) -> bool:
        """Return True if the method's own settings, read from disk, are valid."""

    @abstractmethod
    def _rows_of(self, lists: Sequence[Ranks]) -> Any:
        """Return the rows of external queries, made from their lists as `_external_lists` returns them."""

    @abstractmethod
    def _rows_in(self, arrays: Mapping[str, Array]) -> Any:
        """Return rows by their arrays."""

    @staticmethod
    @abstractmethod
    def _some(rows: Any, start: int, stop: int) -> Any:
        """Return some of the rows of external queries."""

    @abstractmethod
    def _explicit(self, rows: Any, slot: Array | None) -> tuple[tuple[Any, ...], Array | None]:
        """Return what the kernel needs to know of queries by their rows, and the members of their graphs.

        Without the scratch `slot`, members are numbered as the items of an index that is not sharded.
        """

    @abstractmethod
    def kernel(self, method: str) -> Kernel:
        """Return the function that searches a shard, with the comparator `method` or whatever else sets it."""

    @staticmethod
    @abstractmethod
    def _least(ptr: Array, rows: Array, norms: Array) -> Array:
        """Return the smallest size of the rows in each posting list."""

    def _items(self, rows: Int32s) -> Any:
        """Return the rows of items, copied from the shards that own them."""
        copies = gathered(self._shards, rows, self.ROWS[1:])
        return self._rows_in(
            {**dict(zip(self.ROWS, copies, strict=True)), self.NORMS: picked(self._shards, rows, self.NORMS)}
        )

    def _all_items(self) -> Any:
        """Return the rows of all items, without a copy if the index is not sharded."""
        if self.n_shards is None:
            return self._rows_in(self._arrays)
        return self._items(np.arange(self.n_items, dtype=np.int32))

    def _find(
        self,
        method: str,
        queries: RankerLists | None,
        k: int,
        items: Sequence[int | str] | None,
        virtual: bool | None,
        missing: Missing,
        allowed: Array | None,
    ) -> Ranks:
        """Run the kernel for the rows of external queries, or of items, and return what it found."""
        k = self._check_search(queries, k, items, virtual)
        mask = self._allowed(allowed)
        if queries is None:
            rows, into, ids = self._item_rows(items)
            return self._answer(method, Asked(rows, into, self._order.numbers[rows], None), mask, ids, k)
        lists, ids = self._external_lists(queries, virtual, missing)
        numbers = np.arange(lists[0].n_queries, dtype=np.int32)
        asked = Asked(numbers, numbers, np.full(len(numbers), PAD, np.int32), self._rows_of(lists))
        return self._answer(method, asked, mask, ids, k)

    def _row(self, query: Query, virtual: bool | None) -> tuple[Any, str]:
        """Return the row of a query, as rows with nothing else, and the id of the query."""
        if isinstance(query, (int, str, np.integer)):
            number = self._number(query)
            return self._items(self._order.places[number : number + 1]), self._id(number)
        lists, ids = self._external_lists(query, virtual, "error")
        if lists[0].n_queries != 1:
            raise InputError(f"Give the lists of one query; got {lists[0].n_queries} queries.")
        return self._rows_of(lists), "query" if ids is None else ids[0]

    def _external_lists(
        self,
        queries: RankerLists,
        virtual: bool | None,
        missing: Missing,
    ) -> tuple[list[Ranks], Ids | None]:
        """Return the lists of external queries, normalized like the items' lists, in the numbering of the index."""
        settings = self.settings
        given = by_name(queries, settings.rankers)
        if len(given) != settings.n_rankers:
            raise InputError(
                f"The index has {settings.n_rankers} rankers, and queries need the lists of each, in the same order; "
                f"got those of {len(given)}."
            )
        aligned = [self._numbered(r).head(settings.depth) for r in align(given, missing=missing)]
        scores = [self._arrays.get(f"scores_{ranker}") for ranker in range(settings.n_rankers)]
        wanted = virtual if virtual is not None else settings.comparable or False
        normalized = normalize_queries(aligned, scores, settings.cutoff, virtual=wanted)
        return [self._order.inside_queries(r) for r in normalized], aligned[0].query_ids

    def _numbered(self, queries: Ranks) -> Ranks:
        """Return query ranks in the numbering of the items."""
        if self.item_ids is not None and queries.item_ids is not None:
            return queries.renumbered(self.item_ids)
        if queries.item_ids is not None:
            raise InputError(
                "The queries have item ids and the index does not; "
                "build it from ranks with ids, or search with item numbers."
            )
        if queries.n_items > self.n_items:
            raise InputError(
                f"The queries rank a collection of {queries.n_items} items, but the index has {self.n_items}; "
                "rank the same collection."
            )
        return queries.replaced(n_items=self.n_items, item_ids=self.item_ids)

    def _item_rows(self, items: Sequence[int | str] | None) -> tuple[Int32s, Int32s, Ids | None]:
        """Return the rows of items, the rows of their results, and their ids; all items by default."""
        if items is None:
            return np.arange(self.n_items, dtype=np.int32), self._order.numbers, self.item_ids
        if isinstance(items, str) or not isinstance(items, Iterable):
            raise InputError(f"items must be a list of ids or numbers; got {brief(items)}.")
        chosen = np.array([self._number(item) for item in items], np.int32)
        ids = None if self.item_ids is None else Ids(self.item_ids[i] for i in chosen.tolist())
        rows = self._order.places[chosen]
        into = np.argsort(rows, kind="stable").astype(np.int32)  # neighbors after each other: they share pages
        return rows[into], into, ids

    def _answer(
        self,
        method: str,
        asked: Asked,
        mask: Array,
        ids: Ids | None,
        k: int,
    ) -> Ranks:
        """Run a kernel over blocks of queries and return what it found."""
        found = np.full((len(asked.rows), k), PAD, np.int32)
        similarities = np.zeros(found.shape, np.float32)
        if self._served is not None:
            blocks = ((start, *self._block(asked, start, stop)) for start, stop in cut_blocks(len(found)))
            for start, items, sims in self._served.search(self._shards, method, blocks, mask, k):
                into = asked.into[start : start + len(items)]
                found[into], similarities[into] = items, sims
        else:
            block = self._search_whole if self.n_shards is None else self._search_shards
            run_blocks(block(self.kernel(method), asked, mask, found, similarities), len(found), stage="Searching")
        kind: Kind = "collection" if asked.into is self._order.numbers else "queries"
        return Ranks.trusted(found, similarities, self.n_items, item_ids=self.item_ids, query_ids=ids, kind=kind)

    def _search_whole(self, kernel: Kernel, asked: Asked, mask: Array, *results: Array) -> Callable[[int, int], None]:
        """Return a function that searches an index that is not sharded for a block of queries."""
        (shard,) = self._shards
        lists = shard.lists_of(None)
        content, _ = self._explicit(self._rows_in(self._arrays) if asked.rows_of is None else asked.rows_of, None)
        numbers = [frozen(one.view()) for one in (asked.rows, asked.into, asked.own)]

        def work(start: int, stop: int) -> None:
            with self._slots.borrowed() as slot, shard.marks.borrowed() as seen:
                kernel(shard, lists, (start, stop, *numbers, *content), mask, slot, seen, *results)

        return work

    def _search_shards(self, kernel: Kernel, asked: Asked, mask: Array, *results: Array) -> Callable[[int, int], None]:
        """Return a function that searches one shard after the other for a block of queries, made explicit."""

        def work(start: int, stop: int) -> None:
            queries, members, order = self._block(asked, start, stop)
            block = [np.ascontiguousarray(one[asked.into[start:stop]]) for one in results]
            for number in order:
                self.search_shard(kernel, number, queries, members, mask, block)
            for one, some in zip(results, block, strict=True):
                one[asked.into[start:stop]] = some

        return work

    def search_shard(
        self, kernel: Kernel, number: int, queries: tuple[Any, ...], members: Array, mask: Array, best: Sequence[Array]
    ) -> None:
        """Search one shard for queries made explicit, and update the best items so far and their similarities."""
        shard = self._shards[number]
        allowed = mask[shard.first : shard.stop] if len(mask) == self.n_items else mask
        with self._slots.borrowed() as slot, shard.marks.borrowed() as seen:
            kernel(shard, shard.lists_of(members), queries, allowed, slot, seen, *best)

    def _block(self, asked: Asked, start: int, stop: int) -> tuple[tuple[Any, ...], Array, list[int]]:
        """Return what the kernel takes of a block of queries, their members, and the shards to ask, in order."""
        limit_pages(self._arrays.values())
        chosen = asked.rows[start:stop]
        rows = self._items(chosen) if asked.rows_of is None else self._some(asked.rows_of, start, stop)
        with self._slots.borrowed() as slot:
            content, members = self._explicit(rows, slot)
        assert members is not None
        numbers = np.arange(len(chosen), dtype=np.int32)
        given = (frozen(numbers), frozen(numbers.view()), frozen(asked.own[start:stop].view()))
        order = in_order(self._shards, chosen if asked.rows_of is None else chosen[:0], members)
        return (0, len(chosen), *given, *content), members, order

    def _allowed(self, allowed: Array | None) -> Array:
        """Return a mask of items by row of the index; empty if all are allowed."""
        if allowed is None:
            return ALL
        try:
            mask = np.asarray(allowed)
        except ValueError:  # rows of different lengths
            mask = np.empty(0)
        if mask.shape != (self.n_items,) or mask.dtype != np.bool_:
            raise InputError(
                f"allowed must be True or False for each of the {self.n_items} items; got {mask.dtype} of shape "
                f"{mask.shape}."
            )
        return frozen(mask[self._order.numbers])

    def _check_search(self, queries: object, k: int, items: object, virtual: object) -> int:
        """Return the number of items to find, at most all; raise InputError for incompatible arguments."""
        if queries is not None and items is not None:
            raise InputError("Give external queries or items of the collection, not both.")
        if queries is None and virtual is not None:
            raise InputError("Virtual positions are for external queries only; omit virtual when searching with items.")
        if virtual is not None and not isinstance(virtual, bool):
            raise InputError(f"virtual must be True, False or None; got {brief(virtual)}.")
        return min(whole_number("k", k), self.n_items)

    def save(self, path: str | Path, *, shards: int | None = None) -> None:
        """Write the index to a folder, completely or not at all; an existing index is replaced.

        Parameters
        ----------
        shards : int, optional
            Split the index by item into so many shards, or as many as it has items. By default as it is.
        """
        arrays = self.arrays if shards is None else self._split(whole_number("shards", shards))
        save_folder(as_path(path), arrays, self.meta(self.settings, arrays))

    @classmethod
    def meta(cls, settings: IndexSettings, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Return the metadata of an index by its arrays, or by their descriptions with a shape."""
        is_sharded = "row_ptr" not in arrays
        n_entries = sum(array.shape[0] for name, array in arrays.items() if name.endswith("row_items"))
        return {
            "kind": cls.KIND,
            "format": cls.FORMATS[-1] if is_sharded else cls.FORMATS[0],
            "settings": settings.to_dict(),
            "sizes": {"n_items": arrays["numbers"].shape[0], "n_entries": n_entries},
            "versions": {"rankloom": __version__, "numpy": np.__version__},
        }

    def _split(self, n_shards: int) -> dict[str, Array]:
        """Return the arrays of the index split into shards, by name."""
        split = {name: array for name, array in self.arrays.items() if not is_of_shard(name)}
        size = shard_size(self.n_items, n_shards)
        for number, first in enumerate(range(0, max(self.n_items, 1), size)):
            rows = np.arange(first, min(first + size, self.n_items), dtype=np.int32)
            own = dict(zip(self.ROWS, gathered(self._shards, rows, self.ROWS[1:]), strict=True))
            own[self.NORMS] = picked(self._shards, rows, self.NORMS)
            with self._slots.borrowed() as slot:
                own |= shard_postings(own, own[self.NORMS], self._least, slot)
            split |= {prefix(number) + name: array for name, array in own.items()}
        return dict(sorted(split.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        raise InputError(
            "An index cannot be pickled or copied; share it between threads, or save it to a folder, and open that."
        )

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> Self:
        """Open a saved index; its arrays are memory-mapped.

        Parameters
        ----------
        verify : bool
            Read all files once, compare their checksums and check that every number points into the collection. Without
            it the index opens immediately, but damage inside a file can go unnoticed, and searching damaged files can
            crash.
        """
        arrays, meta = open_folder(as_path(path), kind=cls.KIND, formats=cls.FORMATS, verify=verify)
        index = cls.of_arrays(arrays, meta, verify=verify, path=Path(path))
        if verify and index.n_shards is not None:  # it may be larger than memory
            release_pages(arrays.values())
        index._path = Path(path).resolve()
        return index

    @contextmanager
    def served(self, scheduler: str) -> Iterator[Self]:
        """Yield the same index with its shards opened by the workers of a Dask cluster, which search them.

        Each shard stays with one worker; if that dies, another opens it. The folder must be on storage that all workers
        see. Answers have the same bits.

        Parameters
        ----------
        scheduler : str
            The address of a scheduler, such as ``tcp://host:8786``, or "local" for worker processes on this machine.
        """
        if self.n_shards is None or self._path is None:
            raise InputError("Only an index that was opened from a folder and is split into shards can be served.")
        with connected(scheduler) as client:
            served = self._with_arrays(self._arrays)
            served._served = ServedShards(client, partial(_opened, type(self), self._path), len(self._shards))
            yield served

    def in_memory(self) -> Self:
        """Return the same index with its arrays in memory: it no longer depends on the files it was opened from."""
        return self._with_arrays({name: frozen(array.copy()) for name, array in self._arrays.items()})

    def _number(self, item: int | str) -> int:
        if isinstance(item, str):
            if self.item_ids is None:
                raise InputError(f"The index has no item ids, only numbers 0 to {self.n_items - 1}; got {brief(item)}.")
            return self.item_ids.number(item, "item")
        if isinstance(item, bool) or not isinstance(item, int | np.integer) or not 0 <= item < self.n_items:
            raise InputError(f"Items are numbered 0 to {self.n_items - 1}; got {brief(item)}.")
        return int(item)

    def _id(self, number: int) -> str:
        return str(number) if self.item_ids is None else self.item_ids[number]

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        settings = ", ".join(f"{one.name}={getattr(self.settings, one.name)!r}" for one in fields(self.settings))
        return f"{type(self).__name__}(n_items={self.n_items}, {settings})"


def _opened(kind: type[CollectionIndex], path: Path) -> CollectionIndex:
    """Open an index on a worker of a cluster."""
    return kind.open(path, verify=False)
