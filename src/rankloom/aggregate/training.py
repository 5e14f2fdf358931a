"""Training: `train` lets a supervised method learn from judged queries, and returns a method for `fuse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloom.aggregate.methods import METHODS, SUPERVISED, Supervised
from rankloom.aggregate.pool import fuse_pools
from rankloom.align import Missing, RankerLists, align, split_names
from rankloom.errors import InputError
from rankloom.evaluation.truth import Floats, Judged, Qrels, as_mapping, judged_by_qrels
from rankloom.ranks import Ids, Ranks
from rankloom.registry import Call

Judgments = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Trained:
    """A supervised method with what it learned: a method for `fuse`.

    Attributes
    ----------
    spelling : str
        The method as `train` takes it.
    method : Supervised
        The method with its options.
    learned : tuple of float64 arrays
        One for each ranker; the meaning depends on the method.
    rankers : tuple of str
        The names of the rankers; empty if they had none.
    """

    spelling: str
    method: Supervised
    learned: tuple[Floats, ...]
    rankers: tuple[str, ...] = ()

    def __call__(
        self, ranks: Sequence[Ranks], k: int, collection: Sequence[Ranks] | None, missing: Missing | None
    ) -> Ranks:
        """Align the ranks and fuse them."""
        if collection is not None:
            raise InputError("This method needs no collection; leave it out.")
        aligned = align(ranks, missing=missing or "error")
        if len(aligned) != len(self.learned):
            raise InputError(
                f"The method was trained on {len(self.learned)} rankers; got {len(aligned)}. "
                "Give the lists of the same rankers, in the same order."
            )
        return fuse_pools(aligned, k, lambda pool: self.method.score(pool, self.learned))

    def __repr__(self) -> str:
        return f"Trained({self.spelling}, {len(self.learned)} rankers)"


def train(
    ranks: RankerLists, qrels: Qrels, method: str | Call, *, missing: Missing | None = None, **options: Any
) -> Trained:
    """Train a supervised method on judged queries.

    Evaluate it on other queries: `cross_validate` does.

    Parameters
    ----------
    ranks : sequence of Ranks, or {name: Ranks}
        One for each ranker, as in `fuse`; queries without judgments are left out. If rankers are named, `fuse` matches
        them by name.
    qrels : {query: {item: grade}}, path of a TREC qrels file, or DataFrame
        As in `evaluate`: grades above 0 are relevant, items without a grade are not.
    method : str
        A name in `SUPERVISED`, optionally with options: ``probfuse(segments=50)``.
    missing
        As in `fuse`.
    **options
        Options of the method.

    Returns
    -------
    Trained
        To be given to `fuse` as the method.

    Examples
    --------
    >>> bm25 = Ranks.from_dict({"q1": ["a", "b"], "q2": ["c", "d"]})
    >>> dense = Ranks.from_dict({"q1": ["b", "a"], "q2": ["c", "e"]})
    >>> trained = train([bm25, dense], {"q1": {"b": 1}, "q2": {"c": 1}}, method="posfuse")
    >>> [one.tolist() for one in trained.learned]
    [[0.5, 0.5], [1.0, 0.0]]
    >>> from rankloom import fuse
    >>> new = [Ranks.from_dict({"q3": ["x", "y"]}), Ranks.from_dict({"q3": ["y", "x"]})]
    >>> fuse(new, method=trained).to_dict()
    {'q3': {'y': 1.5, 'x': 0.5}}
    """
    call = supervised_call(method, **options)
    names, lists = split_names(ranks)
    return learned_from(*judged_part(align(lists, missing=missing or "error"), qrels), call, names)


def supervised_call(method: str | Call, **options: Any) -> Call:
    """Return the call of a supervised method, checked."""
    call = Call.parse(method) if isinstance(method, str) else method
    if call.name in METHODS and call.name not in SUPERVISED:
        raise InputError(f"The method {call.name!r} learns nothing; fuse runs it, and optimize finds its options.")
    given = {**dict(SUPERVISED.checked(call, **options).options), **options}
    return Call.of(call.name, given)


def judged_part(ranks: Sequence[Ranks], qrels: Qrels) -> tuple[list[Ranks], Judgments]:
    """Return the rows of aligned ranks that are judged, and their judgments in the same order."""
    known = as_mapping(qrels)
    rows = [row for row in range(ranks[0].n_queries) if ranks[0].query_id(row) in known]
    if not rows:
        raise InputError("The qrels judge none of the queries; give the ranks matching query_ids.")
    ids = Ids(map(ranks[0].query_id, rows))
    return [r.rows(rows).replaced(query_ids=ids) for r in ranks], {query: known[query] for query in ids}


def learned_from(ranks: Sequence[Ranks], qrels: Judgments, call: Call, names: tuple[str, ...]) -> Trained:
    """Return a method trained on aligned ranks whose rows are all judged, in the order of the judgments."""
    method: Supervised = SUPERVISED.make(call)
    learned = tuple(method.learn(_judged(r, qrels), r.lengths()) for r in ranks)
    return Trained(str(call), method, learned, names)


def _judged(ranks: Ranks, qrels: Judgments) -> Judged:
    blocks = list(judged_by_qrels(ranks, qrels))
    return Judged(np.concatenate([b.gains for b in blocks]), np.concatenate([b.n_relevant for b in blocks]))
