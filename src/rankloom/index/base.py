"""What every index of lists does: ids, search by items and external queries, saving and opening, builds.

`FusionIndex` and `WeftIndex` differ in their kind of rows (`RowKind`), and in what else they can show of these.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Generic, NoReturn, Self, get_args

import numpy as np

from rankloom._kernels import frozen
from rankloom.errors import InputError, brief, is_iterable, whole_number
from rankloom.index import build_on_disk as on_disk
from rankloom.index.cluster import connected
from rankloom.index.job import install, opened_job
from rankloom.index.row_kind import HowToCompare, R, RowKind
from rankloom.index.row_table import Chosen, QueryRows, RowTable
from rankloom.index.served import ServedShards
from rankloom.index.settings import Absent, IndexSettings, aligned_collection, numbered_queries, shared_arrays
from rankloom.index.verify import DamageError, check_arrays, raising, read_settings
from rankloom.io.array_file import release_pages
from rankloom.io.folder import Snapshot, open_folder
from rankloom.io.folder_writer import TIMEOUT, check_absent, save_folder, writing
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.io.text_file import Plain, as_path
from rankloom.io.version import __version__
from rankloom.ranks import Ids, Kind, Ranks
from rankloom.ranks.align import Missing, RankerLists, align, by_name, split_names
from rankloom.ranks.arrays import Array
from rankloom.threads import Progress, running

#: An item by number or id, or the lists of an external query: for each ranker, Ranks of one row.
Query = int | str | RankerLists


class CollectionIndex(Generic[R]):
    """Rows of the items of a collection, searched exactly; read-only, and safe to search from several threads.

    Its arrays are those of `Order`, those of the kind of row, the scores of the items' lists by each ranker that has
    scores (`scores_0`, ...), and packed ids.
    """

    KIND: ClassVar[str]  #: the kind recorded in the folder on disk
    ROW_KIND: ClassVar[type[RowKind[Any]]]

    def __init__(self, settings: IndexSettings, arrays: Mapping[str, Array]) -> None:
        self.settings = settings
        self._table: RowTable[R] = RowTable(self.ROW_KIND(settings), arrays)
        self.n_items = self._table.n_items
        self._ids: Ids | None = None
        self._lock = Lock()
        self._folder: Snapshot | None = None  # that it was opened from or saved to
        self._served: ServedShards[R] | None = None

    @property
    def n_shards(self) -> int | None:
        """The number of shards; None if the index is not sharded."""
        return len(self._table.shards) if self._table.is_sharded else None

    @property
    def item_ids(self) -> Ids | None:
        """Ids of the items, if the index was built with ids."""
        with self._lock:  # two threads must not both unpack them
            if self._ids is None and "id_ptr" in self._table.arrays:
                self._ids = unpack_ids(self._table.arrays["id_bytes"], self._table.arrays["id_ptr"])
            return self._ids

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `save` writes; ids that were set by `with_ids` are among them."""
        ids = self._ids
        if ids is None or "id_ptr" in self._table.arrays:
            return self._table.arrays
        return {**self._table.arrays, **dict(zip(("id_bytes", "id_ptr"), pack_ids(ids), strict=True))}

    @property
    def arrays_without_ids(self) -> Mapping[str, Array]:
        """The arrays of what is searched, where ids are stored elsewhere."""
        return {name: array for name, array in self._table.arrays.items() if name not in ("id_bytes", "id_ptr")}

    def with_ids(self, ids: Ids | Sequence[str]) -> Self:
        """Set the ids of an index that was built or opened without ids, and return it; `save` writes them."""
        ids = ids if isinstance(ids, Ids) else Ids(ids)
        if len(ids) != self.n_items:
            raise InputError(f"The index has {self.n_items} items; got {len(ids)} ids.")
        if "id_ptr" in self._table.arrays and ids != self.item_ids:
            raise InputError("The index was built with other ids; build it again to change them.")
        with self._lock:
            self._ids = ids
        return self

    def _with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Return an index with the same settings and ids, and with these copies of its arrays, or with its own."""
        other = type(self)(self.settings, arrays)
        other._ids = self._ids
        return other

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array], meta: Mapping[str, object], path: Path) -> Self:
        """Return an index from arrays and metadata read from disk, after checking them: kernels trust the arrays."""
        settings = read_settings(cls.ROW_KIND.SETTINGS, meta.get("settings"), path)
        kind = cls.ROW_KIND(settings)
        with raising(path):
            if settings.absent not in get_args(Absent) or not kind.is_valid():
                raise DamageError("its settings are not valid")
            sizes = {"m": settings.n_rankers, "m + 1": settings.n_rankers + 1, "L": settings.cutoff}
            layout = {**kind.LAYOUT} | {name: about for name, about in kind.OPTIONAL.items() if name in arrays}
            check_arrays(arrays, layout, kind.RANGES, sizes)
        return cls(settings, arrays)

    @classmethod
    def _built(
        cls, ranks: RankerLists, keep_scores: bool, threads: int | None, progress: Progress | None, **options: object
    ) -> Self:
        """Build an index from the lists of several rankers; `options` are those of its kind of row."""
        names, lists = split_names(ranks)
        kind = cls.ROW_KIND.of(names, len(lists), **options)
        collection = aligned_collection(lists, kind.settings)
        others = shared_arrays(collection, kind.settings, keep_scores=keep_scores)
        with running(threads, progress):
            return cls(kind.settings, kind.build(collection) | others)

    @classmethod
    def build_on_disk(
        cls,
        paths: on_disk.Tables,
        folder: str | Path,
        *,
        memory: str | int = "1GB",
        shards: int | None = None,
        scheduler: str | None = None,
        overwrite: bool = False,
        timeout: float = TIMEOUT,
        threads: int | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Self:
        """Build an index that is larger than memory, from tables of lists on disk, and return it opened.

        The index is split into shards; it has the same bytes as one built in memory and saved with as many. An
        interrupted build resumes when it is called again.

        Parameters
        ----------
        paths : sequence of paths, or {name: path}
            The table of each ranker, row i the list of item i: a .npy file of item numbers, a folder with parts of it
            and of scores, an .npz file of ranks, or parquet (docs/scaling.md).
        folder : str or path
            The folder to write; the work in progress is in a hidden folder next to it.
        memory : str or int
            How much memory a task may use, as in "1GB", not counting memory-mapped files.
        shards : int, optional
            The number of shards; by default as many as `memory` requires.
        scheduler : str, optional
            The address of a Dask scheduler, or "local" for a worker process per CPU; the folder and the tables must be
            on storage that all workers see. By default, tasks run one after the other in this process.
        overwrite : bool
            Whether to replace an index in the folder.
        timeout : float
            How many seconds to wait for other processes that write to the folder.
        threads, progress
            As in `build`.
        **options
            All other options of `build`, with the same defaults, but not `weights` of weft.
        """
        lists, target, option = on_disk.ListFiles.of(paths), as_path(folder), None if overwrite else "overwrite=True"
        check_absent(target, cls.KIND, option)
        options = on_disk.with_defaults(cls.build, options)  # type: ignore[attr-defined]
        keep_scores = options.pop("keep_scores")
        kind = cls.ROW_KIND.of(lists.names, len(lists.files), **options)
        size = on_disk.part_size(lists.n_items, kind.item_bytes(max(lists.depths)), memory, shards)
        spec = on_disk.specification(cls.KIND, kind, lists, size, keep_scores)
        with opened_job(target, spec) as job:
            shapes = on_disk.run(job, kind, scheduler=scheduler, threads=threads, progress=progress)
            with writing(target, cls.KIND, timeout=timeout) as writer:
                writer.check(None, option)
                install(job, writer, cls.meta(kind.settings, shapes))
        return cls.open(target)

    def _search(self, how: HowToCompare, queries: RankerLists | None, k: int, chosen: Chosen) -> Ranks:
        """Return the k best of the items for each query, with rows compared in a way; None for that of the build."""
        items, virtual, missing, allowed = chosen
        k = self._check_search(queries, k, items, virtual)
        comparison, mask = self._table.kind.comparison(how), self._table.mask(allowed)
        rows, ids = self._item_rows(items) if queries is None else self._external_rows(queries, virtual, missing)
        best = (self._served or self._table).search(comparison, rows, mask, k)
        kind: Kind = "collection" if queries is None and items is None else "queries"
        return Ranks.trusted(*best, self.n_items, item_ids=self.item_ids, query_ids=ids, kind=kind)

    def _external_rows(
        self, queries: RankerLists, virtual: bool | None, missing: Missing
    ) -> tuple[QueryRows, Ids | None]:
        """Return external queries, and their ids."""
        lists, ids = self._external_lists(queries, missing)
        return QueryRows.of_external(self._table.kind.query_rows(lists, virtual, self._table)), ids

    def _item_rows(self, items: Sequence[int | str] | None) -> tuple[QueryRows, Ids | None]:
        """Return items as queries, all by default, and their ids."""
        order = self._table.order
        if items is None:
            return QueryRows.of_items(order), self.item_ids
        if isinstance(items, str) or not is_iterable(items):
            raise InputError(f"items must be a list of ids or numbers; got {brief(items)}.")
        chosen = np.array([self._number(item) for item in items], np.int32)
        ids = None if self.item_ids is None else Ids(self.item_ids[i] for i in chosen.tolist())
        return QueryRows.of_items(order, chosen), ids

    def _row(self, query: Query, virtual: bool | None) -> tuple[R, str]:
        """Return the row of a query, as rows with nothing else, and the id of the query."""
        if isinstance(query, (int, str, np.integer)):
            number = self._number(query)
            return self._table.kind.rows(self._table.order.places[number : number + 1], self._table), self._id(number)
        lists, ids = self._external_lists(query, "error")
        if lists[0].n_queries != 1:
            raise InputError(f"Give the lists of one query; got {lists[0].n_queries} queries.")
        return self._table.kind.query_rows(lists, virtual, self._table), "query" if ids is None else ids[0]

    def _external_lists(self, queries: RankerLists, missing: Missing) -> tuple[list[Ranks], Ids | None]:
        """Return the lists of external queries with the numbers of the items, as deep as they are used."""
        settings = self.settings
        by_ranker = by_name(queries, settings.rankers)
        if len(by_ranker) != settings.n_rankers:
            raise InputError(
                f"The index has {settings.n_rankers} rankers, and queries need the lists of each, in the same order; "
                f"got those of {len(by_ranker)}."
            )
        aligned = align(by_ranker, missing=missing)
        lists = [numbered_queries(r, self.item_ids, self.n_items).head(settings.depth) for r in aligned]
        return lists, lists[0].query_ids

    def _check_search(self, queries: object, k: int, items: object, virtual: object) -> int:
        """Return the number of items to find, at most all; raise InputError for incompatible arguments."""
        if queries is not None and items is not None:
            raise InputError("Give external queries or items of the collection, not both.")
        if queries is None and virtual is not None:
            raise InputError("Virtual positions are for external queries only; omit virtual when searching with items.")
        if virtual is not None and not isinstance(virtual, bool):
            raise InputError(f"virtual must be True, False or None; got {brief(virtual)}.")
        return min(whole_number("k", k), self.n_items)

    def save(
        self, path: str | Path, *, shards: int | None = None, overwrite: bool = False, timeout: float = TIMEOUT
    ) -> None:
        """Write the index to a folder, completely or not at all.

        Parameters
        ----------
        shards : int, optional
            The number of shards to split the index into, at most one for each item. By default as it is.
        overwrite : bool
            Whether to replace another index, or what other processes have saved to the folder since this one was opened
            from it.
        timeout : float
            How many seconds to wait for other processes that write to the folder.
        """
        arrays = self.arrays if shards is None else self._table.split(self.arrays, whole_number("shards", shards))
        shapes = {name: array.shape for name, array in arrays.items()}
        meta = self.meta(self.settings, shapes)
        self._folder = save_folder(as_path(path), arrays, meta, base=self._folder, overwrite=overwrite, timeout=timeout)

    @classmethod
    def meta(cls, settings: IndexSettings, shapes: Mapping[str, Sequence[int]]) -> Plain:
        """Return the metadata of an index by the shapes of its arrays."""
        n_entries = sum(shape[0] for name, shape in shapes.items() if name.endswith("post_rows"))
        return {
            "kind": cls.KIND,
            "settings": settings.to_dict(),
            "sizes": {"n_items": shapes["numbers"][0], "n_entries": n_entries},
            "versions": {"rankloom": __version__, "numpy": np.__version__},
        }

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "An index cannot be pickled or copied; share it between threads, or save it to a folder, and open that."
        )

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = False) -> Self:
        """Open a saved index; its arrays are memory-mapped, and every number in them is checked.

        Parameters
        ----------
        verify : bool
            Whether to compare the digests of all files, too: they show damage that leaves all numbers in range.
        """
        folder = open_folder(as_path(path), kind=cls.KIND, verify=verify)
        index = cls.of_arrays(folder.arrays, folder.meta, Path(path))
        if index.n_shards is not None:  # it may be larger than memory
            release_pages(folder.arrays.values())
        index._folder = folder
        return index

    @contextmanager
    def served(self, scheduler: str) -> Iterator[Self]:
        """Yield the same index with its shards opened by the workers of a Dask cluster, which search them.

        Each shard stays with one worker; if that dies, another opens it. The folder must be on storage that all workers
        see; if it has changed since the index was opened, searches fail. Answers have the same bits.

        Parameters
        ----------
        scheduler : str
            The address of a scheduler, such as ``tcp://host:8786``, or "local" for worker processes on this machine.
        """
        if self.n_shards is None or self._folder is None:
            raise InputError("Only an index that was opened from a folder and is split into shards can be served.")
        if not all(map(self._folder.file_of, self._table.arrays.values())):
            raise InputError(f"{self._folder.path} was saved with other shards; open it, and serve that.")
        with connected(scheduler) as client:
            served = self._with_arrays(self._table.arrays)
            open_table = partial(_opened, type(self), self._folder.path, self._folder.head.checksum)
            served._served = ServedShards(client, open_table, self._table)
            yield served

    def in_memory(self) -> Self:
        """Return the same index with its arrays in memory: it no longer depends on the files it was opened from."""
        return self._with_arrays({name: frozen(array.copy()) for name, array in self._table.arrays.items()})

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
        settings = ", ".join(f"{field.name}={getattr(self.settings, field.name)!r}" for field in fields(self.settings))
        return f"{type(self).__name__}(n_items={self.n_items}, {settings})"


def _opened(kind: type[CollectionIndex[R]], path: Path, checksum: str) -> RowTable[R]:
    """Open an index on a worker of a cluster, in the generation with this checksum."""
    index = kind.open(path)
    if index._folder is None or index._folder.head.checksum != checksum:
        raise InputError(f"{path} has changed since the index that is served was opened; open it again and serve that.")
    return index._table
