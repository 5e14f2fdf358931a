"""The inputs of an experiment: the collection, the lists of its rankers, and the labels or judgments."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from rankloom.aggregate import METHODS, CollectionMethod, QueryMethod
from rankloom.datasets import COLLECTIONS, Collection, open_collection, parse_collection
from rankloom.datasets.collection import Contents
from rankloom.errors import InputError
from rankloom.evaluation import evaluate
from rankloom.experiment.results import Values
from rankloom.experiment.spec import Experiment, digest
from rankloom.io.cache import Cache, digest_bytes
from rankloom.io.text_file import as_path, opened
from rankloom.rankers import RANKERS, RankedLists, Ranker, rank_collection
from rankloom.rankers.precomputed import RankFile
from rankloom.rankers.ranking import MadeRanker, made_ranker
from rankloom.ranks import Ranks
from rankloom.registry import Call, Registry, file_options


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """A collection and the lists of its rankers."""

    experiment: Experiment
    collection: Collection
    lists: Mapping[str, RankedLists]  #: by ranker name, in the order of the specification
    digests: Mapping[str, str]  #: of these lists
    truth: str  #: a digest of the labels or judgments in their order, which is the order of per-query values
    skipped: Mapping[str, str]  #: ids of the items that could not be read, and why
    order_note: str = ""  #: a sentence on the order of the items

    @property
    def labeled(self) -> bool:
        """Whether the items are labeled, so that every item is a query."""
        return self.collection.labels is not None

    @property
    def n_items(self) -> int:
        """The number of items in the collection, or in the run files if these list the items."""
        both = [ranks for lists in self.lists.values() for ranks in (lists.queries, lists.items) if ranks is not None]
        ids = {ranks.item_ids for ranks in both if ranks.item_ids is not None} - {self.collection.ids}
        return len(set().union(*ids)) if ids else len(self.collection)

    @property
    def cut(self) -> bool:
        """Whether any list is longer than the cutoff."""
        lengths = [int(lists.queries.lengths().max(initial=0)) for lists in self.lists.values()]
        return max(lengths) > self.experiment.cutoff

    def evaluate(self, ranks: Ranks) -> Values:
        """Return the value of each measure for each query."""
        queries = self.collection.queries
        head, measures = ranks.head(answer_count(self.experiment)), self.experiment.measures
        if queries is not None:
            return evaluate(head, qrels=queries.qrels, measures=measures, per_query=True)
        exclude = self.experiment.exclude_self
        return evaluate(head, labels=self.collection.labels, measures=measures, per_query=True, exclude_self=exclude)

    def obstacle(self, method: str) -> str | None:
        """Return why a method cannot run on these inputs, or None if it can."""
        if issubclass(METHODS[method], QueryMethod) or self.labeled:
            return None
        if issubclass(METHODS[method], CollectionMethod):
            return f"{method} needs a collection whose items are the queries; these are external queries"
        if any(lists.items is None for lists in self.lists.values()):
            return f"{method} needs the lists of the collection's own items: give every ranker items=..."
        return None


def prepare(experiment: Experiment, base: Path, cache: Cache, *, strict: bool = False) -> Inputs:
    """Open the collection and rank it with every ranker; all inputs are checked before the first one ranks."""
    calls = {name: resolve_files(ranker, RANKERS, base) for name, ranker in experiment.rankers}
    collection = open_collection(_collection(experiment.collection, base))
    if collection.labels is None and collection.queries is None:
        raise InputError(f"{collection.name} has neither labels nor judged queries; an experiment needs one of them.")
    if collection.labels is None and (experiment.exclude_self or experiment.units == "classes"):
        wanted = "exclude_self" if experiment.exclude_self else 'units = "classes"'
        raise InputError(f"{wanted} is for labeled items; {collection.name} has judged queries. Leave it out.")
    made = {name: _made(name, call) for name, call in calls.items()}
    first = _check_precomputed(collection, made)  # ranked first: their content is fully checked only then
    ordered = {name: made[name] for name in (*first, *made)}
    collection, order_note = _ordered(collection, first, experiment)
    done = rank_collection(collection, ordered, depth=experiment.depth, cache=cache, strict=strict)
    lists = {name: done.lists[name] for name in calls}
    digests = {name: _digest(one) for name, one in lists.items()}
    queries = done.collection.queries
    truth = digest(done.collection.labels if queries is None else list(queries.qrels.items()))
    return Inputs(experiment, done.collection, lists, digests, truth, done.skipped, order_note)


def _made(name: str, call: Call) -> MadeRanker:
    """Return the ranker. Raise InputError if its options are invalid, or it is given a file that cannot be read."""
    made = made_ranker(call)
    for option in file_options(RANKERS[call.name]):
        path = dict(call.options).get(option)
        if path is not None:
            _check_readable(name, option, Path(path))
    return made


def _check_readable(ranker: str, option: str, path: Path) -> None:
    try:
        if not as_path(path).is_dir():
            with opened(path):
                return
    except InputError as error:
        raise InputError(f"The {option} of the ranker {ranker!r}: {error}") from None


def _check_precomputed(collection: Collection, rankers: Mapping[str, MadeRanker]) -> list[str]:
    """Read the files of rankers that use nothing else, and match their ids; return the names of these rankers."""
    names = []
    for name, (ranker, _) in rankers.items():
        if ranker.part == "ids":
            names.append(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are issued when it ranks
                _check_fit(ranker, collection)
    return names


def _check_fit(ranker: Ranker, collection: Collection) -> None:
    queries = None if collection.queries is None else cast(Contents, collection.queries.part("ids"))
    fitted = ranker.fit(cast(Contents, collection.part("ids")))
    if isinstance(ranker, RankFile):  # the others take longer to rank, and have already matched their ids
        fitted.rank(queries=queries, depth=1)


def _ordered(collection: Collection, by_file: Sequence[str], experiment: Experiment) -> tuple[Collection, str]:
    """Return the collection in the order it is ranked in, and a sentence about it; `by_file` are rankers."""
    if collection.labels is None:
        return collection, "The items keep their order: there are no classes that it could favor."
    if not experiment.shuffle:
        return collection, "The items keep their order (shuffle = false), which decides ties."
    if by_file:
        return collection, f"The items keep their order, which decides ties: {', '.join(by_file)} come from files."
    note = f"The items were shuffled (seed {experiment.seed}) before they were ranked: ties say nothing about classes."
    return collection.shuffled(experiment.seed), note


def with_full_paths(experiment: Experiment, base: Path) -> Experiment:
    """Return the experiment with absolute file paths, so that it runs from any folder."""
    base = base.absolute()
    rankers = tuple((name, resolve_files(ranker, RANKERS, base)) for name, ranker in experiment.rankers)
    return replace(experiment, collection=_collection(experiment.collection, base), rankers=rankers)


def answer_count(experiment: Experiment) -> int:
    """Return the `k` of the experiment, or if it is None the number of answers that the measures look at.

    One more if an item is left out of its own list.
    """
    if experiment.k is not None:
        return experiment.k + experiment.exclude_self
    reach = [measure.reach for measure in experiment.measures]
    return experiment.depth if None in reach else max(far for far in reach if far is not None) + experiment.exclude_self


def resolve_files(call: Call, factories: Registry[Any], base: Path) -> Call:
    """Return the call with its file options resolved against the folder of the specification."""
    files = file_options(factories[call.name])
    options = {key: _resolve(base, value) if key in files else value for key, value in call.options}
    return Call.of(call.name, options)


def _collection(call: Call, base: Path) -> Call:
    """Return the collection, which may be a plain path, with its files resolved."""
    return resolve_files(call, COLLECTIONS, base) if call.options else parse_collection(call.name, base)


def _resolve(base: Path, value: object) -> object:
    if not isinstance(value, str):
        return value
    path = os.path.expandvars(value)
    if "$" in path:
        raise InputError(f"{value!r} contains an environment variable that is not set; set it.")
    return str(base / Path(path).expanduser())


def _digest(lists: RankedLists) -> str:
    both = [ranks for ranks in (lists.queries, lists.items) if ranks is not None]
    arrays = [array for ranks in both for array in (ranks.items, ranks.scores) if array is not None]
    ids = [digest(list(ids or ())) for ranks in both for ids in (ranks.item_ids, ranks.query_ids)]
    facts = repr(tuple(lists.traits)).encode()
    return digest_bytes(*(array.tobytes() for array in arrays), *(text.encode() for text in ids), facts)
