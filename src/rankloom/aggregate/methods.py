"""The registry of methods, and the one door to all of them."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from rankloom.align import Missing, align, align_collection
from rankloom.errors import InputError, whole_number
from rankloom.ranks import Ranks
from rankloom.registry import Registry


@dataclass(frozen=True, slots=True)
class Method:
    """A way to fuse, and what it looks at.

    Attributes
    ----------
    function : callable
        ``function(ranks, k, *, options of its own) -> Ranks``; the ranks are over one numbering.
    needs : {"queries", "collection"}
        The lists of each query alone, or the lists of all items of the collection, each item a query.
    """

    function: Callable[..., Ranks]
    needs: Literal["queries", "collection"]

    def options(self) -> list[str]:
        """Return the names of its options."""
        return [name for name in inspect.signature(self.function).parameters if name not in ("ranks", "k")]


#: The methods by name; a plug-in adds one through the entry-point group ``rankloom.methods``.
METHODS: Registry[Method] = Registry("method", group="rankloom.methods")

F = TypeVar("F", bound=Callable[..., Ranks])


def register(name: str, needs: Literal["queries", "collection"]) -> Callable[[F], F]:
    """Give the function decorated a name in `METHODS`."""

    def add(function: F) -> F:
        METHODS.register(name)(Method(function, needs))
        return function

    return add


def fuse(
    ranks: Sequence[Ranks], method: str = "fg", k: int = 10, *, missing: Missing | None = None, **options: Any
) -> Ranks:
    """Fuse the ranks of several rankers into one list for each query.

    Parameters
    ----------
    ranks : sequence of Ranks
        One for each ranker. Ranks with names are matched by name, others must be of one collection.
    method : str
        A name in `METHODS`.
    k : int
        How many answers to return.
    missing : {"error", "drop", "empty"}, optional
        What to do with a query that some ranker has no list for; an error by default. Methods that need the whole
        collection take no such choice: an item without a list has an empty one.
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
    chosen = METHODS[method]
    for name in options:
        if name not in chosen.options():
            has = ", ".join(chosen.options()) or "none"
            raise InputError(f"The method {method!r} has no option {name!r}; it has {has}.")
    whole_number("k", k)
    if chosen.needs == "collection" and options.get("collection") is None:
        if missing not in (None, "empty"):
            raise InputError(f"In a collection an item without a list has an empty one; missing={missing!r} can't be.")
        return chosen.function(align_collection(ranks), k, **options)
    return chosen.function(align(ranks, missing=missing or "error"), k, **options)
