"""Random cases: few and always the same in CI, many and new ones by `make fuzz`; and collections that are cheap."""

import math
import os
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from brute import padded

SEEDS = st.integers(0, 2**32)


def cases(variable, default, tests):
    """Return the Hypothesis settings of each of several tests that share the number of cases in a variable."""
    count = int(os.environ.get(variable, default))
    return settings(
        max_examples=max(1, math.ceil(count / tests)),
        derandomize=variable not in os.environ,
        suppress_health_check=list(HealthCheck),
    )


def seeded_ranks(n_items, n_queries, scores=None):
    """Ranks made from a single drawn number, ten times as fast as `strategies.ranks`, which draws every item."""
    return SEEDS.map(lambda seed: _ranks(Random(seed), n_items, n_queries, scores))


@st.composite
def seeded_collections(draw, max_length=None, scores=None):
    """Collection ranks of one to three rankers, as `strategies.collections`; the sizes shrink, the lists do not."""
    n, m, random = draw(st.integers(1, 10)), draw(st.integers(1, 3)), Random(draw(SEEDS))
    return [_ranks(random, n, n, scores, max_length, own=True) for _ in range(m)]


def _ranks(random, n_items, n_queries, scores, max_length=None, *, own=False):
    """Return random ranks: full, short and empty lists, ties, and rows that mostly begin with their own item."""
    limit = n_items if max_length is None else min(max_length, n_items)
    shortest = random.choice([0, 0, 1, limit // 2, limit])
    first = random.choice([1.0, 1.0, 0.7, 0.0])  # how often an item begins its own list
    rows = [random.sample(range(n_items), random.randint(min(shortest, limit), limit)) for _ in range(n_queries)]
    for i, row in enumerate(rows):
        if own and row and random.random() < first:
            row[:] = ([i] + [item for item in row if item != i])[: len(row)]
    scored = random.random() < 0.5 if scores is None else scores
    levels = random.choice([1, 3, 17])  # few, so that ties are common; all are exact in float32
    values = [sorted((random.randrange(levels) / 4 - 2 for _ in row), reverse=True) for row in rows]
    return padded(rows, n_items, values if scored else None)
