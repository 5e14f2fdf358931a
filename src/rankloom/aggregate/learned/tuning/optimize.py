"""`optimize`: the options of a method that are best on judged queries."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from rankloom.aggregate.learned.training import JudgedQueries, judged_queries, make_supervised
from rankloom.aggregate.learned.tuning.bayes import bayes
from rankloom.aggregate.learned.tuning.space import Space, Values, make_space
from rankloom.aggregate.methods import SUPERVISED, Method, QueryMethod, Supervised, make_method
from rankloom.errors import InputError, check_type
from rankloom.evaluation.effectiveness import evaluate
from rankloom.evaluation.measures import Measure
from rankloom.evaluation.truth import Qrels
from rankloom.ranks import Ranks
from rankloom.ranks.align import Missing, RankerLists
from rankloom.registry import Call, Count, Options, Registry, options_of
from rankloom.threads import Progress, check_progress

#: What can be tuned.
Learner = QueryMethod | Supervised

MAX_GRID = 100_000  # points


class Search(Options, ABC):
    """How options are searched; a value, as a method is: ``bayes(trials=20)``. `step` is that of weights in a grid."""

    entry_kind: ClassVar[str] = "search"
    step: float = 0.1

    @abstractmethod
    def points(self, space: Space, score: Callable[[dict[str, Any]], float]) -> Iterator[None]:
        """Score points of the space one by one; yield after each."""

    @abstractmethod
    def count(self, space: Space) -> int:
        """Return how many points are tried; raise InputError for too many."""


#: The searches by name.
SEARCHES: Registry[type[Search]] = Registry("search", entries=type)


@SEARCHES.register("grid")
class Grid(Search):
    """Every combination, in order; the first of equals wins."""

    def points(self, space: Space, score: Callable[[dict[str, Any]], float]) -> Iterator[None]:
        for point in space:
            score(point)
            yield

    def count(self, space: Space) -> int:
        if len(space) > MAX_GRID:
            raise InputError(
                f"The grid has {len(space):,} points, and at most {MAX_GRID:,} are tried. Use search='bayes', a larger "
                "step, or fewer values."
            )
        return len(space)


@SEARCHES.register("bayes")
class Bayes(Search):
    """Ten points at random, then those with the largest expected improvement by a Gaussian process."""

    trials: Count = 60
    seed: Annotated[int, Ge(0)] = 0

    def points(self, space: Space, score: Callable[[dict[str, Any]], float]) -> Iterator[None]:
        return bayes(space, self.trials, self.seed, score)

    def count(self, space: Space) -> int:
        return min(self.trials, len(space))


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best options found.

    Attributes
    ----------
    method : Method
        The method with these options, trained if it is supervised; for `fuse`.
    spelling : str
        The method as it is typed: ``combsum(weights=[0.3, 0.7])``.
    score : float
        Its mean on the queries it was tuned on; on others, expect less.
    measure : str
    trials : tuple of (str, float)
        Every spelling tried and its score, in order.
    """

    method: Method
    spelling: str
    score: float
    measure: str
    trials: tuple[tuple[str, float], ...]

    def table(self) -> list[tuple[str, float]]:
        """Return the trials, best first, those of equal score in the order they were tried."""
        return sorted(self.trials, key=lambda trial: -trial[1])

    def __repr__(self) -> str:
        return f"Tuned({self.spelling}, {self.measure}={self.score:.4f}, {len(self.trials)} trials)"


