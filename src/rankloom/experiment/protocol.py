"""The paper's protocol: single rankers, their correlation, selections, methods, cutoffs, comparators, times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np

from rankloom.aggregate import METHODS, QueryMethod, fuse
from rankloom.evaluation import ESTIMATES, check_alignment, correlations, estimate
from rankloom.evaluation.estimates import common_neighbors
from rankloom.experiment.examples import Examples, extreme_queries
from rankloom.experiment.inputs import Inputs, answer_count, prepare, with_full_paths
from rankloom.experiment.provenance import about, environment
from rankloom.experiment.results import (
    About,
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
from rankloom.experiment.selections import PAIR, apply_selections, choose
from rankloom.experiment.spec import SWEEP, SWEPT_NEIGHBORS, TUNED, Experiment, variants
from rankloom.experiment.step_cache import StepCache, StepError, make_steps_folder
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io import write_run
from rankloom.io.atomic_file import atomic_write, make_folder
from rankloom.io.cache import Cache
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Bools, Floats, Indexes
from rankloom.registry import Call, slug
from rankloom.threads import Progress, running

SPECIFICATION, RUNS = "experiment.toml", "runs"
FACTS = ("comparable", "symmetric", "exhaustive")  # of rankers, which a method may have as options
OWN_CUTOFF = ("weft", "vote")  # methods that keep their default cutoff, except in the plot
#: A query, and the main measure of a method and of a ranker on it.
Extreme = tuple[int, float, float]
R = TypeVar("R", bound=Record)
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
    runs: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Run an experiment, write and return its results; an interrupted experiment resumes.

    Methods that fail are left out, and listed in ``about["failed"]``.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        Receives ``steps/`` (a file for each finished step) and, at the end, ``experiment.toml`` and ``results.jsonl``.
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
    runs : bool
        Also write the fused lists of every method on every selection, as TREC runs in ``runs/``.
    progress : callable, optional
        Called with (stage, done, total).
    """
    folder = Path(folder)
    steps_folder = make_steps_folder(folder)
    started = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    with running(threads, progress):
        inputs = prepare(experiment, Path(base), cache or Cache.standard(), strict=strict)
        runner = Runner(inputs, StepCache(steps_folder, environment(threads)))
        records = tuple(runner.records())
        if runs:
            runner.write_runs(folder / RUNS, records)
    details: About = {"command": command, "started": started, "made": runner.steps.environment}
    details |= {"notes": [*runner.notes, *runner.failed], "failed": runner.failed, "cut": inputs.cut}
    results = Results(experiment, {**about(inputs), **details}, records)
    with atomic_write(folder / SPECIFICATION) as file:
        file.write(HEADER + with_full_paths(experiment, Path(base)).to_toml())
    results.write(folder)
    return results


