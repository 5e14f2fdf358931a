"""The registry of methods, and the one door to all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from rankloom.align import Missing, align, align_collection
from rankloom.errors import InputError, check_choice, whole_number
from rankloom.ranks import Ranks
from rankloom.registry import Call, Registry

#: What a method looks at: the lists of each query alone, or those of all items, each item a query.
Needs = Literal["queries", "collection"]

F = TypeVar("F", bound=Callable[..., Ranks])


@dataclass(frozen=True, slots=True)
class Method:
    """A way to fuse, and what it looks at.

    Attributes
    ----------
    function : callable
        ``function(ranks, k, *, options) -> Ranks``; the ranks are aligned. One that needs the collection and answers
        external queries also takes ``collection``: the ranks of the items, aligned, or None where `ranks` are these.
    needs : {"queries", "collection"}
        The lists of each query alone, or the lists of all items of the collection, each item a query.
    answers_external : bool
        Whether it can answer queries that are not items of the collection.
    """

    function: Callable[..., Ranks]
    needs: Needs
    answers_external: bool

    def options(self) -> list[str]:
        """Return the names of its options."""
        return list(self.__signature__.parameters)

    @property
    def __signature__(self) -> inspect.Signature:
        """The options alone, which is what a registry checks a spelling against."""
        parameters = inspect.signature(self.function).parameters.items()
        return inspect.Signature([one for name, one in parameters if name not in ("ranks", "k", "collection")])

    def __call__(self, **options: Any) -> Fusion:
        """Return the method with its options set."""
        return Fusion(self, options)


@dataclass(frozen=True, slots=True)
class Fusion:
    """A method with its options set: what `METHODS.make` returns."""

    method: Method
    options: dict[str, Any]

    def __call__(
        self, ranks: Sequence[Ranks], k: int, collection: Sequence[Ranks] | None, missing: Missing | None
    ) -> Ranks:
        """Align the ranks, once, and fuse them."""
        if collection is not None:
            return self._external(ranks, k, collection, missing)
        if self.method.needs == "queries":
            return self.method.function(align(ranks, missing=missing or "error"), k, **self.options)
        if missing not in (None, "empty"):
            raise InputError(
                f"In a collection an item without a list has an empty one; missing={missing!r} is not allowed."
            )
        return self.method.function(align_collection(ranks), k, **self.options)

    def _external(self, ranks: Sequence[Ranks], k: int, collection: Sequence[Ranks], missing: Missing | None) -> Ranks:
        if self.method.needs == "queries":
            raise InputError("This method works on the lists of queries alone; leave the collection out.")
        if not self.method.answers_external:
            raise InputError(
                "This method cannot answer external queries; leave the collection out, and give its lists as the ranks."
            )
        queries, items = align(ranks, missing=missing or "error"), align_collection(collection)
        return self.method.function(queries, k, collection=items, **self.options)


#: The methods by name; a plug-in adds one through the entry-point group ``rankloom.methods``.
METHODS: Registry[Method] = Registry("method", group="rankloom.methods")


def register_method(name: str, *, needs: Needs = "queries", answers_external: bool | None = None) -> Callable[[F], F]:
    """Return a decorator that registers a fusion method.

    Parameters
    ----------
    name : str
        What `fuse` calls it.
    needs : {"queries", "collection"}
        The lists of each query alone, or the lists of all items of the collection, each item a query.
    answers_external : bool, optional
        Whether it can answer queries that are not items; by default only a method that needs no collection can.

    See ``examples/plugin.py`` for one in use, and `check_method` for what a method promises.
    """
    check_choice("need of a method", needs, ("queries", "collection"))
    external = needs == "queries" if answers_external is None else answers_external

    def add(function: F) -> F:
        METHODS.register(name)(Method(function, needs, external))
        return function

    return add


def fuse(
    ranks: Sequence[Ranks],
    method: str | Call,
    k: int = 10,
    *,
    collection: Sequence[Ranks] | None = None,
    missing: Missing | None = None,
    **options: Any,
) -> Ranks:
    """Fuse the ranks of several rankers into one list for each query.

    Parameters
    ----------
    ranks : sequence of Ranks
        One for each ranker. Ranks with ids are matched by id, others must be of one collection.
    method : str
        A name in `METHODS`, which may carry options: ``rrf(constant=20)``.
    k : int
        How many answers to return.
    collection : sequence of Ranks, optional
        For a method that needs the whole collection to answer external queries (`Method.answers_external`), such as
        fg: the lists of the items, one Ranks for each ranker in the same order. `ranks` are then those of the queries.
    missing : {"error", "drop", "empty"}, optional
        What to do with a query that some ranker has no list for; an error by default. Methods that need the whole
        collection take no such choice for its items: an item without a list has an empty one.
    **options
        Of the method; one that it does not have is an error.

    Returns
    -------
    Ranks
        Best first; scores are the method's own.

    Examples
    --------
    >>> bm25 = Ranks.from_dict({"q": ["a", "b", "c"]})
    >>> dense = Ranks.from_dict({"q": ["b", "d", "a"]})
    >>> list(fuse([bm25, dense], method="rrf", k=3).to_dict()["q"])
    ['b', 'a', 'd']
    """
    fusion: Fusion = METHODS.make(method, **options)
    return fusion(ranks, whole_number("k", k), collection, missing)
