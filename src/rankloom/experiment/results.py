"""The results of an experiment: one record per measurement, stored as JSON lines.

Every table and figure of a report is made from these records and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypedDict, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from rankloom.errors import InputError, brief, whole_number
from rankloom.evaluation import Units
from rankloom.experiment.spec import Experiment
from rankloom.io.atomic_file import atomic_write
from rankloom.io.text_file import json_lines
from rankloom.ranks.arrays import Floats

Seconds = Annotated[float, "not negative"]
Vector = Annotated[Floats, "of one dimension"]
Matrix = Annotated[Floats, "of two dimensions"]
#: Measure -> its value for each query.
Values = dict[str, Vector]

FILE = "results.jsonl"
DATA_URI = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/]+=*")
FORMAT = 1
MAX_NUMBER = 1e15  # sums of larger ones overflow


class About(TypedDict, total=False):
    """The provenance of results; any of it may be missing in older results."""

    collection: str  #: its description
    n_items: int
    n_queries: int
    versions: dict[str, str]
    machine: str
    command: str
    started: str
    made: str  #: environment of the last run
    notes: list[str]  #: what was left out, and why
    failed: list[str]  #: the notes on steps that failed
    classes: list[str]  #: the class of each query, if items are labeled
    cut: bool  #: whether any list is longer than the cutoff


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
    seconds: Seconds
    recall: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationRecord:
    """Similarity of the rankers' lists by one correlation measure (Eq. 7, 8 or 9)."""

    correlation: str
    depth: int
    rankers: tuple[str, ...]
    matrix: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class SelectionRecord:
    """The rankers chosen by a selection."""

    selection: str
    rankers: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MethodRecord(Measured):
    """Effectiveness of a method on the rankers of a selection, and its time for all queries.

    `made` is the environment of the run in one line; empty in older results. `chosen` is the best of a sweep, such as
    ``rkgraph(neighbors=5)``, or what was tuned for most of the queries; empty if the method is neither.
    """

    selection: str
    rankers: tuple[str, ...]
    method: str
    values: Values
    seconds: Seconds
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
        if self.image and not DATA_URI.fullmatch(self.image):
            raise ValueError("expected an image as a data URI")


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
    seconds: Seconds
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
    offline: tuple[Seconds, ...]
    query: tuple[Seconds, ...]
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
    """The records of an experiment and their provenance."""

    experiment: Experiment
    about: About
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
    def classes(self) -> list[str] | None:
        """The class of each query; None for judged queries, and in older results."""
        return self.about.get("classes")

    @property
    def units(self) -> Units:
        """What tests are over: those of the experiment, or queries where classes are not known."""
        return "classes" if self.experiment.units == "classes" and self.classes else "queries"

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
        """Read the results that `write` wrote; raise InputError if they are unfinished or damaged."""
        path = Path(folder) / FILE
        if not path.is_file():
            raise InputError(f"{folder} has no {FILE}; run the experiment to its end first.")
        (_, head), *rest = [*_lines(path)] or [(1, {})]
        if head.get("format") != FORMAT:
            raise InputError(f"{path} does not have format {FORMAT}; run the experiment again.")
        experiment, about = _header(path, head)
        records = [_record(path, number, plain) for number, plain in rest]
        _check_values(path, experiment, about, records)
        return cls(experiment, about, tuple(records))


def to_json(record: Record) -> dict[str, object]:
    """Return a record as plain data."""
    kind = next(name for name, kind in KINDS.items() if isinstance(record, kind))
    return {"kind": kind, **{field.name: _plain(getattr(record, field.name)) for field in fields(record)}}


def from_json(plain: object) -> Record:
    """Return the record that `to_json` wrote. Raise ValueError for anything else."""
    try:
        given = dict(_parsed(dict[str, object], plain))
        record: Record = _parsed(KINDS[given.pop("kind")], given)
        return record
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"not a record: {error}") from None


