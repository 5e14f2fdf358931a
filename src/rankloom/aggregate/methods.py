"""The registry of fusion methods, and `fuse`, which runs any of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.per_query.pool import Pool
from rankloom.errors import ContractError, InputError, brief, check_choice, whole_number
from rankloom.evaluation.truth import Judged
from rankloom.ranks import Ranks
from rankloom.ranks.align import Missing, RankerLists, align, align_collection, by_name, split_names
from rankloom.registry import Call, Registry
from rankloom.threads import Progress, running

#: What a method works on: the lists of one query at a time, or the lists of all items, each item a query.
Needs = Literal["queries", "collection"]

F = TypeVar("F", bound=Callable[..., Ranks])


@dataclass(frozen=True, slots=True)
class Method:
    """A fusion method and its requirements.

    Attributes
    ----------
    function : callable
        ``function(ranks, k, *, options) -> Ranks``, called with aligned ranks. A method that needs the collection and
        answers external queries also takes ``collection``: the aligned ranks of the items, or None if `ranks` are.
    needs : {"queries", "collection"}
        The lists of one query at a time, or the lists of all items of the collection, each item a query.
    answers_external : bool
        Whether it answers external queries: queries that are not items of the collection.
    name : str
        Its name in messages; by default that of the function.
    """

    function: Callable[..., Ranks]
    needs: Needs
    answers_external: bool
    name: str = ""

    def options(self) -> list[str]:
        """Return the names of the options."""
        return list(self.__signature__.parameters)

    @property
    def __signature__(self) -> inspect.Signature:
        """The options alone: the registry checks a spelling against them."""
        parameters = inspect.signature(self.function).parameters.items()
        return inspect.Signature([one for name, one in parameters if name not in ("ranks", "k", "collection")])

    def __call__(self, **options: Any) -> Fusion:
        """Return the method with its options set."""
        return Fusion(self, options)


@runtime_checkable
class Fuser(Protocol):
    """A method ready to fuse: with its options set, and trained if it needs that."""

    @property
    def rankers(self) -> tuple[str, ...]:
        """The names of the rankers in the order it expects them; empty if it was given none."""

    def __call__(
        self, ranks: Sequence[Ranks], k: int, collection: Sequence[Ranks] | None, missing: Missing | None
    ) -> Ranks:
        """Align the ranks and fuse them."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """A method with its options set, as `METHODS.make` returns it."""

    method: Method
    options: dict[str, Any]
    rankers: tuple[str, ...] = ()

    def __call__(
        self, ranks: Sequence[Ranks], k: int, collection: Sequence[Ranks] | None, missing: Missing | None
    ) -> Ranks:
        """Align the ranks and fuse them."""
        if missing is not None:
            check_choice("missing policy", missing, get_args(Missing))
        if collection is not None:
            return self._external(ranks, k, collection, missing)
        if self.method.needs == "queries":
            return self._run(align(ranks, missing=missing or "error"), k)
        if missing not in (None, "empty"):
            raise InputError(
                f"Items without a list get an empty one in a collection method; missing={missing!r} is not allowed."
            )
        return self._run(align_collection(ranks), k)

    def _external(self, ranks: Sequence[Ranks], k: int, collection: Sequence[Ranks], missing: Missing | None) -> Ranks:
        if self.method.needs == "queries":
            raise InputError("This method needs no collection; leave it out.")
        if not self.method.answers_external:
            raise InputError(
                "This method cannot answer external queries; leave the collection out and pass its lists as the ranks."
            )
        queries, items = align(ranks, missing=missing or "error"), align_collection(collection)
        return self._run(queries, k, collection=items)

    def _run(self, ranks: Sequence[Ranks], k: int, **others: Any) -> Ranks:
        """Run the method; it may be a plug-in, so check what it returns."""
        fused = self.method.function(ranks, k, **others, **self.options)
        wrong = _violation(fused, ranks[0], others.get("collection", ranks)[0], k)
        if wrong:
            name = self.method.name or getattr(self.method.function, "__name__", "")
            raise ContractError(f"The method {name!r} {wrong}. Check it with check_method.")
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


#: The methods by name; plug-ins register through the entry-point group ``rankloom.methods``.
METHODS: Registry[Method] = Registry("method", group="rankloom.methods", entries=Method)


class Supervised(Protocol):
    """A method that learns from judged queries; its options are the parameters of its class."""

    def learn(self, judged: Judged, lengths: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return what is to be known of a ranker, from its judged lists and their lengths."""

    def score(self, pool: Pool, learned: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the scores of the items of each pool, given what was learned of each ranker."""


#: The supervised methods by name, for `train`; plug-ins register through the entry-point group
#: ``rankloom.supervised``.
SUPERVISED: Registry[type[Supervised]] = Registry("supervised method", group="rankloom.supervised", entries=Callable)


def register_method(name: str, *, needs: Needs = "queries", answers_external: bool | None = None) -> Callable[[F], F]:
    """Return a decorator that registers a fusion method.

    See ``examples/plugin.py`` for an example, and `check_method` for the contract of a method.

    Parameters
    ----------
    name : str
        The name of the method in `fuse`.
    needs : {"queries", "collection"}
        The lists of one query at a time, or the lists of all items of the collection, each item a query.
    answers_external : bool, optional
        Whether it answers external queries; by default only methods that need no collection do.
    """
    check_choice("value of needs", needs, get_args(Needs))
    external = needs == "queries" if answers_external is None else answers_external

    def add(function: F) -> F:
        METHODS.register(name)(Method(function, needs, external, name))
        return function

    return add


def with_signature(
    method: Callable[..., Ranks], options: Sequence[inspect.Parameter], *, like: Callable[..., Any]
) -> None:
    """Give a method the name and the docstring of a function, and options in place of its ``**options``."""
    given = inspect.signature(method).parameters.values()
    shown = [one for one in given if one.kind is not one.VAR_KEYWORD]
    method.__signature__ = inspect.Signature([*shown, *options], return_annotation="Ranks")  # type: ignore[attr-defined]
    method.__name__ = method.__qualname__ = like.__name__
    method.__doc__ = like.__doc__


def fuse(
    ranks: RankerLists,
    method: str | Call | Fuser,
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
    method : str, or what `train` or `optimize` found
        A name in `METHODS`, optionally with options: ``rrf(constant=20)``; or a trained or tuned method, which takes
        no further options.
    k : int
        Number of answers to return.
    collection : sequence of Ranks, optional
        For methods such as fg that need the whole collection to answer external queries (`Method.answers_external`):
        the lists of the items, one Ranks for each ranker in the same order. `ranks` are then the lists of the queries.
    missing : {"error", "drop", "empty"}, optional
        What to do with a query that some ranker has no list for; an error by default. It does not apply to the items of
        a collection: an item without a list gets an empty one.
    threads, progress
        As in `FusionIndex.build`.
    **options
        Options of the method.

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
    fusion = make_fuser(method, **options)
    names, lists = split_names(ranks)
    if names and fusion.rankers:
        names, lists = fusion.rankers, by_name(ranks, fusion.rankers)
    items = None if collection is None else by_name(collection, names)
    with running(threads, progress):
        return fusion(lists, whole_number("k", k), items, missing)


def make_fuser(method: str | Call | Fuser, **options: Any) -> Fuser:
    """Return the method that a spelling describes; a trained or tuned one is returned as it is.

    Raises
    ------
    InputError
        If the name or an option does not exist, or the method needs training.
    """
    if isinstance(method, Fuser):
        if options:
            raise InputError(f"A trained or tuned method has its options already; leave out {', '.join(options)}.")
        return method
    name = Call.parse(method).name if isinstance(method, str) else getattr(method, "name", None)
    if name in SUPERVISED and name not in METHODS:
        raise InputError(
            f"The method {name!r} learns from judged queries: trained = rankloom.train(ranks, qrels, {name!r}), "
            "then fuse(..., method=trained)."
        )
    fusion: Fuser = METHODS.make(method, **options)
    return fusion
