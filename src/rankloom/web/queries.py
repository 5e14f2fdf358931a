"""What is searched for, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankloom.datasets.images import Pixels


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the collection as a query."""

    number: int
    kind: ClassVar[str] = "item"
    part: ClassVar[str | None] = None  # every ranker has a list for it


@dataclass(frozen=True, slots=True)
class Words:
    """Words from outside: rankers of texts take them."""

    text: str
    kind: ClassVar[str] = "words"
    part: ClassVar[str | None] = "texts"

    @property
    def content(self) -> str:
        """What a ranker is asked."""
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture from outside, known by its digest: rankers of pictures take it."""

    digest: str
    content: Pixels
    kind: ClassVar[str] = "picture"
    part: ClassVar[str | None] = "images"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picture) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


Query = Item | Words | Picture


@dataclass(frozen=True, slots=True)
class Choice:
    """How to search: all that the switches of a page set.

    Attributes
    ----------
    rankers : tuple of str
        Those that are fused, in the order of the library.
    method : str
        A name in `rankloom.METHODS`.
    cutoff : int
        The paper's L, for `fg` alone.
    comparator : str
        For `fg` alone.
    k : int
        How many answers.
    """

    rankers: tuple[str, ...]
    method: str = "fg"
    cutoff: int = 10
    comparator: str = "wgu"
    k: int = 20

    def changes(self, standard: Choice) -> dict[str, Any]:
        """Return what differs from the standard, as parameters of an address.

        Examples
        --------
        >>> standard = Choice(("bic", "lbp"))
        >>> Choice(("bic",), method="rrf").changes(standard)
        {'method': 'rrf', 'rankers': 'bic'}
        """
        pairs = {name: getattr(self, name) for name in ("method", "cutoff", "comparator", "rankers", "k")}
        return {
            name: ",".join(value) if isinstance(value, tuple) else value
            for name, value in pairs.items()
            if value != getattr(standard, name)
        }
