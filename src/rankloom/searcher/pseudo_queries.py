"""Pseudo-queries: passages taken out of documents, which must find what is left of these."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankloom.rankers.text.terms import SENTENCE_END, Tokenizer
from rankloom.searcher.batch import text_of
from rankloom.searcher.store import Document

MIN_WORDS = 10  # of a document
MIN_SENTENCES = 3  # below, a passage is a third of the words
MIN_PASSAGE, MAX_SENTENCE = 5, 40  # words of a sentence
MIN_THIRD = 4  # words
SHORT = 2, 12  # words of a query of rare words
DROPPED = 0.5  # of the words that the rest of the document still has
WORD = re.compile(r"\S+")

Frequency = Callable[[str], int]  #: of a stem: the number of documents with it


class Cut(NamedTuple):
    """A document without a passage, and the passage."""

    document: Document
    passage: str


@dataclass(frozen=True, slots=True)
class PseudoQueries:
    """Documents without a passage, by their numbers, and three queries made of each passage.

    The queries are the passage, its rarest words in order, and the passage without about half of the words that the
    rest of the document still has.
    """

    rests: Mapping[int, str]  #: the text of each changed document
    queries: Mapping[str, str]  #: by id
    sources: Mapping[str, int]  #: the number of the document that a query comes from

    @classmethod
    def of(
        cls, documents: Sequence[Document], fields: Sequence[str], words: Words, *, n: int, seed: int
    ) -> PseudoQueries:
        """Return the pseudo-queries of at most n documents, drawn by chance; of those with too little text, none."""
        rng = np.random.default_rng(seed)
        rests: dict[int, str] = {}
        queries: dict[str, str] = {}
        sources: dict[str, int] = {}
        for number in rng.permutation(len(documents)).tolist():
            cut = cut_out(documents[number], fields, rng)
            if cut is not None:
                rests[number] = text_of(cut.document, fields)
                for kind, text in enumerate(words.queries(cut.passage, rests[number], rng)):
                    queries[f"{number}.{kind}"] = text
                    sources[f"{number}.{kind}"] = number
            if len(rests) == n:
                break
        return cls(rests, queries, sources)


def cut_out(document: Document, fields: Sequence[str], rng: np.random.Generator) -> Cut | None:
    """Return a document without a passage of its longest text field; None if it has less than ten words."""
    if len(text_of(document, fields).split()) < MIN_WORDS:
        return None
    field = max((name for name in fields if isinstance(document.get(name), str)), key=lambda name: len(document[name]))
    text = document[field]
    spans = _sentences(text) or _thirds(text)
    start, stop = spans[int(rng.integers(len(spans)))]
    return Cut({**document, field: f"{text[:start]} {text[stop:]}".strip()}, " ".join(text[start:stop].split()))


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return where sentences of 5 to 40 words start and end; none if there are fewer than three sentences."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)] + [len(text)]
    spans = [(start, stop) for start, stop in zip([0, *ends], ends, strict=False) if text[start:stop].strip()]
    if len(spans) < MIN_SENTENCES:
        return []
    return [span for span in spans if MIN_PASSAGE <= len(text[slice(*span)].split()) <= MAX_SENTENCE]


def _thirds(text: str) -> list[tuple[int, int]]:
    """Return where each run of a third of the words starts and ends."""
    words = [match.span() for match in WORD.finditer(text)]
    length = min(max(MIN_THIRD, len(words) // 3), len(words))
    return [(words[at][0], words[at + length - 1][1]) for at in range(len(words) - length + 1)]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a collection: their stems, and how many documents have each."""

    tokenizer: Tokenizer
    frequency: Frequency

    def queries(self, passage: str, rest: str, rng: np.random.Generator) -> tuple[str, str, str]:
        """Return the three queries of a passage, given the rest of its document."""
        words = passage.split()
        stems = [self._stems(word) for word in words]
        length = int(rng.integers(SHORT[0], SHORT[1] + 1))
        known = [(min(map(self.frequency, own)), at) for at, own in enumerate(stems) if own]
        rare = [words[at] for at in sorted(at for _, at in sorted(known)[:length])]
        left = self._stems(rest)
        dropped = rng.random(len(words)) < DROPPED
        some = [word for word, own, drop in zip(words, stems, dropped, strict=True) if not (drop and own & left)]
        return passage, " ".join(rare or words), " ".join(some or words)

    def _stems(self, text: str) -> set[str]:
        return {stem for sentence in self.tokenizer.sentences(text) for stem in sentence}
