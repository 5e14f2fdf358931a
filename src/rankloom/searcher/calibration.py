"""Fit the confidence of answers to a log of queries."""

from collections.abc import Sequence
from dataclasses import replace

from rankloom.errors import InputError
from rankloom.ranks import Ranks
from rankloom.searcher.answering import encoded, query_lists
from rankloom.searcher.batch import text_of
from rankloom.searcher.confidence import DEPTH, Calibration, salads
from rankloom.searcher.queries import external_queries
from rankloom.searcher.request import accepting
from rankloom.searcher.state import State, embedded

MIN_QUERIES = 20


def calibrated(state: State, queries: Sequence[str]) -> State:
    """Return the state whose confidence tells real queries from random words of its documents."""
    texts = [text_of(document, state.settings.fields) for document in embedded(state)[0]]
    real, junk = (_lists(state, given) for given in (queries, salads(texts, queries)))
    if any(ranks.scores is None for ranks in real.values()):
        raise InputError("Confidence needs rankers that give scores.")
    return replace(state, settings=replace(state.settings, calibration=Calibration.fit(real, junk)))


def _lists(state: State, texts: Sequence[str]) -> dict[str, Ranks]:
    """Return the lists by the rankers that answer texts by default."""
    batch = external_queries(list(texts), None, None)
    names = [name for name in accepting(state, batch, None) if name in state.trusted]
    return query_lists(state, encoded(state, batch, names), names, DEPTH)
