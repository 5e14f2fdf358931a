"""What the first page tells of a collection that is shown to a newcomer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tour:
    """How to introduce a collection."""

    heading: str = ""  #: of the first page; by default the name
    rankers: Mapping[str, str] = field(default_factory=dict)  #: what each ranker looks at, in plain words
    examples: Sequence[Mapping[str, str]] = ()  #: to explain on the first page: {"query": text} or {"item": id}

    name: str = ""  #: on every page; by default that of the collection

    def title(self, ranker: str) -> str:
        """Return how a page names a ranker, as in "colors at borders (bic)"."""
        return f"{self.rankers[ranker]} ({ranker})" if ranker in self.rankers else ranker


NO_TOUR = Tour()
