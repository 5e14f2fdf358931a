"""The kinds of fusion methods, the registry of methods, and `fuse`, which runs any of them."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.lists import check_collection
from rankloom.errors import ContractError, InputError, brief, check_choice, is_function, whole_number
from rankloom.evaluation.truth import Judged
from rankloom.ranks import Ranks
from rankloom.ranks.align import Missing, RankerLists, align, align_collection, by_name, split_names
from rankloom.ranks.arrays import Floats
from rankloom.ranks.pool import Pool, Ties, checked_weights, fuse_pools
from rankloom.registry import Call, Count, Options, Registry, annotated_defaults
from rankloom.threads import Progress, running

F = TypeVar("F", bound="Callable[..., Ranks] | type[Method]")
Index = TypeVar("Index")


class Method(Options, ABC):
    """A fusion method; its fields are its options, and its `str` is its spelling: ``rrf(constant=20)``."""

    entry_kind: ClassVar[str] = "method"
    slow: ClassVar[bool] = False  #: whether a query takes much longer than its search: servers give it its own thread

    @property
    def rankers(self) -> tuple[str, ...]:
        """The names of the rankers in the order it expects them; empty if it was given none."""
        return ()

    @abstractmethod
    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        """Return the k best items for each row of aligned ranks, one Ranks for each ranker."""

    def align(self, ranks: Sequence[Ranks], missing: Missing | None) -> Sequence[Ranks]:
        """Return the ranks with one numbering of items, rows in one order."""
        if missing not in (None, "empty"):
            raise InputError(
                f"Items without a list get an empty one in a collection method; missing={missing!r} is not allowed."
            )
        return align_collection(ranks)


class QueryMethod(Method):
    """A method that sees the lists of one query at a time."""

    def align(self, ranks: Sequence[Ranks], missing: Missing | None) -> Sequence[Ranks]:
        return align(ranks, missing=missing or "error")


class PoolMethod(QueryMethod):
    """A method that scores the items that any ranker lists for a query.

    Attributes
    ----------
    depth : int, optional
        How many items of each list to use; all by default.
    weights : sequence of float, optional
        One for each ranker; all 1 by default.
    """

    depth: Count | None = None
    weights: Sequence[float] | None = None

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        weights = checked_weights(self.weights, len(ranks))
        return fuse_pools(ranks, k, lambda pool: self.score(pool, weights), depth=self.depth)

    @abstractmethod
    def score(self, pool: Pool, weights: list[float]) -> Floats:
        """Return the scores of the items of each pool."""


class TiedMethod(PoolMethod):
    """A `PoolMethod` of positions, whose scores are often equal.

    Parameters
    ----------
    ties : {"first", "average"}
        Which of two items with equal scores comes first: with ``first`` the one that appears first, reading the lists
        one ranker after the other; with ``average`` the one of the better mean position, then the smaller number,
        whatever the order of the rankers. An item missing from a list counts as the first after its end.
    depth, weights
        As in `PoolMethod`.
    """

    ties: Ties = "first"

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        """Return the k best items for each row of aligned ranks, one Ranks for each ranker."""
        weights = checked_weights(self.weights, len(ranks))
        return fuse_pools(ranks, k, lambda pool: self.score(pool, weights), depth=self.depth, ties=self.ties)


class CollectionMethod(Method):
    """A method that needs the lists of all items, each item a query; it cannot answer external queries."""

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        check_collection(ranks, self.entry_name)
        return self.rerank(ranks, k)

    @abstractmethod
    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        """Return the k best items for each item."""


class NeighborMethod(CollectionMethod):
    """A whole-collection method with neighborhoods of `neighbors` items, the heads of its lists, cut to `depth`."""

    neighbors: Count
    depth: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbors > self.depth:
            raise InputError(f"neighbors must be at most depth; got {self.neighbors} and {self.depth}.")


class IndexMethod(Method, Generic[Index]):
    """A method that builds an index of the collection and answers from it, external queries too."""

    def fuse(self, ranks: Sequence[Ranks], k: int = 10, *, collection: Sequence[Ranks] | None = None) -> Ranks:
        """Return the k best items; with the ranks of a `collection`, `ranks` are those of external queries."""
        external = collection is not None
        index = self.build(ranks if collection is None else collection, external=external)
        return self.answer(index, ranks, k, external=external)

    def given(self, *apart: str) -> dict[str, Any]:
        """Return the options by name, apart from some."""
        return {name: getattr(self, name) for name in self.options() if name not in apart}

    @abstractmethod
    def build(self, ranks: Sequence[Ranks], *, external: bool) -> Index:
        """Return the index of a collection, for external queries or only for its own items."""

    @abstractmethod
    def answer(self, index: Index, ranks: Sequence[Ranks], k: int, *, external: bool) -> Ranks:
        """Return the answers for external queries, whose lists `ranks` are, or for every item of the collection."""


class Supervised(Options, ABC):
    """A method that learns from judged queries; `train` makes a fusion method of it."""

    entry_kind: ClassVar[str] = "supervised method"

    @abstractmethod
    def learn(self, judged: Judged, lengths: NDArray[np.integer]) -> Floats:
        """Return what the method needs to know of a ranker, from its judged lists and their lengths."""

    @abstractmethod
    def values(self, learned: Floats, ranks: Ranks) -> Floats:
        """Return what each position of a ranker's lists adds to the score of its item, given what was learned."""

    def absent(self) -> float:
        """Return what a ranker adds to the score of an item that it does not list."""
        return 0.0

    def score(self, pool: Pool, learned: Sequence[Floats]) -> Floats:
        """Return the scores of the items of each pool, given what was learned of each ranker."""
        parts = [self.values(one, r) - self.absent() for one, r in zip(learned, pool.ranks, strict=True)]
        return pool.fold(np.add, parts, self.absent() * len(parts))


