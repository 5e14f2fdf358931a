"""Texts as terms: tokens, stems, and sparse counts of words and of word pairs.

The stop words are the closed word classes of English (articles, pronouns, prepositions, conjunctions, auxiliaries,
common adverbs of degree, place and time). Stems are those of Porter's algorithm of 1980 (Snowball's "porter", not its
revision "english"). Bare numbers are dropped by default: in abstracts they are counts and percentages, which say little
about the topic.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankloom.errors import InputError
from rankloom.ranks.arrays import Array, Int32s, Int64s

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORD = re.compile(r"[^\W_]*[^\W\d_][^\W_]*")  # letters and digits of any alphabet, at least one letter
CLITIC = re.compile(r"['’](?:s|t|d|m|ll|re|ve)\b")  # patient's, isn't, they're
SENTENCE_END = re.compile(r"[.!?]+(?:[\"')\]]*)(?=\s|$)|\n+")  # not the period in 1.9
PIECE = re.compile(rf"[^\W_]+|{SENTENCE_END.pattern}")  # a word or number, or the end of a sentence
DROPPED, END = "", "."  # what a piece that is no word becomes
MAX_KNOWN = 100_000  # pieces whose tokens are kept: about 20 MB
UNKNOWN = -1  # number of words that are not in the collection

_FUNCTION_WORDS = """
a an the this that these those such same other another each every either neither both all any some no none
one ones few many much more most several enough own
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves who whom whose which what whoever whatever whichever
someone somebody something anyone anybody anything everyone everybody everything nobody nothing
aboard about above across after against along among amongst around as at before behind below beneath beside besides
between beyond by despite down during except for from in inside into like near of off on onto out outside over per
since than through throughout to toward towards under underneath until till unto up upon via versus vs with within
without
and but or nor so yet if because although though unless while whereas whether lest
am is are was were be been being have has had having do does did doing done can could may might must shall should
will would ought cannot let lets
aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren wouldn
not only very too also just even still again already ever never once twice here there where when why how then thus
hence therefore however moreover furthermore otherwise nevertheless nonetheless meanwhile else rather quite almost
perhaps maybe indeed further now often always sometimes usually well
etc ie eg
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """Splits texts into sentences and words: lower case, no stop words, each distinct word stemmed once.

    Examples
    --------
    >>> Tokenizer(stem=False).sentences("The patient's 2 scans. None were normal!")
    [['patient', 'scans'], ['normal']]
    """

    stem: bool = True  #: whether to replace words by Porter stems
    stop_words: Collection[str] = STOP_WORDS  #: removed before stemming; lower case
    numbers: bool = False  #: whether tokens without a letter, such as 26, are words; B12 always is
    _tokens: _Tokens = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop_words", frozenset(self.stop_words))
        object.__setattr__(self, "_tokens", _Tokens(self.stem, self.numbers, self.stop_words))

    def sentences(self, text: str) -> list[list[str]]:
        """Return the words of each sentence in order, without empty sentences."""
        tokens = filter(None, map(self._tokens.__getitem__, self.pieces(text)))
        return [list(words) for is_end, words in groupby(tokens, END.__eq__) if not is_end]

    def pieces(self, text: str) -> list[str]:
        """Return the words, numbers and ends of sentences of a text, in lower case."""
        plain = unicodedata.normalize("NFKC", text).lower()
        return PIECE.findall(CLITIC.sub("", plain) if "'" in plain or "’" in plain else plain)


class _Tokens(dict[str, str]):
    """From pieces of texts to their tokens: the stem of a word, END or DROPPED. The first MAX_KNOWN are kept."""

    def __init__(self, stem: bool, numbers: bool, stop_words: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(stop_words, DROPPED))
        self._stems, self._kept = stem, PIECE if numbers else WORD

    def __missing__(self, piece: str) -> str:
        token = self._token(piece)
        if len(self) < MAX_KNOWN:  # queries may have any words, as long as a server runs
            self[piece] = token
        return token

    def _token(self, piece: str) -> str:
        if not piece[0].isalnum():
            return END
        return self._stem(piece) if self._kept.match(piece) else DROPPED

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        return porter() if self._stems else str


