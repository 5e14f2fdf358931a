"""A collection: its items, their parts, and which items are relevant to which queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from rankloom.datasets.images import ImageFile
from rankloom.errors import InputError, UnknownNameError, brief, check_type, is_iterable
from rankloom.io.cache import digest_bytes
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array
from rankloom.registry import Registry

#: What rankers are given: texts, images, rows of a matrix or ids.
Contents = Sequence[Any]
#: One value for each item: a text, an image, a row of a matrix.
Part = Contents | Array


@runtime_checkable
class Content(Protocol):
    """An item that is loaded on demand, such as an image in a file."""

    def digest(self) -> str:
        """Return a digest of its content."""


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """External queries of a collection, with graded judgments.

    Attributes
    ----------
    ids : Ids
    qrels : {query: {item: grade}}
    parts : mapping of str to Part
        As in `Collection`.
    """

    ids: Ids
    qrels: Mapping[str, Mapping[str, int]]
    parts: Mapping[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_parts(self.ids, self.parts)
        object.__setattr__(self, "parts", _with_image_files(self.parts))

    def part(self, name: str) -> Part:
        """Return one part of every query."""
        return _part("queries", self.ids, self.parts, name)


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """Items with one or more parts for rankers to use, and labels or judged queries for evaluation.

    Attributes
    ----------
    name : str
    ids : Ids
        Ids of the items; empty if only run files are known.
    parts : mapping of str to Part
        Name -> one value for each item: ``images`` (`ImageFile` or arrays; a path becomes an `ImageFile`), ``texts``
        (str), or any other name for a matrix with a row for each item. The part ``ids`` always exists.
    labels : tuple of str, or None
        Class of each item: every item is a query, and items of its class are relevant.
    queries : Queries or None
        Instead of labels. A collection with neither can be ranked but not evaluated.
    about : str
        One line that describes the collection.

    Examples
    --------
    >>> pets = Collection("pets", Ids(["a", "b"]), {"texts": ["a cat", "a dog"]}, labels=("cat", "dog"))
    >>> len(pets), pets.part("texts")[1]
    (2, 'a dog')
    >>> pets.part("images")
    Traceback (most recent call last):
    rankloom.errors.UnknownNameError: Unknown part of pets 'images'; choose from ids, texts.
    """

    name: str
    ids: Ids
    parts: Mapping[str, Part] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    queries: Queries | None = None
    about: str = ""

    def __post_init__(self) -> None:
        _check_parts(self.ids, self.parts)
        if self.labels is not None and not (isinstance(self.labels, Sized) and is_iterable(self.labels)):
            raise InputError(f"labels must be a sequence of classes, one for each item; got {brief(self.labels)}.")
        object.__setattr__(self, "parts", _with_image_files(self.parts))
        for name, part in self.parts.items():
            if len(part) != len(self.ids):
                raise InputError(f"{self.name} has {len(self.ids)} items, but its part {name!r} has {len(part)}.")
        if self.labels is not None and len(self.labels) != len(self.ids):
            raise InputError(f"{self.name} has {len(self.ids)} items, but {len(self.labels)} labels.")
        if self.labels is not None and self.queries is not None:
            raise InputError(f"{self.name} has both labels and judged queries; give only one of the two.")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        truth = "labels" if self.labels is not None else "queries" if self.queries is not None else "not judged"
        return f"Collection({self.name!r}, n={len(self)}, parts: {', '.join(self.parts) or 'ids only'}; {truth})"

    def part(self, name: str) -> Part:
        """Return one part of every item."""
        return _part(self.name, self.ids, self.parts, name)

    def without(self, numbers: Iterable[int]) -> Collection:
        """Return the collection without some items; the others are renumbered.

        Examples
        --------
        >>> pets = Collection("pets", Ids(["a", "b"]), {"texts": ["a cat", "a dog"]}, labels=("cat", "dog"))
        >>> list(pets.without([0]).ids)
        ['b']
        """
        dropped = set(numbers)
        return self._subset([number for number in range(len(self)) if number not in dropped])

    def shuffled(self, seed: int) -> Collection:
        """Return the collection with its items in random order.

        Rankers and methods order ties by number: if the items are sorted by class, ties favor an item's own class.

        Examples
        --------
        >>> pets = Collection("pets", Ids(["a", "b", "c"]), labels=("cat", "cat", "dog"))
        >>> shuffled = pets.shuffled(seed=0)
        >>> list(shuffled.ids), shuffled.labels
        (['c', 'a', 'b'], ('dog', 'cat', 'cat'))
        """
        return self._subset(self.shuffled_numbers(seed))

    def shuffled_numbers(self, seed: int) -> list[int]:
        """Return the numbers of the items in random order."""
        numbers: list[int] = np.random.default_rng(seed).permutation(len(self)).tolist()
        return numbers

    def _subset(self, numbers: list[int]) -> Collection:
        """Return the collection of these items, in this order."""
        parts = {
            name: part[numbers] if isinstance(part, np.ndarray) else [part[number] for number in numbers]
            for name, part in self.parts.items()
        }
        labels = None if self.labels is None else tuple(self.labels[number] for number in numbers)
        ids = Ids(self.ids[number] for number in numbers)
        return replace(self, ids=ids, parts=parts, labels=labels)


def content_digest(part: Part) -> str:
    """Return a digest of the content of a part: equal content, equal digest, wherever it is stored.

    Raise InputError if an item is neither text, bytes, numbers nor `Content`: a change could not be detected.
    """
    if isinstance(part, np.ndarray) and part.dtype.hasobject and part.ndim == 0:
        kind = type(part.item()).__name__
        raise InputError(f"Cannot compute a digest of an item of type {kind}; give it a method digest().")
    if isinstance(part, np.ndarray) and not part.dtype.hasobject:
        whole = np.ascontiguousarray(part)
        return digest_bytes(whole.dtype.str.encode(), repr(whole.shape).encode(), whole.tobytes())
    return digest_bytes(*_pieces(part))


def _pieces(part: Part) -> Iterator[bytes]:
    for item in part:
        if isinstance(item, str):
            yield item.encode("utf-8", "surrogatepass")
        elif isinstance(item, bytes):
            yield digest_bytes(item).encode()
        elif isinstance(item, Content):
            yield item.digest().encode()
        else:
            yield content_digest(np.asarray(item)).encode()


def _check_parts(ids: object, parts: object) -> None:
    check_type(Ids, ids=ids)
    check_type(Mapping, parts=parts)
    for name, part in cast(Mapping[str, Part], parts).items():
        check_type(str, **{"The name of a part": name})
        check_type(Sized, **{name: part})


def _with_image_files(parts: Mapping[str, Part]) -> Mapping[str, Part]:
    """Return the parts with each image path replaced by an `ImageFile`, whose digest covers the file's content."""
    images = parts.get("images", ())
    if isinstance(images, np.ndarray) or not any(isinstance(image, str | Path) for image in images):
        return parts
    return {**parts, "images": [ImageFile(Path(image)) if isinstance(image, str | Path) else image for image in images]}


def _part(owner: str, ids: Ids, parts: Mapping[str, Part], name: str) -> Part:
    if name == "ids":
        return tuple(ids)
    if name not in parts:
        raise UnknownNameError(f"part of {owner}", name, ["ids", *parts])
    return parts[name]


#: (options) -> a collection
Reader = Callable[..., Collection]
#: Collections by name; plug-ins register theirs through the entry-point group ``rankloom.collections``.
COLLECTIONS: Registry[Reader] = Registry("collection", group="rankloom.collections", entries=Callable)

#: Registers the reader of a collection, as in ``@register_collection("name")``.
register_collection = COLLECTIONS.register
