"""What tells one index from another: its kind of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from rankloom._kernels.index.arguments import Queries, ScoredLists, SearchScratch, Target
from rankloom.index.job import Job, Step
from rankloom.index.settings import IndexSettings
from rankloom.index.verify import Layout, Ranges
from rankloom.io.text_file import Plain
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array

if TYPE_CHECKING:
    from rankloom.index.row_table import RowTable

#: What compares rows: its name, or the weights of the rankers.
Comparison = str | tuple[float, ...]
#: What compares rows as callers give it; None for that of the build.
HowToCompare = str | Sequence[float] | None
#: (start, stop, queries, the rows to search, scratch, the best so far) answers the queries from `start` to `stop`.
Kernel = Callable[[int, int, Queries, Target, SearchScratch, ScoredLists], None]


class CsrRows(Protocol):
    """Rows in CSR form: a named tuple of these, further arrays with their entries, and one with a row for each row."""

    @property
    def ptr(self) -> Array:
        """Where the entries of each row start, and the number of entries."""

    @property
    def items(self) -> Array:
        """The item of each entry, in the internal numbering."""


R = TypeVar("R", bound=CsrRows)


@dataclass(frozen=True)
class RowKind(ABC, Generic[R]):
    """How the rows of items and queries are made from lists, compared by a kernel, and stored."""

    settings: IndexSettings

    SETTINGS: ClassVar[type[IndexSettings]]
    ROWS: ClassVar[tuple[str, ...]]  #: what is stored of rows, the sizes last: the named tuple `CONTENT`
    CONTENT: ClassVar[type[Any]]
    LAYOUT: ClassVar[Layout]  #: all arrays; `RANGES` has their values
    OPTIONAL: ClassVar[Layout] = {}  #: arrays that an index may lack
    RANGES: ClassVar[Ranges]

    @classmethod
    def of(cls, names: tuple[str, ...], n_rankers: int, **options: Any) -> Self:
        """Return the kind with these options of a build, checked."""
        return cls(cls.SETTINGS(n_rankers, rankers=names, **options).checked())

    @abstractmethod
    def is_valid(self) -> bool:
        """Return True if the settings of this kind, read from disk, are valid."""

    @abstractmethod
    def comparison(self, how: HowToCompare) -> Comparison:
        """Return what compares rows, by default that of the build; raise InputError if it cannot."""

    @abstractmethod
    def build(self, collection: Sequence[Ranks]) -> dict[str, Array]:
        """Return the arrays of an index but for those that every index may have."""

    @abstractmethod
    def arrays(self, rows: R, slot: Array | None = None) -> dict[str, Array]:
        """Return what is stored of rows: those of all items, or of a shard, with `slot` as in `postings`."""

    @abstractmethod
    def rows(self, numbers: Array, table: RowTable[R]) -> R:
        """Return the rows of items by internal number."""

    @abstractmethod
    def query_rows(self, lists: Sequence[Ranks], virtual: bool | None, table: RowTable[R]) -> R:
        """Return the rows of external queries, by their lists with the numbers of the items."""

    @property
    def n_sums(self) -> int:
        """How many sums a search needs for each row."""
        return 0

    @abstractmethod
    def linked(self, rows: R, members: Array | None, table: RowTable[R]) -> object:
        """Return query rows with what the kernel needs to know of their members, or of all items."""

    @abstractmethod
    def kernel(self, comparator: Comparison, table: RowTable[R]) -> Kernel:
        """Return the function that searches a shard."""

    @abstractmethod
    def item_bytes(self, depth: int) -> int:
        """Return the memory that a task of a build on disk needs for each item, given the depth of the lists."""

    @abstractmethod
    def steps(self, job: Job) -> list[Step]:
        """Return the steps of a build on disk after the lists are renumbered."""

    def spec(self) -> Plain:
        """Return what a build on disk depends on besides the settings, as plain data."""
        return {}