class _Numbers(dict[str, int]):
    """From pieces of texts to the numbers of their words, by first occurrence; known pieces run no Python code."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens, self.words = tokens, {DROPPED: -2, END: -1}

    def __missing__(self, piece: str) -> int:
        number = self[piece] = self.words.setdefault(self._tokens[piece], len(self.words) - 2)
        return number


def porter() -> Callable[[str], str]:
    """Return a function from a word to its Porter stem (1980), doi:10.1108/eb046814."""
    from Stemmer import Stemmer

    stem: Callable[[str], str] = Stemmer("porter").stemWord
    return stem


class Tokens(NamedTuple):
    """The words of several texts, concatenated, by number."""

    words: Int32s  # UNKNOWN for words that are not in the collection
    texts: Int32s  # text of each word
    sentences: Int32s  # sentence of each word, numbered across all texts
    n_texts: int


class Texts(tuple[str, ...]):
    """Texts that each tokenizer splits once, for all rankers that are given the same `Texts`.

    Examples
    --------
    >>> texts = Texts(["cough, fever", "fever"])
    >>> words, tokens = texts.tokens(Tokenizer())
    >>> words, tokens.words.tolist(), texts.tokens(Tokenizer())[1] is tokens
    (['cough', 'fever'], [0, 1, 1], True)
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._tokens: dict[Tokenizer, tuple[list[str], Tokens]] = {}

    def tokens(self, tokenizer: Tokenizer) -> tuple[list[str], Tokens]:
        """Return the distinct words in the order of their first occurrence, and the tokens by these numbers."""
        found = self._tokens.get(tokenizer)
        if found is None:
            found = self._tokens[tokenizer] = _tokenized(self, tokenizer)
        return found


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words of a collection, numbered in alphabetical order.

    Examples
    --------
    >>> vocabulary, tokens = Vocabulary.fit(["fever and cough", "cough, fever, cough"])
    >>> list(vocabulary.numbers), vocabulary.word_counts(tokens).toarray().tolist()
    (['cough', 'fever'], [[1, 1], [2, 1]])
    """

    numbers: dict[str, int]
    tokenizer: Tokenizer

    @classmethod
    def fit(cls, texts: Sequence[str], tokenizer: Tokenizer | None = None) -> tuple[Vocabulary, Tokens]:
        """Return the vocabulary of these texts, and their tokens."""
        tokenizer, texts = tokenizer or Tokenizer(), check_texts(texts, "texts")
        words, _ = texts.tokens(tokenizer)
        vocabulary = cls({word: number for number, word in enumerate(sorted(words))}, tokenizer)
        return vocabulary, vocabulary.tokens(texts)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of texts; words that are not in the vocabulary are UNKNOWN."""
        words, tokens = check_texts(texts, "texts").tokens(self.tokenizer)
        numbers = np.fromiter((self.numbers.get(word, UNKNOWN) for word in words), np.int32, len(words))
        return tokens._replace(words=numbers[tokens.words])

    def word_counts(self, tokens: Tokens) -> csr_matrix:
        """Return the frequency of each word in each text, of shape (n_texts, n_words)."""
        known = tokens.words != UNKNOWN
        return _counts(tokens.texts[known], tokens.words[known], (tokens.n_texts, len(self.numbers)))

    def pairs(self, tokens: Tokens, *, within: str = "text") -> Pairs:
        """Return the pairs of consecutive words, within a text or within a sentence."""
        unit = tokens.texts if within == "text" else tokens.sentences
        first, second = tokens.words[:-1], tokens.words[1:]
        valid = (unit[:-1] == unit[1:]) & (first != UNKNOWN) & (second != UNKNOWN)
        codes = first[valid].astype(np.int64) * len(self.numbers) + second[valid]
        return Pairs(codes, tokens.texts[:-1][valid], tokens.n_texts)


