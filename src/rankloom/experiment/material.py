"""What an experiment works on: the collection, the lists of its rankers, and how answers are judged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankloom.aggregate import METHODS
from rankloom.datasets import COLLECTIONS, Collection, open_collection, spelled
from rankloom.errors import InputError
from rankloom.evaluation import evaluate
from rankloom.experiment.results import Values
from rankloom.experiment.spec import Experiment, digest
from rankloom.io.cache import Cache, digest_bytes
from rankloom.rankers import RANKERS, Lists, rank_collection
from rankloom.ranks import Ranks
from rankloom.registry import Call, Registry, file_options
from rankloom.threads import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """A collection and the lists of its rankers.

    Attributes
    ----------
    experiment : Experiment
    collection : Collection
    lists : dict of str to Lists
        By the name of the ranker, in the order of the specification.
    digests : dict of str to str
        What stands for the content of these lists.
    truth : str
        What stands for the labels or judgments, in their order: values of queries are paired by it.
    skipped : mapping of str to str
        Items that could not be read, and why.
    """

    experiment: Experiment
    collection: Collection
    lists: Mapping[str, Lists]
    digests: Mapping[str, str]
    truth: str
    skipped: Mapping[str, str]

    @property
    def labeled(self) -> bool:
        """Whether every item is a query."""
        return self.collection.labels is not None

    @property
    def n_items(self) -> int:
        """How many items there are: those of the collection, or those that files of lists name."""
        both = [ranks for one in self.lists.values() for ranks in (one.queries, one.items) if ranks is not None]
        names = {ranks.item_ids for ranks in both if ranks.item_ids is not None} - {self.collection.ids}
        return len(set().union(*names)) if names else len(self.collection)

    @property
    def cut(self) -> bool:
        """Whether any list is longer than the cutoff."""
        longest = [int(one.queries.lengths().max(initial=0)) for one in self.lists.values()]
        return max(longest) > self.experiment.cutoff

    def evaluate(self, ranks: Ranks) -> Values:
        """Measure answers, query by query."""
        labels, queries = self.collection.labels, self.collection.queries
        head = ranks.head(answers(self.experiment))
        if queries is not None:
            return evaluate(head, qrels=queries.qrels, measures=self.experiment.measures, per_query=True)
        return evaluate(head, labels=labels, measures=self.experiment.measures, per_query=True)

    def obstacle(self, method: str) -> str | None:
        """Return why a method can't be run on this, if it can't."""
        if METHODS[method].needs == "queries" or self.labeled:
            return None
        if not METHODS[method].answers_external:
            return f"{method} needs a collection whose items are the queries; these are external queries"
        if any(lists.items is None for lists in self.lists.values()):
            return f"{method} needs the lists of the collection's own items: give every ranker items=..."
        return None


def prepare(
    experiment: Experiment, base: Path, cache: Cache, *, strict: bool = False, progress: Progress | None = None
) -> Material:
    """Read the collection and rank it by every ranker."""
    calls = {name: located(ranker, RANKERS, base) for name, ranker in experiment.rankers}
    collection = open_collection(_collection(experiment.collection, base))
    if collection.labels is None and collection.queries is None:
        raise InputError(
            f"{collection.name} has neither labels nor judged queries; an experiment needs them to judge by."
        )
    done = rank_collection(collection, calls, depth=experiment.depth, cache=cache, strict=strict, progress=progress)
    digests = {name: _digest(one) for name, one in done.lists.items()}
    return Material(experiment, done.collection, done.lists, digests, _truth(done.collection), done.skipped)


def rooted(experiment: Experiment, base: Path) -> Experiment:
    """Return an experiment whose files have their full names: it can be run from any folder."""
    base = base.absolute()
    rankers = tuple((name, located(ranker, RANKERS, base)) for name, ranker in experiment.rankers)
    return replace(experiment, collection=_collection(experiment.collection, base), rankers=rankers)


def answers(experiment: Experiment) -> int:
    """Return how many answers the measures look at, unless the experiment says."""
    if experiment.k is not None:
        return experiment.k
    reach = [measure.reach for measure in experiment.measures]
    return experiment.depth if None in reach else max(far for far in reach if far is not None)


def located(call: Call, makers: Registry[Any], base: Path) -> Call:
    """Return a call whose files are looked for beside the specification."""
    files = file_options(makers[call.name])
    options = {key: _beside(base, value) if key in files else value for key, value in call.options}
    return Call.of(call.name, options)


def ranks_of(lists: Sequence[Lists]) -> list[Ranks]:
    """Return the lists of the queries."""
    return [one.queries for one in lists]


def _collection(call: Call, base: Path) -> Call:
    """Return a collection whose files are looked for beside the specification; it may be a plain path."""
    return located(call, COLLECTIONS, base) if call.options else spelled(call.name, base)


def _truth(collection: Collection) -> str:
    queries = collection.queries
    return digest(collection.labels if queries is None else list(queries.qrels.items()))


def _beside(base: Path, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    path = os.path.expandvars(value)
    if "$" in path:
        raise InputError(f"{value!r} names a variable of the environment that is not set; set it.")
    return str(base / Path(path).expanduser())


def _digest(lists: Lists) -> str:
    both = [ranks for ranks in (lists.queries, lists.items) if ranks is not None]
    arrays = [array for ranks in both for array in (ranks.items, ranks.scores) if array is not None]
    names = [digest(list(ids or ())) for ranks in both for ids in (ranks.item_ids, ranks.query_ids)]
    return digest_bytes(*(array.tobytes() for array in arrays), *(name.encode() for name in names))
