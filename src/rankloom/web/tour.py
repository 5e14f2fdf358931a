"""What the first page tells of a collection that is shown to a newcomer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tour:
    """How to introduce a collection.

    Attributes
    ----------
    heading : str
        Of the first page; by default the name of the collection.
    rankers : {name of a ranker: str}
        What a ranker looks at, in plain words.
    examples : sequence of mappings
        Queries that the first page explains: ``{"query": text}`` or ``{"item": id}``.

    Examples
    --------
    >>> Tour(rankers={"bic": "colors at borders"}).title("bic")
    'colors at borders (bic)'
    """

    heading: str = ""
    rankers: Mapping[str, str] = field(default_factory=dict)
    examples: Sequence[Mapping[str, str]] = ()

    def title(self, ranker: str) -> str:
        """Return how a page names a ranker."""
        return f"{self.rankers[ranker]} ({ranker})" if ranker in self.rankers else ranker


NO_TOUR = Tour()
