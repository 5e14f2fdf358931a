"""The paper's protocol: single rankers, their correlation, selections, methods, cutoffs, comparators, times."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate import METHODS, fuse
from rankloom.evaluation import ESTIMATES, correlations, estimate
from rankloom.evaluation.estimates import common_neighbors
from rankloom.experiment.examples import Examples, extreme_queries
from rankloom.experiment.inputs import Inputs, answer_count, prepare, query_ranks, with_full_paths
from rankloom.experiment.provenance import about, environment
from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    CutoffRecord,
    Example,
    ExamplesRecord,
    MethodRecord,
    PairRecord,
    RankerRecord,
    Record,
    Results,
    SelectionRecord,
    TimeRecord,
    Values,
)
from rankloom.experiment.selections import PAIR, apply_selections, chosen_pair
from rankloom.experiment.spec import SWEPT_NEIGHBORS, Experiment, variants
from rankloom.experiment.step_cache import StepCache, StepError, make_steps_folder
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io.atomic_file import atomic_write
from rankloom.io.cache import Cache
from rankloom.ranks import PAD, Ranks
from rankloom.registry import Call
from rankloom.threads import Progress

SPECIFICATION = "experiment.toml"
OWN_CUTOFF = ("weft", "vote")  # methods that keep their default cutoff, except in the plot
R = TypeVar("R")
HEADER = "# The experiment as it was run, written by rankloom: every value, with absolute paths.\n"


def run(
    experiment: Experiment,
    folder: str | Path,
    *,
    base: str | Path = ".",
    cache: Cache | None = None,
    command: str = "",
    threads: int | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Run an experiment and write its results; an interrupted experiment resumes.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        Receives ``cells/`` (a file for each finished step) and, at the end, ``experiment.toml`` and ``results.jsonl``.
        It must be new or empty, or contain the steps of an experiment.
    base : path
        The folder that relative paths in the specification start from: the specification's own.
    cache : Cache, optional
        For descriptors and lists; the user's by default.
    command : str
        The command line, for the report.
    threads : int, optional
        By default as many as there are cores.
    strict : bool
        Raise an error for an item that cannot be described; by default it is left out and listed in the notes.
    progress : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Results
        Methods that fail are left out and listed in ``about["failed"]``.
    """
    progress = progress or (lambda stage, done, total: None)
    folder = Path(folder)
    steps_folder = make_steps_folder(folder)
    started = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    inputs = prepare(experiment, Path(base), cache or Cache.standard(), strict=strict, progress=progress)
    runner = Runner(inputs, StepCache(steps_folder, environment(threads), progress), threads)
    records = tuple(runner.records())
    details = about(
        inputs,
        command=command,
        started=started,
        made=runner.steps.environment,
        notes=runner.notes,
        failed=runner.failed,
    )
    results = Results(experiment, details, records)
    with atomic_write(folder / SPECIFICATION) as file:
        file.write(HEADER + with_full_paths(experiment, Path(base)).to_toml())
    results.write(folder)
    return results


