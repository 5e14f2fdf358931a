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

from rankloom.errors import InputError
from rankloom.experiment.spec import Experiment
from rankloom.io.aside import written_aside

Floats = NDArray[np.float64]
#: Measure as written -> its value for each query.
Values = dict[str, Floats]

FILE = "results.jsonl"
FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class RankerRecord:
    """How good one ranker is alone; what it is estimated to be without labels; how long it took to rank."""

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
    """How good one method is on the rankers of one selection, and how long it took for all queries."""

    kind: ClassVar[str] = "method"
    selection: str
    rankers: tuple[str, ...]
    method: str
    values: Values
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class CutoffRecord:
    """How good a method is, on the first selection, with lists cut at L."""

    kind: ClassVar[str] = "cutoff"
    method: str
    cutoff: int
    values: Values
    seconds: float


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
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The records of one experiment, and how they came about.

    Attributes
    ----------
    experiment : Experiment
    about : dict
        ``collection`` (a line about it), ``n_items``, ``n_queries``, ``versions``, ``machine``, ``command``,
        ``started`` and ``notes`` (what was left out, and why).
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

    def write(self, folder: Path) -> None:
        """Write all as JSON lines: first what it is about, then a line for each record."""
        head = {"kind": "experiment", "format": FORMAT, "experiment": self.experiment.to_dict(), "about": self.about}
        with written_aside(folder / FILE) as file:
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
        lines = list(_lines(path))
        if not lines or lines[0].get("format") != FORMAT:
            raise InputError(f"{path} is not of format {FORMAT}; run the experiment again.")
        try:
            experiment = Experiment.from_dict(lines[0]["experiment"])
            return cls(experiment, lines[0]["about"], tuple(map(from_json, lines[1:])))
        except (KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged: {error}. Run the experiment again.") from None


def to_json(record: Record) -> dict[str, Any]:
    """Return a record as plain data."""
    plain: dict[str, Any] = {"kind": record.kind}
    for field in fields(record):
        plain[field.name] = _plain(getattr(record, field.name))
    return plain


def from_json(plain: dict[str, Any]) -> Record:
    """Return the record that `to_json` wrote; raises KeyError or TypeError for anything else."""
    given = dict(plain)
    kind = KINDS[given.pop("kind")]
    for name, value in given.items():
        if name == "values":
            given[name] = {measure: np.array(one, np.float64) for measure, one in value.items()}
        elif name == "matrix":
            given[name] = np.array(value, np.float64)
        elif isinstance(value, list):
            given[name] = tuple(value)
    return kind(**given)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except ValueError:
                raise InputError(f"{path}:{number}: not a line of JSON; run the experiment again.") from None


def names(records: Iterable[Any], attribute: str) -> list[str]:
    """Return the different values of an attribute, in the order first met."""
    return list(dict.fromkeys(getattr(record, attribute) for record in records))
