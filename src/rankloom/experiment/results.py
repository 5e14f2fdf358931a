"""The results of an experiment: one record per measurement, stored as JSON lines.

Every table and figure of a report is made from these records and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

from rankloom.errors import InputError, whole_number
from rankloom.experiment.spec import Experiment
from rankloom.io.atomic_file import atomic_write
from rankloom.io.text_file import json_lines
from rankloom.ranks.arrays import Floats

#: Measure -> its value for each query.
Values = dict[str, Floats]

FILE = "results.jsonl"
DATA_URI = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/]+=*")
FORMAT = 1
MAX_NUMBER = 1e15  # sums of larger ones overflow
#: The types of what is known about a run; all of it may be missing in older results.
ABOUT: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("collection", "machine", "command", "started", "made"), (str,)),
    **dict.fromkeys(("n_items", "n_queries"), (int,)),
    **dict.fromkeys(("notes", "failed"), (list, str)),
    "versions": (dict,),
    "cut": (bool,),
}


class Measured:
    """What has values of each measure for each query."""

    __slots__ = ()
    values: Values

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the queries."""
        return float(self.values[measure].mean())


@dataclass(frozen=True, slots=True, eq=False)
class RankerRecord(Measured):
    """Effectiveness of a single ranker, measured and estimated without labels, and its ranking time.

    For cached lists the time is that of the original run, which may have been on another machine. `recall` is that of
    an approximate ranker (`Ranks.recall`), None for the others.
    """

    ranker: str
    values: Values
    estimates: dict[str, float]  # estimate -> its mean over the collection
    seconds: float
    recall: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationRecord:
    """Similarity of the rankers' lists by one correlation measure (Eq. 7, 8 or 9)."""

    correlation: str
    depth: int
    rankers: tuple[str, ...]
    matrix: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SelectionRecord:
    """The rankers chosen by a selection."""

    selection: str
    rankers: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MethodRecord(Measured):
    """Effectiveness of a method on the rankers of a selection, and its time for all queries.

    `made` is the environment of the run in one line; empty in older results. `chosen` is the best of a sweep, such as
    ``rkgraph(neighbors=5)``; empty if the method is not a sweep.
    """

    selection: str
    rankers: tuple[str, ...]
    method: str
    values: Values
    seconds: float
    made: str = ""
    chosen: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PairRecord(Measured):
    """Effectiveness of the first method on the pair of rankers that Eq. 6 chooses by one correlation measure."""

    correlation: str
    rankers: tuple[str, ...]
    method: str
    values: Values


@dataclass(frozen=True, slots=True)
class Shown:
    """A query or an item as a report shows it: its id, a short text or its class, and a thumbnail as a data URI."""

    id: str
    text: str = ""
    image: str = ""
    relevant: bool = False

    def __post_init__(self) -> None:
        if not all(isinstance(one, str) for one in (self.id, self.text, self.image)):
            raise ValueError("expected strings to show")
        if self.image and not DATA_URI.fullmatch(self.image):
            raise ValueError("expected an image as a data URI")
        if not isinstance(self.relevant, bool):
            raise ValueError(f"relevant must be true or false, got {self.relevant!r}")


@dataclass(frozen=True, slots=True)
class Example:
    """A query, the main measure of a method and of a ranker on it, and the first items of their lists."""

    query: Shown
    score: float
    ranker_score: float
    fused: tuple[Shown, ...]
    ranked: tuple[Shown, ...]

    @property
    def gain(self) -> float:
        """What the method gains; negative for a loss."""
        return self.score - self.ranker_score

    @classmethod
    def read(cls, plain: dict[str, Any]) -> Example:
        """Return an example from plain data. Raise ValueError, TypeError or KeyError for anything else."""
        fused, ranked = (tuple(Shown(**one) for one in plain[name]) for name in ("fused", "ranked"))
        return cls(Shown(**plain["query"]), _number(plain["score"]), _number(plain["ranker_score"]), fused, ranked)


