"""The paper's protocol: rankers alone, their correlation, selections, methods, cutoffs, comparators, times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate import METHODS, fuse
from rankloom.evaluation import ESTIMATES, correlations, estimate
from rankloom.evaluation.estimates import common_neighbors
from rankloom.experiment.cells import Cells, StepError, cells_folder
from rankloom.experiment.choices import chosen
from rankloom.experiment.material import Material, answers, prepare, ranks_of, rooted
from rankloom.experiment.provenance import about, setting
from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    CutoffRecord,
    MethodRecord,
    RankerRecord,
    Record,
    Results,
    SelectionRecord,
    TimeRecord,
)
from rankloom.experiment.spec import Experiment
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io.atomic import atomic_write
from rankloom.io.cache import Cache
from rankloom.ranks import PAD, Ranks
from rankloom.registry import Call
from rankloom.threads import Progress

SPECIFICATION = "experiment.toml"
HEADER = "# What was run, written by rankloom: every value spelled out, files by their full names.\n"


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
    """Run an experiment and write what it found; one that was stopped goes on where it was.

    Parameters
    ----------
    folder : path
        Gets ``cells/`` (a file for each step done) and, at the end, ``experiment.toml`` and ``results.jsonl``. It must
        be new or empty, or one that an experiment began to fill.
    base : path
        Where files that the specification names are looked for: its own folder.
    cache : Cache, optional
        Of descriptors and ranks; that of the user by default.
    command : str
        What was typed, for the report.
    strict : bool
        An item that can't be described is an error; by default it is left out and named in the notes.
    progress : callable, optional
        Told (stage, done, total).

    Returns
    -------
    Results
        A method that can't be run is left out; ``about["failed"]`` says so.
    """
    tell = progress or (lambda stage, done, total: None)
    folder = Path(folder)
    steps_folder = cells_folder(folder)
    started = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    material = prepare(experiment, Path(base), cache or Cache.standard(), strict=strict, progress=tell)
    lab = Lab(material, steps_folder, threads, tell)
    records = tuple(lab.records())
    told = about(material, command=command, started=started, made=lab.cells.made, notes=lab.notes, failed=lab.failed)
    results = Results(experiment, told, records)
    with atomic_write(folder / SPECIFICATION) as file:
        file.write(HEADER + rooted(experiment, Path(base)).to_toml())
    results.write(folder)
    return results


class Lab:
    """Does the steps of one experiment in order; each step is a cell."""

    def __init__(self, material: Material, folder: Path, threads: int | None, progress: Progress) -> None:
        self.material = material
        self.experiment = material.experiment
        self.threads = threads
        self.notes = [f"Left out: {name}: {reason}" for name, reason in material.skipped.items()]
        self.failed: list[str] = []
        self.methods = self._possible(self.experiment.methods)
        self.curve = self._possible(self.experiment.curve)
        self.fg = material.obstacle("fg") is None
        self.cells = Cells(folder, setting(threads), progress)
        self.warm: set[str] = set()
        self.notes += [self.experiment.unequal] if self.experiment.unequal and material.cut else []
        own = {name: one.queries if material.labeled else one.items for name, one in material.lists.items()}
        self.own = {name: ranks for name, ranks in own.items() if ranks is not None}
        self.neighbors = common_neighbors(self.own)

    def records(self) -> Iterator[Record]:
        """Do all steps, in the order of the report."""
        rankers, common = self.experiment.ranker_names, self._common()
        kinds = self.experiment.correlations if common.any() else ()
        self.cells.stage("Rankers", len(rankers) + len(kinds))
        singles = [self._ranker(name) for name in rankers]
        alike = [self._correlation(kind, common) for kind in kinds]
        yield from singles
        yield from alike
        selected, notes = chosen(self.experiment, singles, alike[0] if alike else None)
        self.notes += notes
        yield from selected
        if not self.methods:
            self.failed.append("No method of the specification can be run here.")
        if not selected:
            self.failed.append("Nothing was fused: every selection is left out.")
            return
        self.cells.stage("Fusing", self._n_later(len(selected)))
        yield from self._methods(selected)
        yield from self._on_first(selected[0])
        for selection in selected if self.fg else ():
            yield from self._tried(f"Timing fg on {selection.selection}", partial(self._time, selection))

    def _methods(self, selected: Sequence[SelectionRecord]) -> Iterator[Record]:
        for selection in selected:
            for call in self.methods:
                yield from self._tried(f"{call} on {selection.selection}", partial(self._method, selection, call))

    def _on_first(self, selection: SelectionRecord) -> Iterator[Record]:
        """Measure the effect of L and of the comparator, on the first selection."""
        for call in self.curve:
            for cutoff in self.experiment.cutoffs:
                yield from self._tried(f"{call} at L = {cutoff}", partial(self._cutoff, selection, call, cutoff))
        for comparator in self.experiment.comparators if self.fg else ():
            yield from self._tried(f"The comparator {comparator}", partial(self._comparator, selection, comparator))

    def _tried(self, what: str, step: Callable[[], Record]) -> Iterator[Record]:
        """Yield the record of a step; one that can't be done is told of, and the others go on."""
        try:
            record = step()
        except StepError as error:
            self.failed.append(f"{what} failed: {error}")
            self.cells.step()
            return
        yield record

    def _common(self) -> NDArray[np.bool_]:
        """Return which queries have a list from every ranker: only these say how alike rankers are."""
        there = [(one.queries.items != PAD).any(1) for one in self.material.lists.values()]
        common: NDArray[np.bool_] = np.logical_and.reduce(there)
        gone = int((~common).sum())
        if gone:
            self.notes.append(
                f"{gone} of {len(common)} queries have no list from some ranker; correlations are over the others."
            )
        return common

    def _n_later(self, n_selections: int) -> int:
        cutoffs = len(self.curve) * len(self.experiment.cutoffs)
        graphs = (len(self.experiment.comparators) + n_selections) if self.fg else 0
        return n_selections * len(self.methods) + cutoffs + graphs

    def _possible(self, calls: Sequence[Call]) -> list[Call]:
        """Return the methods that can be run here; the others are noted."""
        possible = []
        for call in calls:
            obstacle = self.material.obstacle(call.name)
            if obstacle is None:
                possible.append(call)
            elif f"{obstacle}." not in self.notes:
                self.notes.append(f"{obstacle}.")
        return possible

    def _ingredients(self, kind: str, rankers: Sequence[str], *rest: Any) -> list[Any]:
        """Return all that the outcome of a step depends on."""
        material = self.material
        measures = [str(measure) for measure in self.experiment.measures]
        lists = [material.digests[name] for name in rankers]
        return [kind, list(rankers), lists, material.truth, measures, answers(self.experiment), *rest]

    def _ranker(self, name: str) -> RankerRecord:
        def make() -> RankerRecord:
            lists, own = self.material.lists[name], self.own.get(name)
            known = () if own is None else ESTIMATES
            estimates = {kind: estimate(own, kind=kind, neighbors=self.neighbors) for kind in known if own is not None}
            return RankerRecord(name, self.material.evaluate(lists.queries), estimates, lists.seconds)

        more = (list(ESTIMATES), self.neighbors)
        return self.cells.get(self._ingredients("ranker", [name], *more), make)

    def _correlation(self, kind: str, common: NDArray[np.bool_]) -> CorrelationRecord:
        names, depth = self.experiment.ranker_names, self.experiment.cutoff

        def make() -> CorrelationRecord:
            ranks = [one.rows(np.flatnonzero(common)) for one in ranks_of(list(self.material.lists.values()))]
            return CorrelationRecord(kind, depth, names, correlations(ranks, kind=kind, depth=depth))

        more = (kind, depth, int(common.sum()))
        return self.cells.get(self._ingredients("correlation", names, *more), make)

    def _method(self, selection: SelectionRecord, call: Call) -> MethodRecord:
        def make() -> MethodRecord:
            answer, seconds = self._fused(selection.rankers, call, self.experiment.cutoff)
            values = self.material.evaluate(answer)
            return MethodRecord(selection.selection, selection.rankers, str(call), values, seconds)

        more = (selection.selection, str(call), self.experiment.cutoff)
        return self.cells.get(self._ingredients("method", selection.rankers, *more), make)

    def _cutoff(self, selection: SelectionRecord, call: Call, cutoff: int) -> CutoffRecord:
        def make() -> CutoffRecord:
            answer, seconds = self._fused(selection.rankers, call, cutoff)
            return CutoffRecord(str(call), cutoff, self.material.evaluate(answer), seconds)

        return self.cells.get(self._ingredients("cutoff", selection.rankers, str(call), cutoff), make)

    def _comparator(self, selection: SelectionRecord, comparator: str) -> ComparatorRecord:
        def make() -> ComparatorRecord:
            call = Call.of("fg", {"comparator": comparator})
            answer, _ = self._fused(selection.rankers, call, self.experiment.cutoff)
            return ComparatorRecord(comparator, self.material.evaluate(answer))

        more = (comparator, self.experiment.cutoff)
        return self.cells.get(self._ingredients("comparator", selection.rankers, *more), make)

    def _time(self, selection: SelectionRecord) -> TimeRecord:
        def make() -> TimeRecord:
            self._timed(selection.rankers)  # the first run loads or compiles the kernels
            pairs = [self._timed(selection.rankers) for _ in range(self.experiment.repeats)]
            offline, query = zip(*pairs, strict=True)
            return TimeRecord(selection.selection, offline, query)

        more = (selection.selection, self.experiment.cutoff, self.experiment.repeats)
        return self.cells.get(self._ingredients("time", selection.rankers, *more), make)

    def _fused(self, rankers: Sequence[str], call: Call, cutoff: int) -> tuple[Ranks, float]:
        """Return the answers of a method and the seconds it took; equal cutoffs for all that take one."""
        method = METHODS[call.name]
        lists = [self.material.lists[name] for name in rankers]
        ranks, options = ranks_of(lists), dict(call.options)
        if method.needs == "queries":
            ranks = [one.head(cutoff) for one in ranks]
        elif not self.material.labeled:
            options["collection"] = [one.items for one in lists]
        if "cutoff" in method.options():
            options.setdefault("cutoff", cutoff)
        if "threads" in method.options():
            options["threads"] = self.threads
        self._warm_up(call.name)
        start = time.perf_counter()
        answer = fuse(ranks, call.name, answers(self.experiment), **options)
        return answer, time.perf_counter() - start

    def _warm_up(self, method: str) -> None:
        """Load or compile the kernels of a method, so that its first time is as any other."""
        if method not in self.warm and METHODS[method].needs == "collection":
            ring = Ranks.from_vectors([[float(i)] for i in range(30)], "l2")
            fuse([ring, ring], method)
        self.warm.add(method)

    def _timed(self, rankers: Sequence[str]) -> tuple[float, float]:
        """Return the seconds to build an index and to answer one query, on one thread."""
        lists = [self.material.lists[name] for name in rankers]
        outside = None if self.material.labeled else ranks_of(lists)
        own = ranks_of(lists) if outside is None else [one.items for one in lists if one.items is not None]
        start = time.perf_counter()
        index = FusionIndex.build(own, cutoff=self.experiment.cutoff, threads=1)
        built = time.perf_counter()
        index.search(outside, answers(self.experiment), threads=1)
        n_queries = lists[0].queries.n_queries
        return built - start, (time.perf_counter() - built) / n_queries
