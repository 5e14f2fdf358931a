"""What an experiment works on: the collection, the lists of its rankers, and how answers are judged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankloom.aggregate import METHODS
from rankloom.cache import Cache, digest_bytes
from rankloom.datasets import Collection, open_collection
from rankloom.engine.local import Progress
from rankloom.errors import InputError
from rankloom.evaluation import Measure, evaluate
from rankloom.experiment.results import Values
from rankloom.experiment.spec import Experiment, digest
from rankloom.rankers import Lists, rank_collection
from rankloom.ranks import Ranks
from rankloom.spelling import Call

PATHS = ("path", "labels", "qrels", "items", "vectors")  # options that name files, relative to the specification
LOOKS_AT = {"ns": 4}  # how far a measure without a cutoff looks, where that is not the whole list


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
    skipped : mapping of str to str
        Items that could not be read, and why.
    """

    experiment: Experiment
    collection: Collection
    lists: Mapping[str, Lists]
    digests: Mapping[str, str]
    skipped: Mapping[str, str]

    @property
    def labeled(self) -> bool:
        """Whether every item is a query."""
        return self.collection.labels is not None

    def truth(self) -> str:
        """Return what stands for the labels or judgments."""
        queries = self.collection.queries
        return digest(self.collection.labels if queries is None else queries.qrels)

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
        if "collection" not in METHODS[method].options():
            return f"{method} needs a collection whose items are the queries; these are from outside"
        if any(lists.items is None for lists in self.lists.values()):
            return f"{method} needs the lists of the collection's own items: give every ranker items=..."
        return None


def prepare(
    experiment: Experiment, base: Path, cache: Cache, *, strict: bool = False, progress: Progress | None = None
) -> Material:
    """Read the collection and rank it by every ranker."""
    calls = {name: located(ranker, base) for name, ranker in experiment.rankers}
    collection = open_collection(located(experiment.collection, base))
    if collection.labels is None and collection.queries is None:
        raise InputError(
            f"{collection.name} has neither labels nor judged queries; an experiment needs them to judge by."
        )
    done = rank_collection(collection, calls, depth=experiment.depth, cache=cache, strict=strict, progress=progress)
    digests = {name: _digest(one) for name, one in done.lists.items()}
    return Material(experiment, done.collection, done.lists, digests, done.skipped)


def answers(experiment: Experiment) -> int:
    """Return how many answers the measures look at, unless the experiment says."""
    if experiment.k is not None:
        return experiment.k
    reach = [_reach(measure) for measure in experiment.measures]
    return experiment.depth if None in reach else max(far for far in reach if far is not None)


def located(call: Call, base: Path) -> Call:
    """Return a call whose files are looked for beside the specification."""
    options = {key: _beside(base, value) if key in PATHS else value for key, value in call.options}
    return Call.of(call.name, options)


def ranks_of(lists: Sequence[Lists]) -> list[Ranks]:
    """Return the lists of the queries."""
    return [one.queries for one in lists]


def _reach(measure: Measure) -> int | None:
    return measure.cutoff or LOOKS_AT.get(measure.name)


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
