"""Queries, and the options of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankloom.datasets.images import Pixels


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """An item of the collection as a query."""

    number: int
    kind: ClassVar[str] = "item"
    part: ClassVar[str | None] = None  # every ranker has a list for it


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Text as an external query, for rankers of texts."""

    text: str
    kind: ClassVar[str] = "text"
    part: ClassVar[str | None] = "texts"

    @property
    def content(self) -> str:
        """The query as rankers take it."""
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class ImageQuery:
    """An image as an external query, for rankers of images; equal if the digests are."""

    digest: str
    content: Pixels
    kind: ClassVar[str] = "image"
    part: ClassVar[str | None] = "images"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageQuery) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


Query = ItemQuery | TextQuery | ImageQuery


@dataclass(frozen=True, slots=True)
class Choice:
    """How to search: everything that the controls of a page set.

    Attributes
    ----------
    rankers : tuple of str
        The rankers to fuse, in the order of the library.
    method : str
        A name in `rankloom.METHODS`.
    cutoff : int
        How much of each list makes up a graph; for `fg` only.
    comparator : str
        For `fg` only.
    k : int
        Number of results.
    """

    rankers: tuple[str, ...]
    method: str = "fg"
    cutoff: int = 10
    comparator: str = "wgu"
    k: int = 20

    def changes(self, defaults: Choice) -> dict[str, Any]:
        """Return what differs from the defaults, as URL parameters.

        Examples
        --------
        >>> defaults = Choice(("bic", "lbp"))
        >>> Choice(("bic",), method="rrf").changes(defaults)
        {'method': 'rrf', 'rankers': 'bic'}
        """
        pairs = {name: getattr(self, name) for name in ("method", "cutoff", "comparator", "rankers", "k")}
        return {
            name: ",".join(value) if isinstance(value, tuple) else value
            for name, value in pairs.items()
            if value != getattr(defaults, name)
        }
