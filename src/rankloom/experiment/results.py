"""What an experiment found, as data: a record for each thing measured, kept as JSON lines.

Every table and figure of a report is made from these records, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, whole_number
from rankloom.experiment.spec import Experiment
from rankloom.io.atomic import atomic_write
from rankloom.io.lines import numbered_lines

Floats = NDArray[np.float64]
#: Measure as written -> its value for each query.
Values = dict[str, Floats]

FILE = "results.jsonl"
FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class RankerRecord:
    """How good one ranker is alone; what it is estimated to be without labels; how long it took to rank.

    Lists that were kept have the seconds of when they were made, which may have been on another machine.
    """

    kind: ClassVar[str] = "ranker"
    ranker: str
    values: Values
    estimates: dict[str, float]  # name of the estimate -> its mean over the collection
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationRecord:
    """How alike the lists of rankers are, by one correlation (Eq. 7, 8 or 9)."""

    kind: ClassVar[str] = "correlation"
    correlation: str
    depth: int
    rankers: tuple[str, ...]
    matrix: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SelectionRecord:
    """Which rankers a selection chose."""

    kind: ClassVar[str] = "selection"
    selection: str
    rankers: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MethodRecord:
    """How good one method is on the rankers of one selection, and how long it took for all queries.

    `made` says by what and where, in one line; empty in results of old.
    """

    kind: ClassVar[str] = "method"
    selection: str
    rankers: tuple[str, ...]
    method: str
    values: Values
    seconds: float
    made: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CutoffRecord:
    """How good a method is, on the first selection, with lists cut at L."""

    kind: ClassVar[str] = "cutoff"
    method: str
    cutoff: int
    values: Values
    seconds: float
    made: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ComparatorRecord:
    """How good fusion graphs are, on the first selection, with one comparator."""

    kind: ClassVar[str] = "comparator"
    comparator: str
    values: Values


@dataclass(frozen=True, slots=True, eq=False)
class TimeRecord:
    """Seconds of several runs of fusion graphs on one selection: offline in all, and for one query."""

    kind: ClassVar[str] = "time"
    selection: str
    offline: tuple[float, ...]
    query: tuple[float, ...]
    made: str = ""


Record = (
    RankerRecord | CorrelationRecord | SelectionRecord | MethodRecord | CutoffRecord | ComparatorRecord | TimeRecord
)
KINDS: dict[str, type[Record]] = {
    kind.kind: kind
    for kind in (
        RankerRecord,
        CorrelationRecord,
        SelectionRecord,
        MethodRecord,
        CutoffRecord,
        ComparatorRecord,
        TimeRecord,
    )
}
#: Records whose seconds are those of a machine.
TIMED = (MethodRecord, CutoffRecord, TimeRecord)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The records of one experiment, and how they came about.

    Attributes
    ----------
    experiment : Experiment
    about : dict
        ``collection`` (a line about it), ``n_items``, ``n_queries``, ``versions``, ``machine``, ``command``,
        ``started``, ``made`` (by what and where, of the last run), ``notes`` (what was left out, and why),
        ``failed`` (the notes on what could not be done) and ``cut`` (whether any list is longer than the cutoff).
    records : tuple of records
        In the order of the specification.
    """

    experiment: Experiment
    about: dict[str, Any]
    records: tuple[Record, ...]

    def of(self, kind: type[R]) -> list[R]:
        """Return the records of one kind."""
        return [record for record in self.records if isinstance(record, kind)]

    @property
    def main(self) -> str:
        """The first measure: what rankers are chosen by and methods compared by."""
        return str(self.experiment.measures[0])

    @property
    def unequal(self) -> str:
        """What to know of measures that look deeper than the cutoff; nothing where no list is longer than it."""
        return self.experiment.unequal if self.about.get("cut", True) else ""

    def write(self, folder: Path) -> None:
        """Write all as JSON lines: first what it is about, then a line for each record."""
        head = {"kind": "experiment", "format": FORMAT, "experiment": self.experiment.to_dict(), "about": self.about}
        with atomic_write(folder / FILE) as file:
            for line in (head, *map(to_json, self.records)):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read what `write` wrote.

        Raises
        ------
        InputError
            Where the folder has no finished results, or the file is damaged.
        """
        path = Path(folder) / FILE
        if not path.is_file():
            raise InputError(f"{folder} has no {FILE}; run the experiment to its end first.")
        (_, head), *rest = [*_lines(path)] or [(1, {})]
        if head.get("format") != FORMAT:
            raise InputError(f"{path} is not of format {FORMAT}; run the experiment again.")
        if not isinstance(head.get("experiment"), dict) or not isinstance(head.get("about"), dict):
            raise InputError(f"{path}:1: not the head of results. Run the experiment again.")
        experiment = Experiment.from_dict(head["experiment"])
        records = [_record(path, number, plain) for number, plain in rest]
        _check_values(path, experiment, records)
        return cls(experiment, head["about"], tuple(records))


def to_json(record: Record) -> dict[str, Any]:
    """Return a record as plain data."""
    plain: dict[str, Any] = {"kind": record.kind}
    for field in fields(record):
        plain[field.name] = _plain(getattr(record, field.name))
    return plain


def from_json(plain: Any) -> Record:
    """Return the record that `to_json` wrote; raises ValueError for anything else."""
    try:
        given = dict(plain)
        kind = KINDS[given.pop("kind")]
        return kind(**{name: _read(name, value) for name, value in given.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a record: {error}") from None


def _read(name: str, value: Any) -> Any:
    """Return the value of a field; raises ValueError or TypeError where it can't be one."""
    if name == "values":
        return {str(measure): _numbers(one, 1) for measure, one in value.items()}
    if name == "matrix":
        return _numbers(value, 2)
    if name == "estimates":
        return {str(kind): float(one) for kind, one in value.items()}
    if name == "rankers":
        return tuple(_text(one) for one in value)
    if name in ("offline", "query"):
        return tuple(map(float, value))
    if name == "seconds":
        return float(value)
    return whole_number(name, value) if name in ("depth", "cutoff") else _text(value)


