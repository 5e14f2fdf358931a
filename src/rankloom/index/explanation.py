"""Why an item is similar to a query: the parts they share, with their contributions."""

from dataclasses import asdict, dataclass
from typing import Literal

from rankloom.io.text_file import Plain
from rankloom.ranks.html_table import html_table

MAX_PARTS = 10  # of an explanation in a table


@dataclass(frozen=True, slots=True)
class Part:
    """A vertex or an edge shared by two graphs, or the vote of a ranker, and its contribution to the similarity.

    All parts that would name an item which a filter excludes are one of the kind "hidden".
    """

    kind: Literal["vertex", "edge", "vote", "hidden"]
    source: int
    target: int  # the same as `source` for a vertex
    label: str
    query_weight: float
    item_weight: float
    contribution: float
    ranker: str = ""  # whose lists it comes from; empty if from those of all

    def weights(self) -> tuple[str, str]:
        """Return both weights as text; votes and hidden parts have none."""
        return ("", "") if self.kind in ("vote", "hidden") else (f"{self.query_weight:.4f}", f"{self.item_weight:.4f}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item is similar to a query: the shared parts, largest first; their contributions sum to `similarity`."""

    query: str
    item: str
    comparator: str
    similarity: float
    parts: tuple[Part, ...]

    def to_dict(self) -> Plain:
        """Return the explanation as plain data."""
        plain = asdict(self)
        return plain | {"parts": list(plain["parts"])}

    def __str__(self) -> str:
        rows = [f"  {part.contribution:.4f}  {part.kind:<6}  {part.label}" for part in self.parts[:MAX_PARTS]]
        more = [f"  {self._more()}"] if len(self.parts) > MAX_PARTS else []
        return "\n".join([self._title(), *rows, *more])

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = [[part.label, part.kind, *part.weights(), f"{part.contribution:.4f}"] for part in self.parts[:MAX_PARTS]]
        note = self._title() + (f"; {self._more()}" if len(self.parts) > MAX_PARTS else "")
        return html_table(["part", "", "weight in query", "weight in item", "contribution"], rows, note)

    def _title(self) -> str:
        return f"{self.query} ~ {self.item}: {self.comparator} similarity {self.similarity:.4f}"

    def _more(self) -> str:
        n = len(self.parts) - MAX_PARTS
        return f"... and {n} smaller part{'s' if n > 1 else ''}"
