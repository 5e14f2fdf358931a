"""The effectiveness of ranks by labels or judgments: `evaluate`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, RankloomWarning, brief, check_choice, check_flag, is_iterable
from rankloom.evaluation.measures import Measure
from rankloom.evaluation.run_checks import missing_queries
from rankloom.evaluation.significance import UNITS, Units, class_means
from rankloom.evaluation.truth import (
    Judged,
    Qrels,
    Ties,
    as_mapping,
    classes_of,
    judged_by_labels,
    judged_by_qrels,
    ordered,
)
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Floats


class Truth(TypedDict, total=False):
    """The options of `evaluate` but `per_query`, on which its type depends."""

    labels: ArrayLike | None
    query_labels: ArrayLike | None
    qrels: Qrels | None
    measures: str | Measure | Iterable[str | Measure]
    ties: Ties
    exclude_self: bool
    units: Units


@overload
def evaluate(ranks: Ranks, *, per_query: Literal[False] = ..., **truth: Unpack[Truth]) -> dict[str, float]: ...


@overload
def evaluate(ranks: Ranks, *, per_query: Literal[True], **truth: Unpack[Truth]) -> dict[str, Floats]: ...


def evaluate(
    ranks: Ranks,
    *,
    labels: ArrayLike | None = None,
    query_labels: ArrayLike | None = None,
    qrels: Qrels | None = None,
    measures: str | Measure | Iterable[str | Measure] = ("ndcg@10",),
    per_query: bool = False,
    ties: Ties = "given",
    exclude_self: bool = False,
    units: Units = "queries",
) -> dict[str, float] | dict[str, Floats]:
    """Evaluate ranks by labels or by qrels.

    Parameters
    ----------
    ranks : Ranks
        At least one row; an empty list scores 0.
    labels : array of shape (n_items,), optional
        Class of each item, numbers or strings: items of the query's class are relevant. Without `query_labels`
        the queries are items: matched by id if both have ids, else row i is item i. The query itself is then
        relevant, and counts in the size of its class, as is usual in image retrieval.
    query_labels : array of shape (n_queries,), optional
        Class of each query, for external queries.
    qrels : {query: {item: grade}}, path of a TREC qrels file, or DataFrame, optional
        Grades above 0 are relevant; a pandas or polars frame has the columns query, item and grade. The mean is over
        all judged queries, as with trec_eval's ``-c``: queries missing from the ranks or without relevant items count
        0, the former with a `RankloomWarning`; queries without judgments are left out.
    measures : str or Measure, or several
        ``ndcg[@k]``, ``map[@k]``, ``p@k``, ``recall@k``, ``f1@k``, ``mrr[@k]``, ``hits@k``, ``success@k``,
        ``hit_rate@k``, ``r-precision``, ``bpref``, ``rbp(p=0.8)[@k]``, ``err(max=4)[@k]``, ``iprec@recall``, ``ns``,
        ``bullseye``; see `MEASURES`.
    per_query : bool
        Return the value of each query instead of the mean: with labels in the order of the rows, with qrels in the
        order of the qrels, so that the arrays of two systems can be paired.
    ties : {"given", "trec"}
        Keep the order of the lists, or sort items of equal score by descending id, as trec_eval does.
    exclude_self : bool
        Whether to leave an item out of its own list and of its class, where items are the queries.
    units : {"queries", "classes"}
        Of labels: with ``classes``, values are the means of the queries of each class, in the order of the classes,
        and the mean is over classes.

    Returns
    -------
    dict
        From the measure as written to its mean, or to a float64 array.

    Examples
    --------
    >>> ranks = Ranks([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
    >>> evaluate(ranks, labels=["cat", "cat", "dog"], measures=["p@2", "mrr"])
    {'p@2': 0.6666666666666666, 'mrr': 1.0}
    >>> evaluate(ranks, labels=["cat", "cat", "dog"], measures=["p@1", "mrr"], exclude_self=True)
    {'p@1': 0.3333333333333333, 'mrr': 0.5}
    >>> run = Ranks.from_dict({"q1": {"a": 0.9, "b": 0.2}, "q2": {"b": 0.3}})
    >>> evaluate(run, qrels={"q1": {"b": 1}, "q2": {"a": 1}}, measures="mrr")
    {'mrr': 0.25}
    """
    if not isinstance(ranks, Ranks):
        raise InputError(f"Evaluate one Ranks at a time; got {type(ranks).__name__}.")
    check_flag(per_query=per_query, exclude_self=exclude_self)
    check_choice("unit", units, UNITS)
    wanted = _measures(measures)
    if ranks.n_queries == 0:
        raise InputError("There is nothing to evaluate; the ranks have no rows.")
    if exclude_self and (labels is None or query_labels is not None):
        raise InputError("exclude_self is for items as queries; give labels alone.")
    blocks = _judged(ordered(ranks, ties), labels, query_labels, qrels, exclude_self)
    computed = [[measure(block) for measure in wanted] for block in blocks]
    values = {str(measure): np.concatenate([row[i] for row in computed]) for i, measure in enumerate(wanted)}
    if units == "classes":
        if labels is None:
            raise InputError("units='classes' needs labels.")
        classes = classes_of(ranks, labels, query_labels)[1]
        values = {name: class_means(value, classes) for name, value in values.items()}
    return values if per_query else {name: float(value.mean()) for name, value in values.items()}


def _measures(given: Any) -> list[Measure]:
    several = list(given) if is_iterable(given) and not isinstance(given, str) else [given]
    odd = [measure for measure in several if not isinstance(measure, str | Measure)]
    if odd:
        raise InputError(f"A measure is written as in 'ndcg@10'; got {brief(odd[0])}.")
    if not several:
        raise InputError("There is nothing to compute; give at least one measure, such as 'ndcg@10'.")
    return [Measure.parse(measure) if isinstance(measure, str) else measure for measure in several]


def _judged(
    ranks: Ranks, labels: ArrayLike | None, query_labels: ArrayLike | None, qrels: Qrels | None, exclude_self: bool
) -> Iterator[Judged]:
    if labels is not None and qrels is None:
        return judged_by_labels(ranks, labels, query_labels, exclude_self)
    if qrels is not None and labels is None and query_labels is None:
        qrels = as_mapping(qrels)
        blocks = judged_by_qrels(ranks, qrels)
        if missing := missing_queries(ranks, qrels):
            warnings.warn(f"The ranks lack {missing}", RankloomWarning, stacklevel=3)
        return blocks
    truths = {"labels": labels, "query_labels": query_labels, "qrels": qrels}
    got = " and ".join(name for name, value in truths.items() if value is not None)
    raise InputError(f"Give either labels (with query_labels for external queries) or qrels; got {got or 'neither'}.")
