"""Hypothesis strategies: random ranks, and the ranks of several rankers over one collection."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from rankloom import Ranks
from rankloom.ranks import PAD

#: Few values, so that ties are common; all are exact in float32.
SCORES = st.integers(-8, 8).map(lambda n: n / 4)
SIZES = st.integers(0, 12)
ROWS = st.integers(0, 6)
COLLECTION_SIZES = st.integers(1, 10)
RANKERS = st.integers(1, 3)


def examples(count: int) -> settings:
    """Settings of a test that takes `count` examples in `make check`, and a quarter of them in `make test`."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100))


def _ranks(rows: list[list[int]], scores: list[list[float]] | None, n_items: int) -> Ranks:
    depth = max(map(len, rows), default=0)
    items = np.full((len(rows), depth), PAD, np.int32)
    values = np.zeros((len(rows), depth), np.float32)
    for q, row in enumerate(rows):
        items[q, : len(row)] = row
        if scores is not None:
            values[q, : len(row)] = sorted(scores[q], reverse=True)
    return Ranks(items, None if scores is None else values, n_items)


@st.composite
def _lists(draw, n_items: int, min_length: int, max_length: int | None) -> list[int]:
    limit = n_items if max_length is None else min(max_length, n_items)
    length = draw(st.integers(min(min_length, limit), limit))
    return draw(st.permutations(range(n_items)))[:length]


@st.composite
def _scores(draw, rows: list[list[int]], wanted: bool | None) -> list[list[float]] | None:
    if not (draw(st.booleans()) if wanted is None else wanted):
        return None
    return [draw(st.lists(SCORES, min_size=len(row), max_size=len(row))) for row in rows]


@st.composite
def ranks(
    draw,
    *,
    n_items: int | st.SearchStrategy[int] = SIZES,
    n_queries: int | st.SearchStrategy[int] = ROWS,
    min_length: int = 0,
    max_length: int | None = None,
    scores: bool | None = None,
) -> Ranks:
    """Ranks with lists of different lengths; `scores` True, False, or None for either."""
    n = n_items if isinstance(n_items, int) else draw(n_items)
    count = n_queries if isinstance(n_queries, int) else draw(n_queries)
    rows = [draw(_lists(n, min_length, max_length)) for _ in range(count)]
    return _ranks(rows, draw(_scores(rows, scores)), n)


@st.composite
def collections(
    draw,
    *,
    m: int | st.SearchStrategy[int] = RANKERS,
    n_items: int | st.SearchStrategy[int] = COLLECTION_SIZES,
    max_length: int | None = None,
    scores: bool | None = None,
) -> list[Ranks]:
    """Collection ranks of m rankers over the same items.

    Row i usually begins with item i; in some rows it is elsewhere or absent. Lists have different lengths, some are
    empty.
    """
    n = n_items if isinstance(n_items, int) else draw(n_items)
    rankers = m if isinstance(m, int) else draw(m)
    return [draw(_collection(n, max_length, scores)) for _ in range(rankers)]


@st.composite
def _collection(draw, n: int, max_length: int | None, scores: bool | None) -> Ranks:
    rows = [draw(_lists(n, 0, max_length)) for _ in range(n)]
    as_drawn = draw(st.sets(st.integers(0, n - 1), max_size=n // 3))
    for i, row in enumerate(rows):
        if row and i not in as_drawn:
            row[:] = ([i] + [item for item in row if item != i])[: len(row)]
    return _ranks(rows, draw(_scores(rows, scores)), n)