def _parsed(kind: Any, value: object) -> Any:
    """Return a JSON value as the type of a field. Raise ValueError, TypeError or KeyError if it has another."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is object or (kind in (str, bool) and isinstance(value, kind)):
        return value
    if kind is int:
        return whole_number("a count", value)
    if kind in (float, Seconds, Vector, Matrix):
        return _numbers(kind, value)
    if origin is dict and isinstance(value, dict):
        return {name: _parsed(inner[1], one) for name, one in value.items()}
    if origin in (tuple, list) and isinstance(value, list):
        return origin(_parsed(inner[0], element) for element in value)
    if NoneType in inner:
        return None if value is None else _parsed(inner[0], value)
    if isinstance(value, dict) and (is_dataclass(kind) or is_typeddict(kind)):
        kinds = get_type_hints(kind, include_extras=True)
        return kind(**{name: _parsed(kinds[name], one) for name, one in value.items()})
    raise ValueError(f"expected {getattr(kind, '__name__', kind)}, got {brief(value)}")


def _numbers(kind: object, value: object) -> Floats | float:
    n_dimensions = 1 if kind == Vector else 2 if kind == Matrix else 0
    found = np.array(value, np.float64)
    if found.ndim != n_dimensions or not (np.abs(found) <= MAX_NUMBER).all():
        raise ValueError(f"expected numbers in {n_dimensions} dimensions, none above {MAX_NUMBER:g}")
    if kind == Seconds and found < 0:
        raise ValueError(f"expected seconds, got {brief(value)}")
    return found if n_dimensions else float(found)


def _plain(value: object) -> object:
    """Return the value of a field as JSON can hold it."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Example):
        return _plain(asdict(value))
    return value.tolist() if isinstance(value, np.ndarray) else value


def _lines(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    for number, _, plain in json_lines(path):
        if not isinstance(plain, dict):
            raise InputError(f"{path}:{number}: not a JSON object; run the experiment again.")
        try:
            json.dumps(plain, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(f"{path}:{number}: a lone surrogate; run the experiment again.") from None
        yield number, plain


def _header(path: Path, head: Mapping[str, object]) -> tuple[Experiment, About]:
    """Return the specification and the provenance in the first line; raise InputError if they are not valid."""
    spec, given = head.get("experiment"), head.get("about")
    if not isinstance(spec, dict) or not isinstance(given, dict):
        raise InputError(f"{path}:1: not a header of results; run the experiment again.")
    known = {name: one for name, one in given.items() if name in About.__annotations__ and one is not None}
    try:
        about: About = _parsed(About, known)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path}:1: about: {error}. Run the experiment again.") from None
    try:
        return Experiment.from_dict(spec), about
    except InputError as error:
        raise InputError(f"{path}:1: {error}") from None


def _record(path: Path, number: int, plain: Mapping[str, object]) -> Record:
    try:
        return from_json(plain)
    except ValueError as error:
        raise InputError(f"{path}:{number}: {error}. Run the experiment again.") from None


def _check_values(path: Path, experiment: Experiment, about: About, records: Iterable[Record]) -> None:
    """Raise InputError if the records do not fit together."""
    measures, counts = {*map(str, experiment.measures)}, {len(about["classes"])} if about.get("classes") else set()
    for record in records:
        if isinstance(record, Measured):
            if not measures <= record.values.keys():
                raise InputError(f"{path} is damaged: a record lacks some measures. Run the experiment again.")
            counts |= {len(values) for values in record.values.values()}
        if isinstance(record, CorrelationRecord) and record.matrix.shape != (len(record.rankers),) * 2:
            raise InputError(f"{path} is damaged: a matrix does not match its rankers. Run the experiment again.")
    if len(counts) > 1 or 0 in counts:
        wrong = "differ in the number of queries" if len(counts) > 1 else "have no queries"
        raise InputError(f"{path} is damaged: its records {wrong}. Run the experiment again.")


def distinct(records: Iterable[Record], attribute: str) -> list[str]:
    """Return the distinct values of an attribute, in order of first appearance."""
    return list(dict.fromkeys(getattr(record, attribute) for record in records))