class Runner:
    """Runs the steps of one experiment in order."""

    def __init__(self, inputs: Inputs, steps: StepCache) -> None:
        self.inputs = inputs
        self.experiment = inputs.experiment
        self.steps = steps
        self.notes = [f"Left out: {item}: {reason}" for item, reason in inputs.skipped.items()]
        self.notes += [inputs.order_note]
        self.failed: list[str] = []
        self.methods = self._runnable(self.experiment.methods)
        self.curve = self._runnable(self.experiment.curve)
        self.notes += _sweep_notes(self.methods, self.experiment)
        self.fg = inputs.obstacle("fg") is None
        self.warm: set[str] = set()
        self.notes += [self.experiment.depth_caveat] if self.experiment.depth_caveat and inputs.cut else []
        own = {name: lists.queries if inputs.labeled else lists.items for name, lists in inputs.lists.items()}
        self.own = {name: ranks for name, ranks in own.items() if ranks is not None}
        self.notes += filter(None, [check_alignment(self.own, inputs.collection.labels)])
        self.neighbors = common_neighbors(self.own)
        self.common = self._common()

    def records(self) -> Iterator[Record]:
        """Run all steps, in the order of the report."""
        experiment = self.experiment
        names = experiment.ranker_names
        kinds = experiment.correlations if self.common.any() else ()
        self.steps.start_stage("Evaluating rankers", len(names) + len(kinds))
        singles = [self._step(self._ranker, [name], list(ESTIMATES), self.neighbors) for name in names]
        correlated = [self._step(self._correlation, names, kind, experiment.cutoff) for kind in kinds]
        yield from singles
        yield from correlated
        selected, notes = apply_selections(experiment, singles, correlated[0] if correlated else None)
        self.notes += notes
        yield from selected
        if not self.methods:
            self.failed.append("None of the methods can run on this collection.")
        if not selected:
            self.failed.append("Nothing was fused: every selection is left out.")
            return
        pairs = correlated if len(names) > 1 else []
        self.steps.start_stage("Fusing", self._n_fusing_steps(len(selected)) + len(pairs))
        measured = [record for chosen in selected for call in self.methods for record in self._methods(chosen, call)]
        yield from measured
        ran = {record.method for record in measured}
        for call in [call for call in self.methods if str(call) in ran][:1]:
            yield from self._pairs(singles, pairs, call)
        yield from self._on_first(selected[0])
        if measured:
            best = max(singles, key=lambda record: record.mean(experiment.main))
            yield from self._examples_of(measured[0], best)
        for chosen in selected if self.fg and experiment.repeats else ():
            title = f"Timing fg on {chosen.selection}"
            arguments = (chosen.selection, experiment.cutoff, experiment.repeats)
            yield from self._attempt(title, self._time, chosen.rankers, *arguments)

    def write_runs(self, folder: Path, records: Sequence[Record]) -> None:
        """Write the fused lists of each method, of a sweep those of the number of neighbors chosen most often."""
        make_folder(folder)
        for record in (one for one in records if isinstance(one, MethodRecord)):
            call = Call.parse(record.chosen or record.method)
            answer, _ = self._fused(record.rankers, call, self.experiment.cutoff)
            write_run(answer, folder / f"{slug(quote(record.method, '()[]=,'), record.selection)}.run")  # no slashes

    def _methods(self, chosen: SelectionRecord, call: Call, title: str = "") -> Iterator[MethodRecord]:
        title = title or f"{call} on {chosen.selection}"
        folds = self._folds() if dict(call.options).get("neighbors") == TUNED else ()
        arguments = (chosen.selection, call, self._variants(call), self.experiment.cutoff, *folds)
        return self._attempt(title, self._method, chosen.rankers, *arguments)

    def _pairs(
        self, singles: Sequence[RankerRecord], correlated: Sequence[CorrelationRecord], call: Call
    ) -> Iterator[PairRecord]:
        """Measure a method on the pair that each correlation measure chooses; each pair is measured once."""
        for correlation in correlated:
            pair = SelectionRecord(str(PAIR), choose(PAIR, self.experiment, singles, correlation))
            for made in self._methods(pair, call, f"{call} on the pair by {correlation.correlation}"):
                yield PairRecord(correlation.correlation, pair.rankers, made.method, made.values)

    def _on_first(self, chosen: SelectionRecord) -> Iterator[Record]:
        """Measure the effect of the cutoff and of the comparator on the first selection."""
        for call in self.curve:
            for cutoff in self.experiment.cutoffs:
                yield from self._attempt(f"{call} at cutoff {cutoff}", self._cutoff, chosen.rankers, call, cutoff)
        for name in self.experiment.comparators if self.fg else ():
            arguments = (name, self.experiment.cutoff)
            yield from self._attempt(f"The comparator {name}", self._comparator, chosen.rankers, *arguments)

    def _examples_of(self, record: MethodRecord, best: RankerRecord) -> Iterator[ExamplesRecord]:
        """Show the queries on which a method gains and loses most against the best ranker."""
        main = self.experiment.main
        ours, other = record.values[main], best.values[main]
        extremes = [(number, float(ours[number]), float(other[number])) for number in extreme_queries(ours, other)]
        call = Call.parse(record.chosen or record.method)
        arguments = (record.selection, record.method, call, self.experiment.cutoff, extremes)
        return self._attempt("Finding examples", self._examples, (*record.rankers, best.ranker), *arguments)

    def _attempt(
        self, title: str, measure: Callable[..., R], rankers: Sequence[str], *arguments: object
    ) -> Iterator[R]:
        """Yield the record of a step; if it fails, note the error and continue."""
        try:
            record = self._step(measure, rankers, *arguments)
        except StepError as error:
            self.failed.append(f"{title} failed: {error}")
            self.steps.advance()
            return
        yield record

    def _step(self, measure: Callable[..., R], rankers: Sequence[str], *arguments: object) -> R:
        """Return the record of a step, stored under all it depends on: lists, truth, measures and its arguments."""
        lists = [self.inputs.digests[name] for name in rankers]
        scoring = [self.inputs.truth, self.experiment.measures, answer_count(self.experiment)]
        scoring += ["exclude_self"] if self.experiment.exclude_self else []
        key = [measure.__name__, rankers, lists, scoring, arguments]
        return self.steps.get(key, partial(measure, rankers, *arguments))

    def _common(self) -> Bools:
        """Return a mask of the queries that every ranker has a list for; correlations use only these."""
        present = [(lists.queries.items != PAD).any(1) for lists in self.inputs.lists.values()]
        common: Bools = np.logical_and.reduce(present)
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

    def _ranker(self, rankers: Sequence[str], estimates: Sequence[str], neighbors: int) -> RankerRecord:
        (name,) = rankers
        lists, own = self.inputs.lists[name], self.own.get(name)
        means = {} if own is None else {kind: estimate(own, kind=kind, neighbors=neighbors) for kind in estimates}
        return RankerRecord(name, self.inputs.evaluate(lists.queries), means, lists.seconds, lists.queries.recall)

    def _correlation(self, rankers: Sequence[str], kind: str, depth: int) -> CorrelationRecord:
        ranks = [self.inputs.lists[name].queries.rows(np.flatnonzero(self.common)) for name in rankers]
        return CorrelationRecord(kind, depth, tuple(rankers), correlations(ranks, kind=kind, depth=depth))

    def _method(
        self, rankers: Sequence[str], selection: str, call: Call, tried: Sequence[Call], cutoff: int, *split: Any
    ) -> MethodRecord:
        measured = [self._measured(rankers, variant, cutoff) for variant in tried]
        main = np.array([values[self.experiment.main] for values, _ in measured])
        best = np.full(main.shape[1], main.mean(axis=1).argmax())  # the first among equals
        if split:
            best = tuned(main, *split)
        chosen = int(np.bincount(best).argmax())
        queries = np.arange(main.shape[1])
        values = {name: np.array([one[name] for one, _ in measured])[best, queries] for name in measured[0][0]}
        swept = str(tried[chosen]) if tried[chosen] != call else ""
        return MethodRecord(selection, tuple(rankers), str(call), values, measured[chosen][1], chosen=swept)

    def _examples(
        self, rankers: Sequence[str], selection: str, method: str, call: Call, cutoff: int, extremes: Sequence[Extreme]
    ) -> ExamplesRecord:
        *inside, best = rankers
        examples, ranked = Examples(self.inputs.collection), self.inputs.lists[best].queries
        fused, _ = self._fused(inside, call, cutoff)
        shown = []
        for number, ours, other in extremes:
            answers = (examples.answer(number, fused), examples.answer(number, ranked))
            shown.append(Example(examples.query(number), ours, other, *answers))
        return ExamplesRecord(selection, method, best, tuple(shown))

    def _folds(self) -> tuple[float, int]:
        """Return what decides which queries a size is tuned on."""
        return self.experiment.split, self.experiment.seed

    def _variants(self, call: Call) -> list[Call]:
        """Return the calls of a sweep whose neighborhoods fit into the lists; the call itself if it is not a sweep."""
        depth = max(ranks.depth for ranks in self.own.values()) if self.own else 0
        found = variants(call)
        return (
            [variant for variant in found if dict(variant.options).get("neighbors", 0) <= depth]
            if len(found) > 1
            else found
        )

    def _measured(self, rankers: Sequence[str], call: Call, cutoff: int) -> tuple[Values, float]:
        answer, seconds = self._fused(rankers, call, cutoff)
        return self.inputs.evaluate(answer), seconds

    def _cutoff(self, rankers: Sequence[str], call: Call, cutoff: int) -> CutoffRecord:
        return CutoffRecord(str(call), cutoff, *self._measured(rankers, _with_cutoff(call, cutoff), cutoff))

    def _comparator(self, rankers: Sequence[str], comparator: str, cutoff: int) -> ComparatorRecord:
        values, _ = self._measured(rankers, Call.of("fg", {"comparator": comparator}), cutoff)
        return ComparatorRecord(comparator, values)

    def _time(self, rankers: Sequence[str], selection: str, cutoff: int, repeats: int) -> TimeRecord:
        self._timed(rankers, cutoff)  # the first run loads or compiles the kernels
        offline, query = zip(*(self._timed(rankers, cutoff) for _ in range(repeats)), strict=True)
        return TimeRecord(selection, offline, query)

    def _fused(self, rankers: Sequence[str], call: Call, cutoff: int) -> tuple[Ranks, float]:
        """Return the fused lists and the seconds it took; a cutoff among the options of `call` takes precedence."""
        method = METHODS[call.name]
        lists = [self.inputs.lists[name] for name in rankers]
        ranks, options = [both.queries for both in lists], dict(call.options)
        if issubclass(method, QueryMethod):
            deep = max(cutoff, options.get("depth") or 0)
            ranks = [known.head(deep) for known in ranks]
        else:
            if not self.inputs.labeled:
                options["collection"] = [both.items for both in lists]
            facts = [fact for fact in FACTS if fact in METHODS.options(call.name)]
            options |= {fact: [getattr(both.traits, fact) for both in lists] for fact in facts}
        if "cutoff" in METHODS.options(call.name) and call.name not in OWN_CUTOFF:
            options.setdefault("cutoff", cutoff)
        self._warm_up(call.name)
        start = time.perf_counter()
        answer = fuse(ranks, call.name, answer_count(self.experiment), **options)
        return answer, time.perf_counter() - start

    def _warm_up(self, method: str) -> None:
        """Load or compile the kernels of a method, so that its first timed run is like any other."""
        if method not in self.warm and not issubclass(METHODS[method], QueryMethod):
            small = Ranks.from_vectors([[float(i)] for i in range(30)], "l2")
            fuse([small, small], method)
        self.warm.add(method)

    def _timed(self, rankers: Sequence[str], cutoff: int) -> tuple[float, float]:
        """Return the seconds to build an index and the seconds per query, on one thread."""
        lists = [self.inputs.lists[name] for name in rankers]
        queries, items = [both.queries for both in lists], [both.items for both in lists if both.items is not None]
        start = time.perf_counter()
        comparable = [both.traits.comparable for both in lists]
        own, external = (queries, None) if self.inputs.labeled else (items, queries)
        index = FusionIndex.build(own, cutoff=cutoff, comparable=comparable, threads=1)
        built = time.perf_counter()
        index.search(external, answer_count(self.experiment), threads=1)
        n_queries = lists[0].queries.n_queries
        return built - start, (time.perf_counter() - built) / n_queries


