"""Several experiments as one: which of them can be joined, and their effectiveness on every selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rankloom.errors import InputError
from rankloom.evaluation import Measure
from rankloom.experiment.results import FILE, MethodRecord, Results
from rankloom.experiment.step_cache import FOLDER
from rankloom.report.findings import first_method, mean


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Experiments to report together.

    Attributes
    ----------
    experiments : {label: Results}
        By the name of the experiment, which is numbered if it repeats.
    failed : tuple of str
        The folders that are left out because they have no usable results, and why.
    notes : tuple of str
        Experiments left out on purpose, and collections that count more than once.
    """

    experiments: dict[str, Results]
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> str | None:
        """The method that most experiments compare the others with."""
        found = Counter(first for first in map(first_method, self.experiments.values()) if first is not None)
        return found.most_common(1)[0][0] if found else None

    @property
    def effectiveness(self) -> dict[tuple[str, str], dict[str, float]]:
        """The main measure of each method, by experiment and selection."""
        found: dict[tuple[str, str], dict[str, float]] = {}
        for label, results in self.experiments.items():
            for one in results.of(MethodRecord):
                value = mean(one.values, results.main)
                if value is not None:
                    found.setdefault((label, one.selection), {})[one.method] = value
        return found

    @property
    def scale(self) -> str:
        """The name of the main measures, each divided by its best value, such as ``ndcg@10, ns/4``."""
        measures = dict.fromkeys(results.experiment.measures[0] for results in self.experiments.values())
        return ", ".join(str(one) if one.best == 1 else f"{one}/{one.best:g}" for one in measures)


def join(folders: Iterable[str | Path], measure: str | None = None) -> Joint:
    """Read experiments to report together.

    Folders without usable results, repeated experiments and, given a measure, experiments that lack it are left out.

    Parameters
    ----------
    folders : iterable of path
        Written by `rankloom.experiment.run`.
    measure : str, optional
        Compare by this measure; by default each experiment by its first.

    Raises
    ------
    InputError
        If nothing is left, with the reasons.
    """
    found: dict[Path, Results] = {}
    failed, notes = [], []
    for folder in dict.fromkeys(map(Path, folders)):
        try:
            found[folder] = _read(folder)
        except InputError as error:
            failed.append(f"{folder} is left out: {error}")
    found, more = _distinct(found)
    notes += more
    if measure is not None:
        found, more = _by_measure(found, Measure.parse(measure))
        notes += more
    if not found:
        raise InputError(" ".join(["There is nothing to report.", *failed, *notes]))
    experiments = _labeled(list(found.values()))
    return Joint(experiments, tuple(failed), (*notes, *_repeated_collections(experiments)))


def common_methods(effectiveness: dict[tuple[str, str], dict[str, float]]) -> list[str]:
    """Return the methods that were run on every selection of every experiment.

    Examples
    --------
    >>> common_methods({("Soccer", "all"): {"fg": 0.6, "rrf": 0.5}, ("Emoji", "all"): {"weft": 0.7, "fg": 0.6}})
    ['fg']
    """
    every = list(effectiveness.values())
    return [method for method in every[0] if all(method in one for one in every)] if every else []


def restricted(
    effectiveness: dict[tuple[str, str], dict[str, float]], methods: Sequence[str]
) -> dict[Hashable, dict[str, float]]:
    """Return the effectiveness of some methods."""
    return {key: {method: values[method] for method in methods} for key, values in effectiveness.items()}


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
            ordered = (measure, *(one for one in measures if one != measure))
            kept[folder] = replace(results, experiment=replace(results.experiment, measures=ordered))
        else:
            names = ", ".join(map(str, measures))
            notes.append(f"{folder} is left out: it was not measured by {measure}, only by {names}.")
    return kept, notes


def _labeled(found: list[Results]) -> dict[str, Results]:
    labeled: dict[str, Results] = {}
    for results in found:
        name, number = results.experiment.name, 2
        while name in labeled:
            name, number = f"{results.experiment.name} ({number})", number + 1
        labeled[name] = results
    return labeled


def _repeated_collections(experiments: dict[str, Results]) -> list[str]:
    labels: dict[str, list[str]] = {}
    for label, results in experiments.items():
        labels.setdefault(str(results.experiment.collection), []).append(label)
    return [
        f"The collection {name} is in {len(several)} experiments ({'; '.join(several)}) and counts for each of them."
        for name, several in labels.items()
        if len(several) > 1
    ]
