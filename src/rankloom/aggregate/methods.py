"""The registry of methods, and the one door to all of them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from rankloom.align import Missing, align
from rankloom.errors import InputError
from rankloom.ranks import Ranks
from rankloom.registry import Registry

#: A method: ``method(ranks, k, **its own options) -> Ranks``, the ranks over one numbering.
Method = Callable[..., Ranks]

METHODS: Registry[Method] = Registry("method", group="rankloom.methods")


def fuse(
    ranks: Sequence[Ranks], method: str = "fg", k: int = 10, *, missing: Missing = "error", **options: Any
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
    missing : {"error", "drop", "empty"}
        What to do with a query that some ranker has no list for.
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
    function = METHODS[method]
    known = inspect.signature(function).parameters
    for name in options:
        if name not in known or name in ("ranks", "k"):
            own = [option for option in known if option not in ("ranks", "k")]
            raise InputError(f"The method {method!r} has no option {name!r}; it has {', '.join(own) or 'none'}.")
    if k < 1:
        raise InputError(f"k must be at least 1; got {k}.")
    return function(align(ranks, missing=missing), k, **options)
