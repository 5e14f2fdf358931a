"""The self-test of a searcher: do its rankers find documents by a passage that was taken out of them?"""

from dataclasses import replace
from typing import Any

import numpy as np

from rankloom.errors import InputError
from rankloom.evaluation import evaluate
from rankloom.rankers.ranking import is_built_in
from rankloom.rankers.text.bag_of_words import Okapi
from rankloom.rankers.text.term_model import TermModel
from rankloom.registry import Call
from rankloom.searcher.batch import text_of
from rankloom.searcher.guard import Guard
from rankloom.searcher.pseudo_queries import PseudoQueries, Words
from rankloom.searcher.read_only import ReadOnlySearcher
from rankloom.searcher.retriever import Model
from rankloom.searcher.state import State, embedded
from rankloom.searcher.updates import merged_parts, rebuilt_lists
from rankloom.threads import report

N_SOURCES = 200  # documents that pseudo-queries are made of
MIN_SOURCES = 30  # fewer say too little
MIN_DOCUMENTS = 1000  # of a searcher that is tested without being asked to
MEASURE = "ndcg@10"  # with one relevant document, 1 / log2(1 + its position)
NO_TEXT = "A test takes passages out of the documents, and none has enough text for that: at least ten words."
FLOOR = 0.01  # added to each quality


def tested(state: State, self_test: bool | None) -> State:
    """Return the state with the outcome of a self-test, if there is to be one: by default, where it costs little."""
    if self_test is None:
        models = embedded(state)[1].values()
        free = len(models) > 1 and len(state) >= MIN_DOCUMENTS and all(map(_is_ours, models))
        return _with(state, guard_of(state, min_sources=MIN_SOURCES)) if free else state
    guard = guard_of(state, min_sources=1) if self_test else None
    if self_test and guard is None:
        raise InputError(NO_TEXT)
    return _with(state, guard)


def retested(state: State) -> State:
    """Return the state with its self-test made again, if there was one and all encoders are here."""
    models = embedded(state)[1].values()
    again = state.settings.guard is not None and all(map(_ranks_new_texts, models))
    return _with(state, guard_of(state, min_sources=1)) if again else state


def _with(state: State, guard: Guard | None) -> State:
    return replace(state, settings=replace(state.settings, guard=guard))


def guard_of(state: State, *, min_sources: int) -> Guard | None:
    """Return the outcome of a self-test; None if fewer documents than these have enough text for one."""
    report("Testing the rankers", 0, 1)
    probes = pseudo_queries(state, seed=0)
    if len(probes.rests) < min_sources:
        return None
    found = ReadOnlySearcher(changed(state, probes)).lists(probes.queries, depth=10)
    truth = qrels(state, probes)
    quality = {name: evaluate(ranks, qrels=truth, measures=MEASURE)[MEASURE] + FLOOR for name, ranks in found.items()}
    report("Testing the rankers", 1, 1)
    return Guard(quality, len(probes.rests))


def pseudo_queries(state: State, seed: int) -> PseudoQueries:
    """Return the pseudo-queries of a searcher; raise InputError if its rankers or documents allow none."""
    documents, models = embedded(state)
    odd = next((name for name, model in models.items() if not _ranks_new_texts(model)), None)
    if odd is not None:
        raise InputError(
            f"A test needs rankers of texts that accept new documents and queries; {odd!r} does not. Leave it out."
        )
    fields = state.settings.fields
    return PseudoQueries.of(documents, fields, _words(state), n=N_SOURCES, seed=seed)


def changed(state: State, probes: PseudoQueries, *, with_lists: bool = False) -> State:
    """Return the state in which the sources of pseudo-queries lack their passages, with lists of items if wanted."""
    documents, models = merged_parts(state)
    order = np.arange(len(state))
    order[list(probes.rests)] = len(state) + np.arange(len(probes.rests))
    texts = list(probes.rests.values())
    for name, model in models.items():
        models[name] = replace(model, fitted=model.updatable.appended(texts).subset(order), stored={})
    lists = rebuilt_lists(models, state.settings.depth) if with_lists else {}
    return State.of_documents(documents, models, lists, state.settings)


def qrels(state: State, probes: PseudoQueries) -> dict[str, dict[str, int]]:
    """Return the judgments of pseudo-queries: the only relevant document is the one that they come from."""
    return {query: {state.ids[number]: 1} for query, number in probes.sources.items()}


def _words(state: State) -> Words:
    """Return the words of the documents: those of a ranker that counts them, if there is one."""
    documents, models = embedded(state)
    fitted: Any = next((model.fitted for model in models.values() if _counts_words(model)), None)
    if fitted is None:
        fitted = Okapi().fit([text_of(document, state.settings.fields) for document in documents])
    numbers, frequency = fitted.space.vocabulary.numbers, fitted.statistics.frequency
    return Words(
        fitted.space.vocabulary.tokenizer, lambda stem: int(frequency[numbers[stem]]) if stem in numbers else 0
    )


def _counts_words(model: Model) -> bool:
    return isinstance(model.fitted, TermModel) and "words" in model.fitted.space.terms


def _ranks_new_texts(model: Model) -> bool:
    return model.part == "texts" and model.ranks_items and model.answers_external


def _is_ours(model: Model) -> bool:
    """Return True if a ranker can be tested, and its encoder costs no more than time."""
    spelled = model.spelling is not None and is_built_in(model.ranker, Call.parse(model.spelling).name)
    return spelled and _ranks_new_texts(model)