def _numbers(value: Any, dimensions: int) -> Floats:
    found = np.array(value, np.float64)
    if found.ndim != dimensions or not np.isfinite(found).all():
        raise ValueError(f"expected finite numbers in {dimensions} dimensions")
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {value!r}")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(path):
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError):
            plain = None
        if not isinstance(plain, dict):
            raise InputError(f"{path}:{number}: not a line of JSON; run the experiment again.")
        yield number, plain


def _record(path: Path, number: int, plain: dict[str, Any]) -> Record:
    try:
        return from_json(plain)
    except ValueError as error:
        raise InputError(f"{path}:{number}: {error}. Run the experiment again.") from None


def _check_values(path: Path, experiment: Experiment, records: Iterable[Record]) -> None:
    """Refuse records that the report could not lay side by side."""
    measures, counts = {str(one) for one in experiment.measures}, set()
    for record in records:
        values: Values = getattr(record, "values", {})
        if hasattr(record, "values") and not measures <= values.keys():
            raise InputError(f"{path} is damaged: a record has not all measures. Run the experiment again.")
        counts |= {len(one) for one in values.values()}
        if isinstance(record, CorrelationRecord) and record.matrix.shape != (len(record.rankers),) * 2:
            raise InputError(f"{path} is damaged: a matrix is not of its rankers. Run the experiment again.")
    if len(counts) > 1:
        raise InputError(f"{path} is damaged: its records are of different numbers of queries. Run it again.")


def names(records: Iterable[Any], attribute: str) -> list[str]:
    """Return the different values of an attribute, in the order first met."""
    return list(dict.fromkeys(getattr(record, attribute) for record in records))