def optimize(
    ranks: RankerLists,
    qrels: Qrels,
    method: str | Call | Learner,
    measure: str | Measure = "ndcg@10",
    *,
    search: str | Search = "grid",
    space: Values | None = None,
    missing: Missing | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Find the options of a method that are best on judged queries.

    The score on these queries is too good for others: keep some apart, or use `cross_validate`.

    Parameters
    ----------
    ranks : sequence of Ranks, or {name: Ranks}
        One for each ranker, as in `fuse`; queries without judgments are left out.
    qrels : {query: {item: grade}}, path of a TREC qrels file, or DataFrame
        As in `evaluate`.
    method : str or Method
        A method that sees one query at a time, or a supervised one, which is trained again in every trial. Options
        that are not in the space keep their values.
    measure : str
        As in `evaluate`.
    search : str or Search
        ``grid``: every combination, in order; the first of equals wins. ``bayes(trials=60, seed=0)``: ten points at
        random and then those with the largest expected improvement by a Gaussian process; for many rankers or options.
        Both have the option ``step``, of weights in a grid: 0.1.
    space : {option: values}, optional
        The values to try. For ``weights`` also ``"simplex"``: weights that add up to 1. By default, what ranx searches:
        ``constant`` of rrf, ``gamma`` of gmnz, ``sigma`` of logn_isr, ``persistence`` of rbc, ``segments`` of probfuse,
        ``window`` of slidefuse; weights of other methods.
    missing, progress
        As in `fuse`; progress is called after every trial.

    Returns
    -------
    Tuned

    Examples
    --------
    >>> from rankloom import Ranks
    >>> good = Ranks.from_dict({"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 2.0, "d": 1.0}})
    >>> bad = Ranks.from_dict({"q1": {"b": 2.0, "a": 1.0}, "q2": {"d": 2.0, "c": 1.0}})
    >>> best = optimize([bad, good], {"q1": {"a": 1}, "q2": {"c": 1}}, "combsum", "mrr", search="grid(step=0.25)")
    >>> best
    Tuned(combsum(weights=[0.0, 1.0]), mrr=1.0000, 5 trials)
    """
    plan, learner, wanted = SEARCHES.make(search), make_learner(method), parsed_measure(measure)
    check_progress(progress)
    return tune(judged_queries(ranks, qrels, missing), learner, wanted, plan, space, progress)


class ForRankers(QueryMethod):
    """A method whose options, such as weights, are for rankers of these names."""

    method: QueryMethod
    rankers: tuple[str, ...] = ()

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        return self.method.fuse(ranks, k)

    def __str__(self) -> str:
        return str(self.method)


def tune(
    queries: JudgedQueries,
    method: Learner,
    measure: Measure,
    search: Search,
    values: Values | None,
    progress: Progress | None = None,
) -> Tuned:
    """Search on these queries."""
    options = list(options_of(type(method)))
    space = make_space(method.entry_name, options, values, len(queries.ranks), search.step)
    count = search.count(space)
    trials: dict[str, float] = {}
    candidates: dict[str, Learner] = {}

    def score(point: dict[str, Any]) -> float:
        candidate = replace(method, **point)
        candidates[str(candidate)] = candidate
        trials[str(candidate)] = mean(ready(queries, candidate), queries, measure)
        return trials[str(candidate)]

    for done, _ in enumerate(search.points(space, score), 1):
        if progress:
            progress("Optimizing", done, count)
    best = max(trials, key=lambda spelling: trials[spelling])
    return Tuned(ready(queries, candidates[best]), best, trials[best], str(measure), tuple(trials.items()))


def make_learner(method: str | Call | Learner) -> Learner:
    """Return the method that a spelling describes, if it can be tuned or trained on the lists of queries."""
    if isinstance(method, Supervised):
        return method
    if not isinstance(method, QueryMethod) and (call := Call.given(method, "method")).name in SUPERVISED:
        return make_supervised(call)
    made = make_method(method)
    if not isinstance(made, QueryMethod):
        raise InputError(
            f"The method {made.entry_name!r} needs the lists of the collection, which cannot be split by query; choose "
            "one that sees one query at a time."
        )
    return made


def ready(queries: JudgedQueries, method: Learner) -> Method:
    """Return the method, trained on these queries if it is supervised."""
    if isinstance(method, Supervised):
        return queries.train(method)
    return ForRankers(method=method, rankers=queries.rankers) if queries.rankers else method


def mean(method: Method, queries: JudgedQueries, measure: Measure) -> float:
    """Return the mean of a measure over the queries."""
    k = measure.reach or max(1, sum(r.depth for r in queries.ranks))
    return evaluate(method.fuse(queries.ranks, k), qrels=queries.qrels, measures=measure)[str(measure)]


def parsed_measure(measure: str | Measure) -> Measure:
    """Return the measure that a spelling describes."""
    parsed = Measure.parse(measure) if isinstance(measure, str) else measure
    check_type(Measure, measure=parsed)
    return parsed
