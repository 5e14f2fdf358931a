"""Texts of results: the passage around the words that a query has too, and where those words are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rankloom.errors import MissingExtraError
from rankloom.rankers.words import WORD, Tokenizer

LENGTH = 220  # of a passage, in characters
SHORT = 500  # the words of texts up to this length are kept
BEFORE = 60  # of them before the first word in common

#: The passage, and the first and last character (not included) of each word in common.
Passage = tuple[str, list[tuple[int, int]]]


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    try:
        return Tokenizer()
    except MissingExtraError:  # words are then compared as they are
        return Tokenizer(stem=False)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return "".join(token for sentence in _tokenizer().sentences(word) for token in sentence)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return where each word begins and ends, and its stem."""
    return tuple((*match.span(), _stem(match.group())) for match in WORD.finditer(text))


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text, as rankers see them.

    Examples
    --------
    >>> sorted(stems("The cats were running"))
    ['cat', 'run']
    """
    return frozenset(filter(None, (stem for _, _, stem in _words.__wrapped__(text))))


def passage(text: str, wanted: Iterable[str], length: int = LENGTH) -> Passage:
    """Return the passage of a text around the first of some stems, and where those are in it.

    Examples
    --------
    >>> passage("A dog and two cats.", {"cat"})
    ('A dog and two cats.', [(14, 18)])
    """
    sought = frozenset(wanted)
    words = _words(text) if len(text) <= SHORT else _words.__wrapped__(text)
    hits = [(start, end) for start, end, stem in words if stem in sought] if sought else []
    start = _start(text, hits[0][0] if hits else 0, length)
    end = min(len(text), start + length)
    if end < len(text):
        end = max(text.rfind(" ", start, end), start + length // 2)
    head, tail = "… " if start else "", " …" if end < len(text) else ""
    moved = len(head) - start
    inside = [(a + moved, b + moved) for a, b in hits if start <= a and b <= end]
    return head + text[start:end] + tail, inside


def _start(text: str, hit: int, length: int) -> int:
    """Return where a passage begins: at the text's own beginning if the word is near it, else after a space."""
    if len(text) <= length or hit < length - BEFORE:
        return 0
    space = text.rfind(" ", 0, hit - BEFORE)
    return max(space + 1, hit - 2 * BEFORE)