def tuned(values: Floats, split: float, seed: int) -> Indexes:
    """Return for each query the variant that is best on a share of the others, given the values of all variants.

    The queries are shuffled and dealt into parts; for each, the others choose.
    """
    n_queries = values.shape[1]
    n_parts = min(_n_parts(split), n_queries)
    part = np.random.default_rng(seed).permutation(n_queries) % n_parts
    if n_parts < 2:
        return np.zeros(n_queries, np.intp)
    best = np.array([values[:, part != one].mean(axis=1).argmax() for one in range(n_parts)])
    return np.asarray(best[part], np.intp)


def _n_parts(split: float) -> int:
    return max(2, round(1 / (1 - split)))


def _with_cutoff(call: Call, cutoff: int) -> Call:
    """Return the call with a cutoff, if the method has one."""
    given = {"cutoff": cutoff} if "cutoff" in METHODS.options(call.name) else {}
    return Call.of(call.name, dict(call.options) | given)


def _sweep_notes(methods: Sequence[Call], experiment: Experiment) -> list[str]:
    of = {how: [call.name for call in methods if dict(call.options).get("neighbors") == how] for how in (SWEEP, TUNED)}
    sizes = f"of {', '.join(map(str, SWEPT_NEIGHBORS))} neighbors, the number with the highest {experiment.main}"
    notes = []
    if swept := ", ".join(of[SWEEP]):
        notes.append(
            f"'best of sweep' ({swept}): {sizes} on the selection. It is chosen with the judgments, which favors these "
            "baselines."
        )
    if found := ", ".join(of[TUNED]):
        share = 1 - 1 / _n_parts(experiment.split)
        notes.append(f"'tuned' ({found}): {sizes} on {share:.0%} of the queries, measured on the others.")
    return notes