def as_method(entry: type[Method] | Callable[..., Ranks], kind: type[Any] = QueryMethod) -> type[Method]:
    """Return a class of methods; from a function ``function(ranks, k, *, options) -> Ranks`` one is made."""
    if isinstance(entry, type) and issubclass(entry, Method):
        return entry
    if not is_function(entry):
        raise InputError(f"A method must be a function, or a class derived from Method; got {brief(entry)}.")
    parameters = list(inspect.signature(entry).parameters.values())
    if [parameter.name for parameter in parameters[:2]] != ["ranks", "k"] or any(
        option.kind is not option.KEYWORD_ONLY or option.default is option.empty for option in parameters[2:]
    ):
        raise InputError(
            f"A method must take ranks and k, and keyword-only options with defaults: def {entry.__name__}(ranks, k, "
            "*, sharpness=2.0)."
        )

    def fuse(self: Method, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        fused: Ranks = entry(ranks, k, **{field.name: getattr(self, field.name) for field in fields(self)})
        return fused

    _, _, *options = annotated_defaults(entry)  # the first two are ranks and k
    space: dict[str, Any] = {name: default for name, default, _ in options}
    space["__annotations__"] = {name: hint for name, _, hint in options}
    space |= {"__doc__": entry.__doc__, "__module__": entry.__module__}
    space["rerank" if issubclass(kind, CollectionMethod) else "fuse"] = fuse
    made: type[Method] = type(entry.__name__, (kind,), space)
    return made


#: The methods by name; plug-ins register through the entry-point group ``rankloom.methods``.
METHODS: Registry[type[Method]] = Registry("method", group="rankloom.methods", home="rankloom.methods", adapt=as_method)

#: The supervised methods by name, for `train`.
SUPERVISED: Registry[type[Supervised]] = Registry("supervised method", home="rankloom.methods", entries=type)


def register_method(name: str, *, kind: type[Any] = QueryMethod) -> Callable[[F], F]:
    """Return a decorator that registers a fusion method: a class derived from a kind of `Method`, or a function.

    A function ``function(ranks, k, *, options) -> Ranks`` takes aligned ranks. See ``examples/plugin.py`` for an
    example, and `check_method` for the contract of a method.

    Parameters
    ----------
    name : str
        The name of the method in `fuse`.
    kind : type
        For a function: `QueryMethod` if it sees the lists of one query at a time, `CollectionMethod` if it needs the
        lists of all items, each item a query.
    """

    def add(entry: F) -> F:
        METHODS.register(name)(as_method(entry, kind))
        return entry

    return add


def fuse(
    ranks: RankerLists,
    method: str | Call | Method,
    k: int = 10,
    *,
    collection: RankerLists | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    missing: Missing | None = None,
    **options: Any,
) -> Ranks:
    """Fuse the ranks of several rankers into one list for each query.

    Parameters
    ----------
    ranks : sequence of Ranks, or {name: Ranks}
        One for each ranker. Ranks with ids are matched by id; others must have the same numbering of items. Lists may
        be given as dicts, as `Ranks.from_dict` takes them.
    method : str or Method
        A name in `METHODS`, optionally with options: ``rrf(constant=20)``; or a method: ``RRF(constant=20)``, or what
        `train` or `optimize` found.
    k : int
        Number of answers to return.
    collection : sequence of Ranks, optional
        For methods such as fg that need the whole collection to answer external queries (`IndexMethod`): the lists of
        the items, one Ranks for each ranker in the same order. `ranks` are then the lists of the queries.
    missing : {"error", "drop", "empty"}, optional
        What to do with a query that some ranker has no list for; an error by default. It does not apply to the items of
        a collection: an item without a list gets an empty one.
    threads, progress
        As in `FusionIndex.build`.
    **options
        Options of a method that is given by name.

    Returns
    -------
    Ranks
        Best first; the meaning of the scores depends on the method.

    Examples
    --------
    >>> bm25 = Ranks.from_dict({"q": ["a", "b", "c"]})
    >>> dense = Ranks.from_dict({"q": ["b", "d", "a"]})
    >>> list(fuse([bm25, dense], method="rrf", k=3).to_dict()["q"])
    ['b', 'a', 'd']
    """
    chosen = make_method(method, **options)
    names, lists = split_names(ranks)
    if names and chosen.rankers:
        names, lists = chosen.rankers, by_name(ranks, chosen.rankers)
    items = None if collection is None else by_name(collection, names)
    if missing is not None:
        check_choice("missing policy", missing, get_args(Missing))
    with running(threads, progress):
        return _fused(chosen, lists, whole_number("k", k), items, missing)


def make_method(method: str | Call | Method, **options: Any) -> Method:
    """Return the method that a spelling describes.

    Raises
    ------
    InputError
        If the name or an option does not exist, or the method needs training.
    """
    if isinstance(method, str):
        method = Call.parse(method)
    name = method.name if isinstance(method, Call) else ""
    if isinstance(method, Supervised) or (name in SUPERVISED and name not in METHODS):
        raise InputError(
            f"The method {str(method)!r} learns from judged queries: trained = rankloom.train(ranks, qrels, "
            f"{str(method)!r}), then fuse(..., method=trained)."
        )
    made: Method = METHODS.make(method, **options)
    return made


def _fused(
    method: Method, ranks: Sequence[Ranks], k: int, collection: Sequence[Ranks] | None, missing: Missing | None
) -> Ranks:
    """Align the ranks and run the method; it may be a plug-in, so check what it returns."""
    if collection is None:
        queries = items = method.align(ranks, missing)
        fused = method.fuse(queries, k)
    elif isinstance(method, IndexMethod):
        queries, items = align(ranks, missing=missing or "error"), align_collection(collection)
        fused = method.fuse(queries, k, collection=items)
    elif isinstance(method, QueryMethod):
        raise InputError("This method needs no collection; leave it out.")
    else:
        raise InputError(
            "This method cannot answer external queries; leave the collection out and pass its lists as the ranks."
        )
    wrong = _violation(fused, queries[0], items[0], k)
    if wrong:
        raise ContractError(f"The method {method.entry_name!r} {wrong}. Check it with check_method.")
    return fused


def _violation(fused: Any, queries: Ranks, items: Ranks, k: int) -> str:
    """Return how the result of a method violates the contract; empty if it does not."""
    if not isinstance(fused, Ranks):
        return f"must return Ranks; got {type(fused).__name__}"
    if (fused.n_queries, fused.n_items) != (queries.n_queries, items.n_items):
        return f"must return Ranks of {queries.n_queries} lists over {items.n_items} items; got {brief(fused)}"
    if fused.depth > k:
        return f"returns {fused.depth} answers for k={k}"
    if fused.query_ids != queries.query_ids:
        return "must keep the query ids"
    return "" if fused.item_ids == items.item_ids else "must keep the item ids"
