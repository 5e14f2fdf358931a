"""What to do, in one frozen value: collection, rankers, methods, cutoffs, measures, selections, seed."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rankloom.aggregate import METHODS
from rankloom.compare import COMPARATORS
from rankloom.errors import InputError, UnknownNameError, whole_number
from rankloom.evaluation import CORRECTIONS, CORRELATIONS, TESTS, Measure
from rankloom.selection import Selection
from rankloom.spelling import Call

#: Fusion graphs and the sixteen baselines of the paper.
PAPER_METHODS = tuple(
    map(
        Call,
        "fg rkgraph corgraph recknngraphccs queryrankfusion mra rrf combsum combmin combmax combmed combanz combmnz "  # noqa: SIM905
        "borda condorcet kemeny rlsim".split(),
    )
)
#: The cutoffs of the paper's figure, and on to 100.
PAPER_CUTOFFS = (2, 4, 6, 8, 10, 12, 14, 16, 20, 30, 40, 60, 80, 100)

#: How each of several things is read.
PARSERS: dict[str, Callable[[str], Any]] = {
    "methods": Call.parse,
    "curve": Call.parse,
    "measures": Measure.parse,
    "selections": Selection.parse,
    "correlations": str,
    "comparators": str,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """The specification of an experiment: hashable, and written as TOML.

    Attributes
    ----------
    name : str
        Title of the report.
    collection : Call
        A name in `COLLECTIONS` with its options, such as ``soccer`` or ``files(labels=labels.tsv)``.
    rankers : tuple of (str, Call)
        What a ranker is called in the report, and what it is: a name in `RANKERS` with its options.
    methods : tuple of Call
        Names in `METHODS` with their options; the first is the one the others are compared with.
    measures : tuple of Measure
        The first is the one rankers are selected by and methods compared by.
    selections : tuple of Selection
        Which rankers to fuse; effect of L and comparator are measured on the first.
    correlations : tuple of str
        The first is the one that selections look at.
    cutoff : int
        The paper's L: how much of each list fusion graphs and the per-query methods see.
    cutoffs : tuple of int
        The values of L whose effect is measured.
    curve : tuple of Call
        The methods for which it is.
    comparators : tuple of str
        Of fusion graphs, the first compared with the others.
    depth : int
        How deep the lists of rankers are.
    k : int or None
        How many answers a method gives; by default as many as the measures look at.
    test, alpha, correction
        How methods are compared: see `rankloom.evaluation.compare`.
    repeats : int
        How often fusion graphs are timed.
    seed : int
        Of whatever is random: the randomization test, a ranker's own learning.

    Examples
    --------
    >>> spec = Experiment.from_dict({"name": "two runs", "collection": "files(qrels=qrels.txt)",
    ...     "rankers": {"bm25": "file(path=bm25.run)", "dense": "file(path=dense.run)"}, "methods": ["rrf", "combsum"]})
    >>> [str(measure) for measure in spec.measures], spec.k
    (['ndcg@10'], None)
    >>> Experiment.from_toml(spec.to_toml()) == spec
    True
    """

    name: str
    collection: Call
    rankers: tuple[tuple[str, Call], ...]
    methods: tuple[Call, ...] = PAPER_METHODS
    measures: tuple[Measure, ...] = (Measure("ndcg", 10),)
    selections: tuple[Selection, ...] = tuple(map(Selection.parse, ("all", "best(2)", "pair")))
    correlations: tuple[str, ...] = ("jaccard", "kendall", "spearman")
    cutoff: int = 10
    cutoffs: tuple[int, ...] = PAPER_CUTOFFS
    curve: tuple[Call, ...] = (Call("fg"), Call("rrf"))
    comparators: tuple[str, ...] = ("wgu", "mcs")
    depth: int = 1000
    k: int | None = None
    test: str = "t"
    alpha: float = 0.01
    correction: str = "none"
    repeats: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        _check_names(self)
        for name in ("cutoff", "depth", "repeats"):
            whole_number(name, getattr(self, name))
        whole_number("seed", self.seed, 0)
        for cutoff in self.cutoffs:
            whole_number("each of cutoffs", cutoff)
        if self.k is not None:
            whole_number("k", self.k)
        if not isinstance(self.alpha, float) or not 0 < self.alpha < 1:
            raise InputError(f"alpha must be a number between 0 and 1, such as 0.01; got {self.alpha!r}.")

    @classmethod
    def read(cls, path: str | Path) -> Experiment:
        """Read a TOML file.

        Raises
        ------
        InputError
            For a file that can't be read or is no TOML, a key or a name that is not known, or a value that can't be.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"Cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}.") from None
        try:
            return cls.from_toml(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def from_toml(cls, text: str) -> Experiment:
        """Return the experiment that a TOML text specifies."""
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"This is not TOML: {error}.") from None

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Experiment:
        """Return the experiment of a mapping: names and values as in the TOML file."""
        known = [field.name for field in fields(cls)]
        for key in given:
            if key not in known:
                raise UnknownNameError("key of an experiment", key, known)
        for key in ("name", "collection", "rankers"):
            if key not in given:
                raise InputError(f"An experiment needs a {key}; see 'rankloom experiment --help' for an example.")
        return cls(**{key: _typed(key, value) for key, value in given.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `from_dict` reads, with every value spelled out."""
        plain: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "rankers":
                plain[field.name] = {name: str(call) for name, call in value}
            elif isinstance(value, tuple):
                plain[field.name] = [one if isinstance(one, int) else str(one) for one in value]
            elif value is not None:
                plain[field.name] = str(value) if isinstance(value, Call) else value
        return plain

    def to_toml(self) -> str:
        """Return the TOML text that `from_toml` reads."""
        plain = self.to_dict()
        rankers = plain.pop("rankers")
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
        lines += ["", "[rankers]"]
        lines += [f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(call)}" for name, call in rankers.items()]
        return "\n".join(lines) + "\n"

    @property
    def digest(self) -> str:
        """A short name of all that it says, the same in every process."""
        return digest(self.to_dict())

    @property
    def ranker_names(self) -> tuple[str, ...]:
        """What the rankers are called."""
        return tuple(name for name, _ in self.rankers)


def digest(plain: Any) -> str:
    """Return 32 hexadecimal digits that stand for plain data."""
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _typed(key: str, value: Any) -> Any:
    """Return what the TOML value of a key stands for."""
    if key == "rankers":
        return _rankers(value)
    if key in ("name", "collection", "test", "correction") and not isinstance(value, str):
        raise InputError(f"{key} must be a text; got {value!r}.")
    if key == "collection":
        return Call.parse(value)
    if key in PARSERS or key == "cutoffs":
        parse, what = PARSERS.get(key), "numbers" if key == "cutoffs" else "texts"
        if not isinstance(value, list | tuple) or (parse and not all(isinstance(one, str) for one in value)):
            raise InputError(f"{key} must be a list of {what}; got {value!r}.")
        return tuple(map(parse, value)) if parse else tuple(value)
    return float(value) if key == "alpha" and isinstance(value, int) else value


def _rankers(given: Any) -> tuple[tuple[str, Call], ...]:
    if isinstance(given, list | tuple):
        given = {one: one for one in given}
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given.values()):
        raise InputError(f'rankers must be a list such as ["bic", "lbp"], or a table of names; got {given!r}.')
    return tuple((name, Call.parse(call)) for name, call in given.items())


def _check_names(experiment: Experiment) -> None:
    if not experiment.rankers:
        raise InputError("An experiment needs rankers; got none.")
    for name in ("methods", "measures", "selections", "correlations", "comparators"):
        several = [str(one) for one in getattr(experiment, name)]
        if not several:
            raise InputError(f"{name} must not be empty; leave the key out for the usual ones.")
        if len(set(several)) < len(several):
            raise InputError(f"{name} must differ; got {', '.join(several)}.")
    for call in (*experiment.methods, *experiment.curve):
        has = METHODS[call.name].options()
        for option, _ in call.options:
            if option not in has:
                raise InputError(f"The method {call.name!r} has no option {option!r}; it has {', '.join(has)}.")
    _check_known("correlation", experiment.correlations, CORRELATIONS)
    _check_known("comparator", experiment.comparators, COMPARATORS)
    _check_known("test", [experiment.test], TESTS)
    _check_known("correction", [experiment.correction], CORRECTIONS)


def _check_known(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    for one in given:
        if one not in known:
            raise UnknownNameError(kind, one, known)