@dataclass(frozen=True, eq=False)
class TermSpace:
    """The terms of a collection: its words, its word pairs, or both.

    Examples
    --------
    >>> space, counts = TermSpace.fit(["fever, cough"], "words and pairs")
    >>> counts.toarray().tolist(), space.counts(["cough, fever, chill"]).toarray().tolist()
    ([[1, 1, 1]], [[1, 1, 0]])
    """

    vocabulary: Vocabulary
    pairs: Int64s  # codes, sorted
    terms: str
    within: str

    @classmethod
    def fit(
        cls, texts: Sequence[str], terms: str, tokenizer: Tokenizer | None = None, *, within: str = "text"
    ) -> tuple[TermSpace, csr_matrix]:
        """Return the terms of these texts, and the frequency of each term in each text."""
        vocabulary, tokens = Vocabulary.fit(texts, tokenizer)
        pairs = np.unique(vocabulary.pairs(tokens, within=within).codes) if "pairs" in terms else np.empty(0, np.int64)
        space = cls(vocabulary, pairs, terms, within)
        return space, space._count(tokens)

    def counts(self, texts: Sequence[str]) -> csr_matrix:
        """Return the frequency of each of the collection's terms in other texts."""
        return self._count(self.vocabulary.tokens(texts))

    def _count(self, tokens: Tokens) -> csr_matrix:
        from scipy.sparse import hstack

        parts = [self.vocabulary.word_counts(tokens)] if "words" in self.terms else []
        if "pairs" in self.terms:
            parts.append(self.vocabulary.pairs(tokens, within=self.within).counts(self.pairs))
        if len(parts) == 1:
            return parts[0]
        counts = hstack(parts, format="csr")
        counts.sort_indices()
        return counts


class Pairs(NamedTuple):
    """Codes of word pairs (first * n_words + second), and the text of each."""

    codes: Int64s
    texts: Int32s
    n_texts: int

    def counts(self, known: Int64s) -> csr_matrix:
        """Return the frequency of each of the `known` codes (sorted) in each text."""
        columns = np.minimum(np.searchsorted(known, self.codes), max(len(known) - 1, 0))
        found = known[columns] == self.codes if len(known) else np.zeros(len(columns), bool)
        return _counts(self.texts[found], columns[found], (self.n_texts, len(known)))


def check_texts(texts: Sequence[str], name: str) -> Texts:
    """Return texts that are tokenized once. Raise InputError if they are not a sequence of strings."""
    if isinstance(texts, Texts):
        return texts
    if isinstance(texts, str):
        raise InputError(f"{name} must be a list of texts; got one string. Put it in a list.")
    checked = Texts(texts)
    odd = next((number for number, text in enumerate(checked) if not isinstance(text, str)), None)
    if odd is not None:
        raise InputError(f"{name} must be strings; number {odd} is of type {type(checked[odd]).__name__}.")
    return checked


def contents_of(part: str, items: Any) -> Any:
    """Return the items of a part of a collection as rankers take them: texts as `Texts`."""
    return check_texts(items, part) if part == "texts" else items


def _tokenized(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[list[str], Tokens]:
    numbers_of, found, ends = _Numbers(tokenizer._tokens), array("i"), np.zeros(len(texts) + 1, np.int64)
    for number, text in enumerate(texts, 1):
        found.extend(map(numbers_of.__getitem__, tokenizer.pieces(text)))
        ends[number] = len(found)
    numbers = np.frombuffer(found, np.int32) if found else np.zeros(0, np.int32)
    text_of = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(ends))
    kept, unit = numbers >= 0, np.cumsum(numbers == -1) + text_of  # both ends of sentences and of texts separate
    sentence_of = np.cumsum(np.diff(unit[kept], prepend=unit[kept][:1]) > 0, dtype=np.int32)
    return list(numbers_of.words)[2:], Tokens(numbers[kept], text_of[kept], sentence_of, len(texts))


def _counts(rows: Array, columns: Array, shape: tuple[int, int]) -> csr_matrix:
    """Return how often each column occurs in each row; rows ascend."""
    from scipy.sparse import csr_matrix

    ptr = np.searchsorted(rows, np.arange(shape[0] + 1))
    counts = csr_matrix((np.ones(len(rows), np.int32), columns, ptr), shape)
    counts.sum_duplicates()
    return counts
