"""Warnings about runs that cannot be compared fairly: other depths, or judged queries that are missing."""

import warnings
from collections.abc import Mapping

from rankloom.errors import RankloomWarning
from rankloom.ranks import Ranks


def missing_queries(ranks: Ranks, qrels: Mapping[str, Mapping[str, int]]) -> str:
    """Return which judged queries the ranks lack, to follow "lacks", or an empty text.

    Examples
    --------
    >>> missing_queries(Ranks.from_dict({"q1": ["a"]}), {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}})
    "2 of the 3 judged queries, such as 'q2'; they count as 0."
    """
    known = {ranks.query_id(row) for row in range(ranks.n_queries)}
    missing = [query for query in qrels if query not in known]
    if not missing or len(missing) == len(qrels):  # all missing is an error elsewhere
        return ""
    return f"{len(missing)} of the {len(qrels)} judged queries, such as {missing[0]!r}; they count as 0."


def check_runs(runs: Mapping[str, Ranks], qrels: Mapping[str, Mapping[str, int]] | None = None) -> None:
    """Warn about runs of different depths, and about runs that lack judged queries.

    The depth of a run is the length of its longest list. Measures that look deeper than the shallowest run favor the
    others.

    Parameters
    ----------
    runs : {name: Ranks}
    qrels : {query: {item: grade}}, optional

    Examples
    --------
    >>> check_runs({"a.run": Ranks([[0, 1]]), "b.run": Ranks([[1, 0]])})
    """
    depths = {name: int(ranks.lengths().max(initial=0)) for name, ranks in runs.items()}
    if len(set(depths.values())) > 1:
        shown = ", ".join(f"{name} {depth}" for name, depth in depths.items())
        message = (
            f"The runs have different depths: {shown}. Measures that look beyond {min(depths.values())} positions "
            "favor the deeper ones."
        )
        warnings.warn(message, RankloomWarning, stacklevel=2)
    for name, ranks in runs.items():
        if qrels is not None and (missing := missing_queries(ranks, qrels)):
            warnings.warn(f"{name} lacks {missing}", RankloomWarning, stacklevel=2)