class Runner:
    """Runs the steps of one experiment in order."""

    def __init__(self, inputs: Inputs, steps: StepCache, threads: int | None) -> None:
        self.inputs = inputs
        self.experiment = inputs.experiment
        self.steps = steps
        self.threads = threads
        self.notes = [f"Left out: {item}: {reason}" for item, reason in inputs.skipped.items()]
        self.notes += [inputs.order_note]
        self.failed: list[str] = []
        self.methods = self._runnable(self.experiment.methods)
        self.curve = self._runnable(self.experiment.curve)
        self.notes += _sweep_notes(self.methods, self.experiment)
        self.fg = inputs.obstacle("fg") is None
        self.warm: set[str] = set()
        self.notes += [self.experiment.depth_caveat] if self.experiment.depth_caveat and inputs.cut else []
        own = {name: one.queries if inputs.labeled else one.items for name, one in inputs.lists.items()}
        self.own = {name: ranks for name, ranks in own.items() if ranks is not None}
        self.neighbors = common_neighbors(self.own)

    def records(self) -> Iterator[Record]:
        """Run all steps, in the order of the report."""
        rankers, common = self.experiment.ranker_names, self._common()
        kinds = self.experiment.correlations if common.any() else ()
        self.steps.start_stage("Evaluating rankers", len(rankers) + len(kinds))
        singles = [self._ranker(name) for name in rankers]
        correlated = [self._correlation(kind, common) for kind in kinds]
        yield from singles
        yield from correlated
        selected, notes = apply_selections(self.experiment, singles, correlated[0] if correlated else None)
        self.notes += notes
        yield from selected
        if not self.methods:
            self.failed.append("None of the methods can run on this collection.")
        if not selected:
            self.failed.append("Nothing was fused: every selection is left out.")
            return
        pairs = correlated if len(rankers) > 1 else []
        self.steps.start_stage("Fusing", self._n_fusing_steps(len(selected)) + len(pairs))
        measured = list(self._methods(selected))
        yield from measured
        yield from self._pairs(singles, pairs, {one.method for one in measured})
        yield from self._on_first(selected[0])
        for record in measured[:1]:
            best = max(singles, key=lambda one: float(one.values[str(self.experiment.measures[0])].mean()))
            yield from self._attempt("Finding examples", partial(self._examples, record, best))
        for selection in selected if self.fg and self.experiment.repeats else ():
            yield from self._attempt(f"Timing fg on {selection.selection}", partial(self._time, selection))

    def _methods(self, selected: Sequence[SelectionRecord]) -> Iterator[MethodRecord]:
        for selection in selected:
            for call in self.methods:
                yield from self._attempt(f"{call} on {selection.selection}", partial(self._method, selection, call))

    def _pairs(
        self, singles: Sequence[RankerRecord], correlated: Sequence[CorrelationRecord], ran: Collection[str]
    ) -> Iterator[PairRecord]:
        """Measure the first method that ran on the pair of each correlation measure."""
        for call in [one for one in self.methods if str(one) in ran][:1]:
            for correlation in correlated:
                name = f"{call} on the pair by {correlation.correlation}"
                yield from self._attempt(name, partial(self._pair, singles, correlation, call))

    def _on_first(self, selection: SelectionRecord) -> Iterator[Record]:
        """Measure the effect of the cutoff and of the comparator on the first selection."""
        for call in self.curve:
            for cutoff in self.experiment.cutoffs:
                yield from self._attempt(f"{call} at cutoff {cutoff}", partial(self._cutoff, selection, call, cutoff))
        for comparator in self.experiment.comparators if self.fg else ():
            yield from self._attempt(f"The comparator {comparator}", partial(self._comparator, selection, comparator))

    def _attempt(self, name: str, step: Callable[[], R]) -> Iterator[R]:
        """Yield the record of a step; if it fails, note the error and continue."""
        try:
            record = step()
        except StepError as error:
            self.failed.append(f"{name} failed: {error}")
            self.steps.advance()
            return
        yield record

    def _common(self) -> NDArray[np.bool_]:
        """Return a mask of the queries that every ranker has a list for; correlations use only these."""
        present = [(one.queries.items != PAD).any(1) for one in self.inputs.lists.values()]
        common: NDArray[np.bool_] = np.logical_and.reduce(present)
        missing = int((~common).sum())
        if missing:
            self.notes.append(
                f"{missing} of {len(common)} queries lack a list from some ranker; correlations use the others."
            )
        return common

    def _n_fusing_steps(self, n_selections: int) -> int:
        cutoffs = len(self.curve) * len(self.experiment.cutoffs)
        timed = n_selections if self.experiment.repeats else 0
        graphs = (len(self.experiment.comparators) + timed) if self.fg else 0
        return n_selections * len(self.methods) + cutoffs + graphs + 1  # the examples

    def _runnable(self, calls: Sequence[Call]) -> list[Call]:
        """Return the methods that can run on these inputs; note the others."""
        runnable = []
        for call in calls:
            obstacle = self.inputs.obstacle(call.name)
            if obstacle is None:
                runnable.append(call)
            elif f"{obstacle}." not in self.notes:
                self.notes.append(f"{obstacle}.")
        return runnable

    def _key(self, kind: str, rankers: Sequence[str], *rest: Any) -> list[Any]:
        """Return everything that the result of a step depends on."""
        inputs = self.inputs
        measures = [str(measure) for measure in self.experiment.measures]
        lists = [inputs.digests[name] for name in rankers]
        return [kind, list(rankers), lists, inputs.truth, measures, answer_count(self.experiment), *rest]

    def _ranker(self, name: str) -> RankerRecord:
        def compute() -> RankerRecord:
            lists, own = self.inputs.lists[name], self.own.get(name)
            known = () if own is None else ESTIMATES
            estimates = {kind: estimate(own, kind=kind, neighbors=self.neighbors) for kind in known if own is not None}
            values, recall = self.inputs.evaluate(lists.queries), lists.queries.recall
            return RankerRecord(name, values, estimates, lists.seconds, recall)

        more = (list(ESTIMATES), self.neighbors)
        return self.steps.get(self._key("ranker", [name], *more), compute)

    def _correlation(self, kind: str, common: NDArray[np.bool_]) -> CorrelationRecord:
        names, depth = self.experiment.ranker_names, self.experiment.cutoff

        def compute() -> CorrelationRecord:
            ranks = [one.rows(np.flatnonzero(common)) for one in query_ranks(list(self.inputs.lists.values()))]
            return CorrelationRecord(kind, depth, names, correlations(ranks, kind=kind, depth=depth))

        more = (kind, depth, int(common.sum()))
        return self.steps.get(self._key("correlation", names, *more), compute)

    def _method(self, selection: SelectionRecord, call: Call) -> MethodRecord:
        main = str(self.experiment.measures[0])

        def compute() -> MethodRecord:
            found = [self._measured(selection.rankers, one) for one in self._variants(call)]
            chosen, values, seconds = max(found, key=lambda one: float(one[1][main].mean()))  # the first among equals
            swept = str(chosen) if chosen != call else ""
            return MethodRecord(selection.selection, selection.rankers, str(call), values, seconds, chosen=swept)

        tried = [str(one) for one in self._variants(call)]
        more = (selection.selection, str(call), tried, self.experiment.cutoff)
        return self.steps.get(self._key("method", selection.rankers, *more), compute)

    def _pair(self, singles: Sequence[RankerRecord], correlation: CorrelationRecord, call: Call) -> PairRecord:
        """Measure a method on the pair of a correlation measure; a pair measured before is not run again."""
        rankers = chosen_pair(self.experiment, singles, correlation)
        made = self._method(SelectionRecord(str(PAIR), rankers), call)
        return PairRecord(correlation.correlation, rankers, made.method, made.values)

    def _examples(self, record: MethodRecord, best: RankerRecord) -> ExamplesRecord:
        """Show the queries on which a method gains and loses most against the best ranker."""
        main, examples = str(self.experiment.measures[0]), Examples(self.inputs.collection)
        ours, other = record.values[main], best.values[main]

        def compute() -> ExamplesRecord:
            call = Call.parse(record.chosen or record.method)
            fused, _ = self._fused(record.rankers, call, self.experiment.cutoff)
            ranked = self.inputs.lists[best.ranker].queries
            shown = tuple(
                Example(
                    examples.query(number),
                    float(ours[number]),
                    float(other[number]),
                    examples.answer(number, fused),
                    examples.answer(number, ranked),
                )
                for number in extreme_queries(ours, other)
            )
            return ExamplesRecord(record.selection, record.method, best.ranker, shown)

        more = (record.selection, record.method, best.ranker, self.experiment.cutoff)
        return self.steps.get(self._key("examples", [*record.rankers, best.ranker], *more), compute)

    def _variants(self, call: Call) -> list[Call]:
        """Return the calls of a sweep whose neighborhoods fit into the lists; the call itself if it is not a sweep."""
        depth = max(ranks.depth for ranks in self.own.values()) if self.own else 0
        found = variants(call)
        return [one for one in found if dict(one.options).get("neighbors", 0) <= depth] if len(found) > 1 else found

    def _measured(self, rankers: Sequence[str], call: Call) -> tuple[Call, Values, float]:
        answer, seconds = self._fused(rankers, call, self.experiment.cutoff)
        return call, self.inputs.evaluate(answer), seconds

    def _cutoff(self, selection: SelectionRecord, call: Call, cutoff: int) -> CutoffRecord:
        def compute() -> CutoffRecord:
            answer, seconds = self._fused(selection.rankers, _with_cutoff(call, cutoff), cutoff)
            return CutoffRecord(str(call), cutoff, self.inputs.evaluate(answer), seconds)

        return self.steps.get(self._key("cutoff", selection.rankers, str(call), cutoff), compute)

    def _comparator(self, selection: SelectionRecord, comparator: str) -> ComparatorRecord:
        def compute() -> ComparatorRecord:
            call = Call.of("fg", {"comparator": comparator})
            answer, _ = self._fused(selection.rankers, call, self.experiment.cutoff)
            return ComparatorRecord(comparator, self.inputs.evaluate(answer))

        more = (comparator, self.experiment.cutoff)
        return self.steps.get(self._key("comparator", selection.rankers, *more), compute)

    def _time(self, selection: SelectionRecord) -> TimeRecord:
        def compute() -> TimeRecord:
            self._timed(selection.rankers)  # the first run loads or compiles the kernels
            pairs = [self._timed(selection.rankers) for _ in range(self.experiment.repeats)]
            offline, query = zip(*pairs, strict=True)
            return TimeRecord(selection.selection, offline, query)

        more = (selection.selection, self.experiment.cutoff, self.experiment.repeats)
        return self.steps.get(self._key("time", selection.rankers, *more), compute)

    def _fused(self, rankers: Sequence[str], call: Call, cutoff: int) -> tuple[Ranks, float]:
        """Return the fused lists and the seconds it took; a cutoff among the options of `call` takes precedence."""
        method = METHODS[call.name]
        lists = [self.inputs.lists[name] for name in rankers]
        ranks, options = query_ranks(lists), dict(call.options)
        if method.needs == "queries":
            ranks = [one.head(cutoff) for one in ranks]
        elif not self.inputs.labeled:
            options["collection"] = [one.items for one in lists]
            if "comparable" in method.options():
                options["comparable"] = [one.comparable for one in lists]
        if "cutoff" in method.options() and call.name not in OWN_CUTOFF:
            options.setdefault("cutoff", cutoff)
        self._warm_up(call.name)
        start = time.perf_counter()
        answer = fuse(ranks, call.name, answer_count(self.experiment), threads=self.threads, **options)
        return answer, time.perf_counter() - start

    def _warm_up(self, method: str) -> None:
        """Load or compile the kernels of a method, so that its first timed run is like any other."""
        if method not in self.warm and METHODS[method].needs == "collection":
            small = Ranks.from_vectors([[float(i)] for i in range(30)], "l2")
            fuse([small, small], method)
        self.warm.add(method)

    def _timed(self, rankers: Sequence[str]) -> tuple[float, float]:
        """Return the seconds to build an index and the seconds per query, on one thread."""
        lists = [self.inputs.lists[name] for name in rankers]
        external = None if self.inputs.labeled else query_ranks(lists)
        own = query_ranks(lists) if external is None else [one.items for one in lists if one.items is not None]
        start = time.perf_counter()
        comparable = [one.comparable for one in lists]
        index = FusionIndex.build(own, cutoff=self.experiment.cutoff, comparable=comparable, threads=1)
        built = time.perf_counter()
        index.search(external, answer_count(self.experiment), threads=1)
        n_queries = lists[0].queries.n_queries
        return built - start, (time.perf_counter() - built) / n_queries


def _with_cutoff(call: Call, cutoff: int) -> Call:
    """Return the call with a cutoff, if the method has one."""
    given = {"cutoff": cutoff} if "cutoff" in METHODS[call.name].options() else {}
    return Call.of(call.name, dict(call.options) | given)


def _sweep_notes(methods: Sequence[Call], experiment: Experiment) -> list[str]:
    swept = ", ".join(call.name for call in methods if len(variants(call)) > 1)
    if not swept:
        return []
    return [
        f"'best of sweep' ({swept}): of {', '.join(map(str, SWEPT_NEIGHBORS))} neighbors, the number with the highest "
        f"{experiment.measures[0]} on the selection. It is chosen with the judgments, which favors these baselines."
    ]
