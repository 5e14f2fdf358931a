"""Training: `train` lets a supervised method learn from judged queries, and returns a method for `fuse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankloom.aggregate.methods import METHODS, SUPERVISED, Method, QueryMethod, Supervised
from rankloom.errors import InputError
from rankloom.evaluation.truth import Judged, Qrels, as_mapping, judged_by_qrels
from rankloom.ranks import Ids, Ranks
from rankloom.ranks.align import AlignedRanks, Missing, RankerLists, align, split_names
from rankloom.ranks.arrays import Floats
from rankloom.ranks.pool import fuse_pools
from rankloom.registry import Call, Options


class Trained(QueryMethod, eq=False):
    """A supervised method with what it learned: a method for `fuse`.

    Attributes
    ----------
    method : Supervised
        The method with its options.
    learned : tuple of float64 arrays
        One for each ranker; the meaning depends on the method.
    rankers : tuple of str
        The names of the rankers; empty if they had none.
    """

    method: Supervised
    learned: tuple[Floats, ...]
    rankers: tuple[str, ...] = ()

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        if len(ranks) != len(self.learned):
            raise InputError(
                f"The method was trained on {len(self.learned)} rankers; got {len(ranks)}. "
                "Give the lists of the same rankers, in the same order."
            )
        return fuse_pools(ranks, k, lambda pool: self.method.score(pool, self.learned))

    def __str__(self) -> str:
        return str(self.method)

    __eq__, __hash__ = object.__eq__, object.__hash__  # arrays have no equality

    def __repr__(self) -> str:
        return f"Trained({self.method}, {len(self.learned)} rankers)"


def train(
    ranks: RankerLists, qrels: Qrels, method: str | Call | Supervised, *, missing: Missing | None = None, **options: Any
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
    method : str or Supervised
        A name in `SUPERVISED`, optionally with options: ``probfuse(segments=50)``; or such a method:
        ``ProbFuse(segments=50)``.
    missing
        As in `fuse`.
    **options
        Options of a method that is given by name.

    Returns
    -------
    Trained
        To be given to `fuse` as the method.

    Examples
    --------
    >>> bm25 = Ranks.from_dict({"q1": ["a", "b"], "q2": ["c", "d"]})
    >>> dense = Ranks.from_dict({"q1": ["b", "a"], "q2": ["c", "e"]})
    >>> trained = train([bm25, dense], {"q1": {"b": 1}, "q2": {"c": 1}}, method="posfuse")
    >>> [shares.tolist() for shares in trained.learned]
    [[0.5, 0.5], [1.0, 0.0]]
    >>> from rankloom import fuse
    >>> new = [Ranks.from_dict({"q3": ["x", "y"]}), Ranks.from_dict({"q3": ["y", "x"]})]
    >>> fuse(new, method=trained).to_dict()
    {'q3': {'y': 1.5, 'x': 0.5}}
    """
    return judged_queries(ranks, qrels, missing).train(make_supervised(method, **options))


def make_supervised(method: str | Call | Supervised, **options: Any) -> Supervised:
    """Return the supervised method that a spelling describes."""
    if not isinstance(method, Options):
        method = Call.given(method, "method")
    name = method.name if isinstance(method, Call) else ""
    if isinstance(method, Method) or (name in METHODS and name not in SUPERVISED):
        raise InputError(f"The method {str(method)!r} learns nothing; fuse runs it, and optimize finds its options.")
    made: Supervised = SUPERVISED.make(method, **options)
    return made


@dataclass(frozen=True)
class JudgedQueries:
    """The lists of judged queries by several rankers, to learn from.

    Attributes
    ----------
    ranks : AlignedRanks
        With ids of the queries.
    qrels : {query: {item: grade}}
        Of these queries, in the order of the rows.
    rankers : tuple of str
        The names of the rankers; empty if they have none.
    """

    ranks: AlignedRanks
    qrels: Mapping[str, Mapping[str, int]]
    rankers: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.qrels)

    @cached_property
    def judged(self) -> list[Judged]:
        """The judged lists of each ranker."""
        return [_joined(list(judged_by_qrels(r, self.qrels))) for r in self.ranks]

    def part(self, rows: Sequence[int]) -> JudgedQueries:
        """Return some of the queries."""
        queries = [self.ranks[0].query_id(row) for row in rows]
        cut = AlignedRanks(r.rows(rows) for r in self.ranks)
        return JudgedQueries(cut, {query: self.qrels[query] for query in queries}, self.rankers)

    def train(self, method: Supervised) -> Trained:
        """Return a supervised method trained on these queries."""
        lists = zip(self.judged, self.ranks, strict=True)
        learned = tuple(method.learn(one, r.lengths()) for one, r in lists)
        return Trained(method=method, learned=learned, rankers=self.rankers)


def judged_queries(ranks: RankerLists, qrels: Qrels, missing: Missing | None) -> JudgedQueries:
    """Return the queries that are judged and have lists.

    Raises
    ------
    InputError
        If there are none.
    """
    names, lists = split_names(ranks)
    aligned, known = align(lists, missing="error" if missing is None else missing), as_mapping(qrels)
    ids = Ids(map(aligned[0].query_id, range(aligned[0].n_queries)))
    rows = [row for row, query in enumerate(ids) if query in known]
    if not rows:
        raise InputError("The qrels judge none of the queries; give the ranks matching query_ids.")
    whole = AlignedRanks(r.replaced(query_ids=ids, kind=None) for r in aligned)
    return JudgedQueries(whole, known, names).part(rows)


def _joined(blocks: list[Judged]) -> Judged:
    return Judged(
        np.concatenate([block.gains for block in blocks]), np.concatenate([block.n_relevant for block in blocks])
    )
