"""Registration of the methods that rerank a whole collection: the options they share are declared and checked once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rankloom.aggregate.lists import check_collection, check_neighbors
from rankloom.aggregate.methods import CollectionMethod, register_method
from rankloom.errors import check_whole
from rankloom.ranks import Ranks

#: (what to rerank, the method's own options) -> answers
Rerank = Callable[..., Ranks]
NEEDS = "A whole-collection method: every item is a query. It cannot answer external queries."
#: What the options mean in most methods; the docstring of a method explains those that mean something else.
MEANINGS = {
    "ranks": ("sequence of Ranks", "Collection ranks."),
    "neighbors": ("int", "K, the neighborhood size{within}."),
    "depth": ("int", "How many items of each list to use; answers come from these."),
    "iterations": ("int", "Number of rounds."),
}


class Reranking(NamedTuple):
    """Collection ranks, the number of answers, and the options that most methods have."""

    ranks: Sequence[Ranks]
    k: int
    neighbors: int
    depth: int = 0
    iterations: int = 0


def register_reranker(name: str, *, within_depth: bool = True, **shared: int) -> Callable[[Rerank], Rerank]:
    """Return a decorator that registers a method; it is called with a `Reranking`, checked.

    Parameters
    ----------
    within_depth : bool
        Whether `neighbors` must be at most `depth`.
    **shared : int
        The defaults of `neighbors`, and of `depth` and `iterations` if the method has these options.
    """
    common = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=shared[key], annotation="int") for key in shared
    ]

    def add(rerank: Rerank) -> Rerank:
        own = [one for one in inspect.signature(rerank).parameters.values() if one.kind is one.KEYWORD_ONLY]

        def method(ranks: Sequence[Ranks], k: int = 10, **options: Any) -> Ranks:
            chosen = {key: options.pop(key, default) for key, default in shared.items()}
            check_whole(k=k, **chosen)
            if within_depth:
                check_neighbors(chosen["neighbors"], chosen["depth"])
            check_collection(ranks, name)
            return rerank(Reranking(ranks, k, **chosen), **options)

        with_signature(method, [*common, *own], like=rerank)
        method.__doc__ = _documented(inspect.cleandoc(rerank.__doc__ or ""), shared, within_depth)
        return register_method(name, kind=CollectionMethod)(method)

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


def _documented(text: str, shared: Mapping[str, int], within_depth: bool) -> str:
    """Return the docstring of a method with the options that it does not explain itself."""
    before, title, after = text.partition("Parameters\n----------\n")
    own = "" if not title else after
    within = "; at most `depth`" if within_depth else ""
    common = [
        f"{name} : {kind}\n    {meaning.format(within=within)}\n"
        for name, (kind, meaning) in MEANINGS.items()
        if name in ("ranks", *shared) and f"{name} :" not in own
    ]
    return f"{before}{NEEDS}\n\nParameters\n----------\n{''.join(common)}{own}"
