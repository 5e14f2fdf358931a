"""What a report is about: one experiment or several, and their effectiveness on every selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from rankloom.errors import InputError
from rankloom.evaluation import Measure
from rankloom.experiment.results import FILE, MethodRecord, Results
from rankloom.experiment.step_cache import FOLDER
from rankloom.report.findings import first_method
from rankloom.report.names import display_names

#: The value of each method on a selection of an experiment.
Effectiveness = dict[tuple[str, str], dict[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """One experiment, or several to report together."""

    experiments: dict[str, Results]  #: by the name of the experiment, which is numbered if it repeats
    failed: tuple[str, ...] = ()  #: the folders that are left out because they have no usable results, and why
    notes: tuple[str, ...] = ()  #: experiments left out on purpose, and collections that count more than once

    @classmethod
    def of(cls, results: Results) -> Report:
        """Return the report of one experiment."""
        return cls({results.experiment.name: results})

    @classmethod
    def read(cls, folders: Iterable[str | Path], measure: str | None = None) -> Report:
        """Read experiments to report together.

        Each is compared by its first measure unless one is given. Folders without usable results, repeated experiments
        and experiments that lack that measure are left out.
        """
        found: dict[Path, Results] = {}
        failed = []
        for folder in dict.fromkeys(map(Path, folders)):
            try:
                found[folder] = _read(folder)
            except InputError as error:
                failed.append(f"{folder} is left out: {error}")
        found, notes = _distinct(found)
        if measure is not None:
            found, more = _by_measure(found, Measure.parse(measure))
            notes += more
        if not found:
            raise InputError(" ".join(["There is nothing to report.", *failed, *notes]))
        experiments = dict(
            zip(numbered([results.experiment.name for results in found.values()]), found.values(), strict=True)
        )
        return cls(experiments, tuple(failed), (*notes, *_repeated_collections(experiments)))

    @property
    def alone(self) -> Results | None:
        """The experiment, if it is the only one."""
        return next(iter(self.experiments.values())) if len(self.experiments) == 1 else None

    @property
    def first(self) -> str | None:
        """The method that most experiments compare the others with."""
        methods = Counter(filter(None, map(first_method, self.experiments.values())))
        return methods.most_common(1)[0][0] if methods else None

    @property
    def names(self) -> dict[str, str]:
        """What tables call methods, by spelling."""
        return {k: name for one in self.experiments.values() for k, name in display_names(one.experiment).items()}

    @property
    def effectiveness(self) -> Effectiveness:
        """The main measure of each method, by experiment and selection."""
        scores: Effectiveness = {}
        for label, results in self.experiments.items():
            for record in results.of(MethodRecord):
                scores.setdefault((label, record.selection), {})[record.method] = results.score(record)
        return scores

    @property
    def scale(self) -> str:
        """The name of the main measures, each divided by its best value, such as ``ndcg@10, ns/4``."""
        measures = dict.fromkeys(results.experiment.measures[0] for results in self.experiments.values())
        return ", ".join(str(measure) if measure.best == 1 else f"{measure}/{measure.best:g}" for measure in measures)


def common_methods(effectiveness: Effectiveness) -> list[str]:
    """Return the methods that were run on every selection of every experiment."""
    every = list(effectiveness.values())
    return [method for method in every[0] if all(method in scores for scores in every)] if every else []


def restricted(effectiveness: Effectiveness, methods: Sequence[str]) -> Effectiveness:
    """Return the effectiveness of some methods."""
    return {key: {method: values[method] for method in methods} for key, values in effectiveness.items()}


def numbered(names: Iterable[str], separator: str = " ({})", key: Callable[[str], str] = str) -> list[str]:
    """Return the names, with numbers appended to repeated ones; names are the same if their keys are.

    Examples
    --------
    >>> numbered(["Soccer", "Emoji", "Soccer"])
    ['Soccer', 'Emoji', 'Soccer (2)']
    """
    distinct: dict[str, str] = {}
    for name in names:
        suffixes = chain([""], map(separator.format, count(2)))
        new = next(name + suffix for suffix in suffixes if key(name + suffix) not in distinct)
        distinct[key(new)] = new
    return list(distinct.values())


def _read(folder: Path) -> Results:
    if not folder.exists():
        raise InputError("it does not exist.")
    if not folder.is_dir():
        raise InputError("it is a file, not a folder of results.")
    if not (folder / FILE).is_file():
        started = (folder / FOLDER).is_dir()
        reason = "the experiment is unfinished; run it again to resume it." if started else f"it has no {FILE}."
        raise InputError(reason)
    return Results.read(folder)


def _distinct(found: dict[Path, Results]) -> tuple[dict[Path, Results], list[str]]:
    """Return the experiments with different specifications, and notes on the others."""
    kept: dict[str, Path] = {}
    notes = []
    for folder, results in found.items():
        first = kept.setdefault(results.experiment.digest, folder)
        if first != folder:
            notes.append(f"{folder} is left out: it is the same experiment as {first}.")
    return {folder: found[folder] for folder in kept.values()}, notes


def _by_measure(found: dict[Path, Results], measure: Measure) -> tuple[dict[Path, Results], list[str]]:
    """Return the experiments with a measure, which becomes their first, and notes on the others."""
    kept, notes = {}, []
    for folder, results in found.items():
        measures = results.experiment.measures
        if measure in measures:
            ordered = (measure, *(other for other in measures if other != measure))
            kept[folder] = replace(results, experiment=replace(results.experiment, measures=ordered))
        else:
            names = ", ".join(map(str, measures))
            notes.append(f"{folder} is left out: it was not measured by {measure}, only by {names}.")
    return kept, notes


def _repeated_collections(experiments: dict[str, Results]) -> list[str]:
    labels: dict[str, list[str]] = {}
    for label, results in experiments.items():
        labels.setdefault(str(results.experiment.collection), []).append(label)
    return [
        f"The collection {name} is in {len(several)} experiments ({'; '.join(several)}) and counts for each of them."
        for name, several in labels.items()
        if len(several) > 1
    ]
