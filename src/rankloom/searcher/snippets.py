"""Snippets of results: the passage around the terms of a query, and where those terms are."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rankloom.rankers.text.term_model import TermModel
from rankloom.rankers.text.terms import WORD, Tokenizer

LENGTH = 220  # of a snippet, in characters
MAX_CACHED_LENGTH = 500  # words of longer texts are not cached
MAX_TEXT_FREQUENCY, MAX_ITEM_FREQUENCY = 0.5, 0.1  # share of the texts that may have a term which is marked
MIN_FREQUENCY = 10  # texts that may have it in any case
LEAD = 60  # characters shown before the first match

#: The text, and the start and end (exclusive) of each match in it.
Snippet = tuple[str, list[tuple[int, int]]]


_tokenizer = lru_cache(maxsize=1)(Tokenizer)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return "".join(token for sentence in _tokenizer().sentences(word) for token in sentence)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return the start, end and stem of each word."""
    return tuple((*match.span(), _stem(match.group())) for match in WORD.finditer(text))


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text, as rankers see them: cat and run of "The cats were running"."""
    return frozenset(filter(None, (stem for _, _, stem in _words.__wrapped__(text))))


def rare_stems(words: str, fitted: Sequence[object], share: float) -> frozenset[str]:
    """Return the stems of a text that rankers of texts know, and that at most a share of all texts has.

    All of them count if some ranker does not look at words; none if there are no rankers.
    """
    found, models = stems(words), [model for model in fitted if isinstance(model, TermModel)]
    if not fitted or len(models) < len(fitted):
        return found if fitted else frozenset()
    return frozenset().union(*(_rare(model, found, share) for model in models))


def _rare(model: TermModel, terms: Iterable[str], share: float) -> frozenset[str]:
    numbers, frequency = model.space.vocabulary.numbers, model.statistics.frequency
    limit = max(MIN_FREQUENCY, share * model.statistics.n_texts)
    return frozenset(term for term in terms if term in numbers and frequency[numbers[term]] <= limit)


def snippet(text: str, terms: Iterable[str], length: int = LENGTH) -> Snippet:
    """Return the passage of a text around the first of some stems, and all matches in it.

    Examples
    --------
    >>> snippet("A dog and two cats.", {"cat"})
    ('A dog and two cats.', [(14, 18)])
    """
    wanted = frozenset(terms)
    words = _words(text) if len(text) <= MAX_CACHED_LENGTH else _words.__wrapped__(text)
    matches = [(start, end) for start, end, stem in words if stem in wanted] if wanted else []
    start = _start(text, matches[0][0] if matches else 0, length)
    end = min(len(text), start + length)
    if end < len(text):
        end = max(text.rfind(" ", start, end), start + length // 2)
    head, tail = "… " if start else "", " …" if end < len(text) else ""
    offset = len(head) - start
    inside = [(a + offset, b + offset) for a, b in matches if start <= a and b <= end]
    return head + text[start:end] + tail, inside


def _start(text: str, match: int, length: int) -> int:
    """Return where a snippet starts: at the start of the text if the match is near it, else after a space."""
    if len(text) <= length or match < length - LEAD:
        return 0
    space = text.rfind(" ", 0, match - LEAD)
    return max(space + 1, match - 2 * LEAD)