@dataclass(frozen=True, slots=True, eq=False)
class ExamplesRecord:
    """The queries on which the first method gains and loses most against the best ranker."""

    selection: str
    method: str
    ranker: str
    examples: tuple[Example, ...]  # largest gain first, then largest loss first


@dataclass(frozen=True, slots=True, eq=False)
class CutoffRecord(Measured):
    """Effectiveness of a method on the first selection at one cutoff."""

    method: str
    cutoff: int
    values: Values
    seconds: float
    made: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ComparatorRecord(Measured):
    """Effectiveness of fusion graphs on the first selection with one comparator."""

    comparator: str
    values: Values


@dataclass(frozen=True, slots=True, eq=False)
class TimeRecord:
    """Seconds of repeated runs of fusion graphs on a selection: in total offline, and per query."""

    selection: str
    offline: tuple[float, ...]
    query: tuple[float, ...]
    made: str = ""


Record = (
    RankerRecord
    | CorrelationRecord
    | SelectionRecord
    | MethodRecord
    | PairRecord
    | ExamplesRecord
    | CutoffRecord
    | ComparatorRecord
    | TimeRecord
)
#: The kinds of records by name: `ranker`, `correlation`, and so on.
KINDS: dict[str, type[Record]] = {kind.__name__.removesuffix("Record").lower(): kind for kind in get_args(Record)}
#: Records with the environment they were timed in.
TIMED = (MethodRecord, CutoffRecord, TimeRecord)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The records of an experiment and their provenance.

    `about` has ``collection`` (its description), ``n_items``, ``n_queries``, ``versions``, ``machine``, ``command``,
    ``started``, ``made`` (environment of the last run), ``notes`` (what was left out, and why), ``failed`` (the
    notes on steps that failed) and ``cut`` (whether any list is longer than the cutoff).
    """

    experiment: Experiment
    about: dict[str, Any]
    records: tuple[Record, ...]  #: in the order of the specification

    def of(self, kind: type[R]) -> list[R]:
        """Return the records of one kind."""
        return [record for record in self.records if isinstance(record, kind)]

    @property
    def main(self) -> str:
        """The first measure, by which rankers are selected and methods compared."""
        return self.experiment.main

    def score(self, one: Measured) -> float:
        """Return the mean of the main measure."""
        return one.mean(self.main)

    @property
    def depth_caveat(self) -> str:
        """A warning about measures deeper than the cutoff; empty if no list is longer than the cutoff."""
        return self.experiment.depth_caveat if self.about.get("cut", True) else ""

    def write(self, folder: Path) -> None:
        """Write JSON lines: first the specification and provenance, then the records."""
        head = {"kind": "experiment", "format": FORMAT, "experiment": self.experiment.to_dict(), "about": self.about}
        with atomic_write(folder / FILE) as file:
            for line in (head, *map(to_json, self.records)):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read the results that `write` wrote.

        Raises
        ------
        InputError
            If the folder has no finished results, or the file is damaged.
        """
        path = Path(folder) / FILE
        if not path.is_file():
            raise InputError(f"{folder} has no {FILE}; run the experiment to its end first.")
        (_, head), *rest = [*_lines(path)] or [(1, {})]
        if head.get("format") != FORMAT:
            raise InputError(f"{path} does not have format {FORMAT}; run the experiment again.")
        experiment = _header(path, head)
        records = [_record(path, number, plain) for number, plain in rest]
        _check_values(path, experiment, records)
        return cls(experiment, head["about"], tuple(records))


def to_json(record: Record) -> dict[str, Any]:
    """Return a record as plain data."""
    kind = next(name for name, kind in KINDS.items() if isinstance(record, kind))
    return {"kind": kind, **{field.name: _plain(getattr(record, field.name)) for field in fields(record)}}


