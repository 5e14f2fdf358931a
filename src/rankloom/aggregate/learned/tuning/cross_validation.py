"""`cross_validate`: train or tune on some judged queries, fuse the others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankloom.aggregate.learned.training import JudgedQueries, judged_queries
from rankloom.aggregate.learned.tuning.optimize import (
    SEARCHES,
    Learner,
    Search,
    make_learner,
    parsed_measure,
    ready,
    tune,
)
from rankloom.aggregate.learned.tuning.space import Values
from rankloom.aggregate.methods import Method
from rankloom.errors import InputError, whole_number
from rankloom.evaluation.effectiveness import evaluate
from rankloom.evaluation.measures import Measure
from rankloom.evaluation.truth import Qrels
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.align import Missing, RankerLists
from rankloom.ranks.arrays import Bools, Floats, Int64s
from rankloom.registry import Call
from rankloom.threads import Progress, check_progress


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What cross-validation found.

    Attributes
    ----------
    ranks : Ranks
        The fused lists of the judged queries, each by a method that was trained on other queries.
    scores : float64 array of shape (n_queries,)
        The measure of each of these lists, in the order of the rows.
    folds : int64 array of shape (n_queries,)
        The fold of each query, from 0.
    spellings : tuple of str
        The method of each fold.
    measure : str
    """

    ranks: Ranks
    scores: Floats
    folds: Int64s
    spellings: tuple[str, ...]
    measure: str

    @property
    def mean(self) -> float:
        """The mean of the scores."""
        return float(self.scores.mean())

    def __repr__(self) -> str:
        return (
            f"CrossValidation({self.measure}={self.mean:.4f}, {len(self.scores)} queries, {len(self.spellings)} folds)"
        )


def cross_validate(
    ranks: RankerLists,
    qrels: Qrels,
    method: str | Call | Learner,
    measure: str | Measure = "ndcg@10",
    *,
    folds: int = 5,
    k: int = 100,
    search: str | Search | None = None,
    space: Values | None = None,
    seed: int = 0,
    missing: Missing | None = None,
    progress: Progress | None = None,
) -> CrossValidation:
    """Fuse every judged query by a method that was trained or tuned on the other ones.

    The queries are split into folds at random. For each fold, the method is trained (or, with `search`, tuned) on the
    queries of all other folds, and fuses those of this one.

    Parameters
    ----------
    ranks, qrels, measure
        As in `optimize`.
    method : str
        A supervised method, or any that sees one query at a time; without `search` such a method learns nothing, and
        serves as a baseline on the same queries.
    folds : int
        At least 2, at most the number of judged queries.
    k : int
        Number of answers for each query; more if the measure needs them.
    search, space
        As in `optimize`; without `search`, options are not tuned.
    seed : int
        Of the split.
    missing, progress
        As in `fuse`; progress is called after every fold.

    Examples
    --------
    >>> good = Ranks.from_dict({f"q{i}": {"a": 2.0, "b": 1.0} for i in range(6)})
    >>> bad = Ranks.from_dict({f"q{i}": {"b": 2.0, "a": 1.0} for i in range(6)})
    >>> qrels = {f"q{i}": {"a": 1} for i in range(6)}
    >>> cross_validate([bad, good], qrels, "posfuse", "mrr", folds=3)
    CrossValidation(mrr=1.0000, 6 queries, 3 folds)
    """
    check_progress(progress)
    tuner = None if search is None else SEARCHES.make(search)
    learner, wanted = make_learner(method), parsed_measure(measure)
    queries = judged_queries(ranks, qrels, missing)
    split = _split(len(queries), folds, seed)
    depth = max(whole_number("k", k), wanted.reach or 1)
    fused, spellings = [], []
    for fold in range(folds):
        fuser, spelling = _learned(_part(queries, split != fold), learner, wanted, tuner, space)
        fused.append(fuser.fuse(_part(queries, split == fold).ranks, depth))
        spellings.append(spelling)
        if progress:
            progress("Cross-validating", fold + 1, folds)
    whole = _joined(fused, split, queries.ranks[0])
    scores = evaluate(whole, qrels=queries.qrels, measures=wanted, per_query=True)[str(wanted)]
    return CrossValidation(whole, scores, split, tuple(spellings), str(wanted))


def _learned(
    queries: JudgedQueries, method: Learner, measure: Measure, search: Search | None, space: Values | None
) -> tuple[Method, str]:
    """Return the method trained or tuned on these queries, and how it is spelled."""
    if search is None:
        return ready(queries, method), str(method)
    tuned = tune(queries, method, measure, search, space)
    return tuned.method, tuned.spelling


def _split(n_queries: int, folds: int, seed: int) -> Int64s:
    """Return the fold of each query; folds differ by at most one query in size."""
    if not 2 <= whole_number("folds", folds) <= n_queries:
        raise InputError(f"folds must be from 2 to the number of judged queries, {n_queries}; got {folds}.")
    order = np.random.default_rng(whole_number("seed", seed, 0)).permutation(n_queries)
    split = np.empty(n_queries, np.int64)
    split[order] = np.arange(n_queries) % folds
    return split


def _part(queries: JudgedQueries, which: Bools) -> JudgedQueries:
    return queries.part(np.flatnonzero(which).tolist())


def _joined(fused: Sequence[Ranks], split: Int64s, like: Ranks) -> Ranks:
    """Return the lists of all folds in the order of the queries."""
    width = max(r.depth for r in fused)
    items = np.full((len(split), width), PAD, np.int32)
    scores = np.zeros(items.shape, np.float32)
    for fold, part in enumerate(fused):
        items[split == fold, : part.depth] = part.items
        scores[split == fold, : part.depth] = part.scores
    return like.replaced(items=items, scores=scores, kind=None, recall=None)
