"""The trial: is fusion better than the best single ranker here? Asked by queries that are made of the documents."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankloom.errors import InputError
from rankloom.evaluation import Evaluation, compare, evaluate
from rankloom.ranks import Ids
from rankloom.searcher.queries import item_queries
from rankloom.searcher.read_only import MEASURES, ReadOnlySearcher, systems
from rankloom.searcher.request import AUTO
from rankloom.searcher.self_test import MEASURE, MIN_SOURCES, NO_TEXT, changed, pseudo_queries, qrels
from rankloom.searcher.state import State, embedded

SEED = 1  # other documents than those of the self-test
N_ITEMS = 1000  # that are queries, with labels
N_ANSWERS = 100
Verdict = Literal["yes", "no", "cannot tell"]
MEANING = (
    "The queries are passages taken out of the documents, three for each, which count together; only the document that "
    "they come from is relevant. This "
    "favors a ranker of words a little, and hides most of what neighbors add: other relevant documents. Queries of "
    "people may differ; with judgments for some, use evaluate."
)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The outcome of a trial.

    Attributes
    ----------
    rankers : tuple of str
    texts : Evaluation
        Each ranker, RRF and the default method on the queries of each source document, by its means.
    items : Evaluation or None
        The same with documents as queries, if they have labels.
    """

    rankers: tuple[str, ...]
    texts: Evaluation
    items: Evaluation | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether fusion is better than the best single ranker, for texts as queries."""
        return _verdict(self.texts, self.best(self.texts))

    def best(self, evaluation: Evaluation) -> str:
        """Return the best single ranker."""
        return max(self.rankers, key=lambda name: evaluation.per_query[name][MEASURE].mean())

    def sentence(self, evaluation: Evaluation) -> str:
        """Return the verdict in words."""
        ours, best = evaluation.reference, self.best(evaluation)
        means = {name: float(evaluation.per_query[name][MEASURE].mean()) for name in (ours, best)}
        figures = f"NDCG@10 {means[ours]:.3f} against {means[best]:.3f}"
        return {
            "yes": f"Yes: {ours} is ahead of {best}, the best single ranker ({figures}).",
            "no": f"No: {best} alone is ahead of {ours} ({figures}). Search with it alone, or give rankers weights.",
            "cannot tell": f"Cannot tell: {ours} and {best}, the best single ranker, are too close for this many "
            f"queries ({figures}).",
        }[_verdict(evaluation, best)]

    def sections(self) -> list[tuple[str, str, Evaluation]]:
        """Return the heading, the verdict in words and the figures of each part."""
        parts = [("Texts as queries", self.texts), ("Documents as queries", self.items)]
        return [(heading, self.sentence(one), one) for heading, one in parts if one is not None]

    def __str__(self) -> str:
        parts = [f"{heading}. {sentence}\n{figures}" for heading, sentence, figures in self.sections()]
        return "\n\n".join([*parts, MEANING])


def try_out(state: State, labels: str | None = None) -> Trial:
    """Return the outcome of a trial of a searcher; `labels` is a field with the classes of its documents."""
    if labels is not None and labels not in state.store.types:
        known = ", ".join(name for name in state.store.types if name != "id")
        raise InputError(f"No document has a field {labels!r}; their fields are {known}.")
    probes = pseudo_queries(state, SEED)
    if not probes.rests:
        raise InputError(NO_TEXT)
    without = changed(state, probes, with_lists=True)
    found = ReadOnlySearcher(without).evaluate(probes.queries, qrels(state, probes), k=N_ANSWERS)
    by_source = {
        name: {measure: one.reshape(len(probes.rests), -1).mean(axis=1) for measure, one in values.items()}
        for name, values in found.per_query.items()
    }
    items = None if labels is None else _items(state, labels)
    return Trial(tuple(state.retrievers), replace(found, per_query=by_source), items)


def _items(state: State, field: str) -> Evaluation:
    """Return how well rankers and methods find documents of the same class for up to 1,000 documents."""
    given = [document.get(field) for document in embedded(state)[0]]
    labels = np.array([f"no label {at}" if label is None else f"label {label}" for at, label in enumerate(given)])
    _, classes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    drawn = np.random.default_rng(SEED).permutation(np.flatnonzero(sizes[classes] > 1))[:N_ITEMS].tolist()
    if not drawn:
        raise InputError(f"No two documents have the same value in the field {field!r}; name one with classes.")
    ids = [state.ids[number] for number in drawn]
    found = systems(state, item_queries(ids, state.ids), ("rrf", AUTO), N_ANSWERS)
    per_query = {
        name: evaluate(
            ranks.replaced(item_ids=state.ids, query_ids=Ids(ids)),
            labels=labels,
            measures=MEASURES,
            per_query=True,
            exclude_self=True,
        )
        for name, ranks in found.items()
    }
    return Evaluation(per_query, list(found)[-1], N_ANSWERS)


def _verdict(evaluation: Evaluation, best: str) -> Verdict:
    ours, single = (evaluation.per_query[name][MEASURE] for name in (evaluation.reference, best))
    if len(ours) < MIN_SOURCES:
        return "cannot tell"
    outcome = compare(ours, single, alpha=evaluation.alpha).verdict
    verdicts: dict[str, Verdict] = {"better": "yes", "worse": "no", "tie": "cannot tell"}
    return verdicts[outcome]