def from_json(plain: Any) -> Record:
    """Return the record that `to_json` wrote. Raise ValueError for anything else."""
    try:
        given = dict(plain)
        kind = KINDS[given.pop("kind")]
        return kind(**{name: _read(name, value) for name, value in given.items()})
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a record: {error}") from None


def _read(name: str, value: Any) -> Any:
    """Return the parsed value of a field. Raise ValueError or TypeError if it is invalid."""
    if name == "values":
        return {str(measure): _numbers(one, 1) for measure, one in value.items()}
    if name == "matrix":
        return _numbers(value, 2)
    if name == "estimates":
        return {str(kind): _number(one) for kind, one in value.items()}
    if name == "rankers":
        return tuple(_text(one) for one in value)
    if name == "examples":
        return tuple(map(Example.read, value))
    if name in ("offline", "query"):
        return tuple(map(_seconds, value))
    if name == "recall":
        return None if value is None else _number(value)
    if name == "seconds":
        return _seconds(value)
    return whole_number(name, value) if name in ("depth", "cutoff") else _text(value)


def _numbers(value: Any, dimensions: int) -> Floats:
    found = np.array(value, np.float64)
    if found.ndim != dimensions or not (np.abs(found) <= MAX_NUMBER).all():
        raise ValueError(f"expected numbers in {dimensions} dimensions, none above {MAX_NUMBER:g}")
    return found


def _number(value: Any) -> float:
    return float(_numbers(value, 0))


def _seconds(value: Any) -> float:
    if _number(value) < 0:
        raise ValueError(f"expected seconds, got {value!r}")
    return _number(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {value!r}")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [asdict(one) if isinstance(one, Example) else one for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, _, plain in json_lines(path):
        if not isinstance(plain, dict):
            raise InputError(f"{path}:{number}: not a JSON object; run the experiment again.")
        try:
            json.dumps(plain, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(f"{path}:{number}: a lone surrogate; run the experiment again.") from None
        yield number, plain


def _header(path: Path, head: dict[str, Any]) -> Experiment:
    """Return the specification in the first line; raise InputError if it or the provenance is not valid."""
    spec, about = head.get("experiment"), head.get("about")
    if not isinstance(spec, dict) or not isinstance(about, dict):
        raise InputError(f"{path}:1: not a header of results; run the experiment again.")
    for name, kind in ABOUT.items():
        if about.get(name) is not None and type(about[name]) not in kind:
            raise InputError(f"{path}:1: {name} is not valid: {about[name]!r}. Run the experiment again.")
    try:
        return Experiment.from_dict(spec)
    except InputError as error:
        raise InputError(f"{path}:1: {error}") from None


def _record(path: Path, number: int, plain: dict[str, Any]) -> Record:
    try:
        return from_json(plain)
    except ValueError as error:
        raise InputError(f"{path}:{number}: {error}. Run the experiment again.") from None


def _check_values(path: Path, experiment: Experiment, records: Iterable[Record]) -> None:
    """Raise InputError if the records do not fit together."""
    measures, counts = {str(one) for one in experiment.measures}, set()
    for record in records:
        if isinstance(record, Measured):
            if not measures <= record.values.keys():
                raise InputError(f"{path} is damaged: a record lacks some measures. Run the experiment again.")
            counts |= {len(one) for one in record.values.values()}
        if isinstance(record, CorrelationRecord) and record.matrix.shape != (len(record.rankers),) * 2:
            raise InputError(f"{path} is damaged: a matrix does not match its rankers. Run the experiment again.")
    if len(counts) > 1 or 0 in counts:
        wrong = "differ in the number of queries" if len(counts) > 1 else "have no queries"
        raise InputError(f"{path} is damaged: its records {wrong}. Run the experiment again.")


def distinct(records: Iterable[Any], attribute: str) -> list[str]:
    """Return the distinct values of an attribute, in order of first appearance."""
    return list(dict.fromkeys(getattr(record, attribute) for record in records))
