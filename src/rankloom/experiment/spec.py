"""The specification of an experiment: collection, rankers, methods, measures, selections and settings."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from annotated_types import Ge

from rankloom.aggregate import METHODS
from rankloom.errors import InputError, brief, check_choice, check_type, whole_number
from rankloom.evaluation import CORRECTIONS, CORRELATIONS, JOINT_TESTS, Measure
from rankloom.evaluation.selection import Selection
from rankloom.evaluation.significance import UNITS, check_alpha, known_tests
from rankloom.fusion_graph.compare import COMPARATORS
from rankloom.io.text_file import read_text
from rankloom.registry import Call, Fraction

#: Fusion graphs and the sixteen baselines of the paper.
PAPER_METHODS = tuple(
    map(
        Call,
        "fg rrf rkgraph corgraph recknngraphccs queryrankfusion mra combsum combmin combmax combmed combanz combmnz "  # noqa: SIM905
        "borda condorcet kemeny rlsim".split(),
    )
)
SWEEP = "sweep"  # as in rkgraph(neighbors=sweep): the best of SWEPT_NEIGHBORS by the judgments
TUNED = "tuned"  # as in rkgraph(neighbors=tuned): the best of them on other queries, see `Experiment.split`
SWEPT_NEIGHBORS = (5, 10, 15, 20, 30, 50)
#: The default also has methods newer than the paper; those with a neighborhood use its default size and its best size.
DEFAULT_METHODS = (
    *PAPER_METHODS,
    *map(Call.parse, ("weft", "vote", "sca")),
    *(Call.of(name, {"neighbors": SWEEP}) for name in ("rkgraph", "recknngraphccs", "sca")),
)
#: The cutoffs of the paper's figure, extended to 100.
PAPER_CUTOFFS = (2, 4, 6, 8, 10, 12, 14, 16, 20, 30, 40, 60, 80, 100)

Natural = Annotated[int, Ge(0)]
#: Method options set by the protocol.
RESERVED_OPTIONS = ("threads", "progress", "collection", "comparable", "symmetric", "exhaustive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """The specification of an experiment: immutable, hashable and written as TOML.

    Values may be given as in the TOML file (``methods=["fg", "rrf"]``); they are converted to the types below.

    Attributes
    ----------
    name : str
        Title of the report.
    collection : Call
        A name in `COLLECTIONS` with its options, such as ``soccer`` or ``files(labels=labels.tsv)``.
    rankers : tuple of (str, Call)
        The name of a ranker in the report, and the ranker: a name in `RANKERS` with its options.
    methods : tuple of Call
        Names in `METHODS` with their options; the others are compared with the first. ``rkgraph(neighbors=sweep)`` is
        the best of several sizes of the neighborhood, chosen by the first measure; with ``neighbors=tuned`` it is
        chosen on other queries than those that are measured.
    split : float
        The share of the queries that sizes are tuned on, rounded to 1/2, 2/3, 3/4 and so on: with 0.5, each half of the
        queries is measured with what is best on the other half.
    names : tuple of (str, str)
        What the report calls a method, by its spelling.
    measures : tuple of Measure
        Rankers are selected and methods compared by the first.
    selections : tuple of Selection
        Which rankers to fuse; the effects of cutoff and comparator are measured on the first.
    correlations : tuple of str
        Selections use the first.
    cutoff : int
        The paper's L: how many items of each list fusion graphs and the per-query methods use.
    cutoffs : tuple of int
        The cutoffs of the plot.
    curve : tuple of Call
        The methods of the plot.
    comparators : tuple of str
        Comparators of fusion graphs; the others are compared with the first. () skips them.
    depth : int
        Length of the rankers' lists.
    k : int or None
        Number of answers of a method; by default as many as the measures look at.
    exclude_self : bool
        Whether an item is left out of its own list and class, as in tables of "more like this".
    test, alpha, correction, units
        How methods are compared: see `rankloom.evaluation.compare`; `units` are queries or classes. Tests are computed
        from the stored values, so changing these recomputes nothing.
    repeats : int
        Number of timed runs of fusion graphs; 0 skips them.
    shuffle : bool
        Whether to shuffle labeled items before they are ranked: a given order often follows the classes, and ties
        are ordered by number.
    seed : int
        Seed of the shuffle and of the randomization test.

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
    methods: tuple[Call, ...] = DEFAULT_METHODS
    split: Fraction = 0.5
    names: tuple[tuple[str, str], ...] = ()
    measures: tuple[Measure, ...] = (Measure("ndcg", 10),)
    exclude_self: bool = False
    selections: tuple[Selection, ...] = tuple(map(Selection.parse, ("all", "best(2)", "pair")))
    correlations: tuple[str, ...] = ("jaccard", "kendall", "spearman")
    cutoff: int = 10
    cutoffs: tuple[int, ...] = PAPER_CUTOFFS
    curve: tuple[Call, ...] = (Call("fg"), Call("weft"), Call("rrf"))
    comparators: tuple[str, ...] = ("wgu", "mcs")
    depth: int = 1000
    k: int | None = None
    test: str = "t"
    alpha: float = 0.01
    correction: str = "none"
    units: str = "queries"
    repeats: Natural = 5
    shuffle: bool = True
    seed: Natural = 0

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(Experiment, include_extras=True).items():
            convert = TABLES.get(name) or partial(_converted, name, kind)
            object.__setattr__(self, name, convert(getattr(self, name)))
        _check_names(self)
        _check_options(self)
        try:
            self.to_toml().encode()
        except UnicodeEncodeError:
            raise InputError("A name or an option contains a lone surrogate; use valid Unicode.") from None

    @classmethod
    def read(cls, path: str | Path) -> Experiment:
        """Read a TOML file; raise InputError if anything in it is invalid."""
        text = read_text(path)
        try:
            return cls.from_toml(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def from_toml(cls, text: str) -> Experiment:
        """Return the experiment specified in TOML."""
        check_type(str, text=text)
        try:
            given = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also huge numbers and deeply nested brackets
            raise InputError(f"This is not TOML: {error}.") from None
        return cls.from_dict(given)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Experiment:
        """Return the experiment of a mapping with the keys and values of the TOML file."""
        known = [field.name for field in fields(cls)]
        for key in given:
            check_choice("key of an experiment", key, known)
        for key in ("name", "collection", "rankers"):
            if key not in given:
                raise InputError(f"The experiment has no {key}; name, collection and rankers are required.")
        return cls(**given)

    def to_dict(self) -> dict[str, object]:
        """Return plain data for `from_dict`, with every value."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: _plain(value) for name, value in values.items() if value is not None}
        return plain | {"names": dict(self.names), "rankers": {name: str(call) for name, call in self.rankers}}

    def to_toml(self) -> str:
        """Return TOML for `from_toml`."""
        plain = self.to_dict()
        lines = [f"{key} = {_toml(value)}" for key, value in plain.items() if key not in TABLES]
        for table, given in {key: value for key, value in plain.items() if isinstance(value, dict) and value}.items():
            lines += ["", f"[{table}]", *(f"{_toml(name)} = {_toml(value)}" for name, value in given.items())]
        return "\n".join(lines) + "\n"

    @property
    def digest(self) -> str:
        """A digest of all values, the same in every process."""
        return digest(self.to_dict())

    @property
    def main(self) -> str:
        """The first measure, by which rankers are selected and methods compared."""
        return str(self.measures[0])

    @property
    def ranker_names(self) -> tuple[str, ...]:
        """The names of the rankers."""
        return tuple(name for name, _ in self.rankers)

    @property
    def deep_measures(self) -> tuple[Measure, ...]:
        """The measures that look deeper than the cutoff, where per-query methods have few answers or none."""
        depths = {
            measure: min(measure.reach or self.depth, self.depth, self.k or self.depth) for measure in self.measures
        }
        return tuple(measure for measure, depth in depths.items() if depth > self.cutoff)

    @property
    def depth_caveat(self) -> str:
        """A warning about the measures deeper than the cutoff; empty if there are none."""
        if not self.deep_measures:
            return ""
        names, look = [*map(str, self.deep_measures)], "looks" if len(self.deep_measures) == 1 else "look"
        return (
            f"{' and '.join(names)} {look} deeper than the cutoff {self.cutoff}: single rankers have their full lists, "
            f"per-query methods only the first {self.cutoff} items of each, and few answers beyond. For a fair "
            f"comparison use shallower measures, such as {self.deep_measures[0].name}@{self.cutoff}, "
            "or a larger cutoff."
        )


def variants(call: Call) -> list[Call]:
    """Return the calls that a sweep expands to, or the call itself if it is not a sweep.

    Examples
    --------
    >>> [str(call) for call in variants(Call.parse("sca(neighbors=sweep)"))][:2]
    ['sca(neighbors=5)', 'sca(neighbors=10)']
    """
    if dict(call.options).get("neighbors") not in (SWEEP, TUNED):
        return [call]
    return [Call.of(call.name, dict(call.options) | {"neighbors": neighbors}) for neighbors in SWEPT_NEIGHBORS]


def digest(plain: object) -> str:
    """Return a digest of plain data, 32 hexadecimal digits; values such as methods count as they are written."""
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _toml(value: object) -> str:
    """Return a value as TOML, which differs from JSON in one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(value: object) -> object:
    """Return a value as JSON and TOML can hold it: numbers as such, anything else as it is spelled."""
    if isinstance(value, tuple):
        return [_plain(element) for element in value]
    return value if isinstance(value, int | float) else str(value)


def _converted(name: str, kind: Any, value: object) -> object:
    """Return the value of a key as the type of its field. Raise InputError if that is impossible."""
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            content = "numbers" if int in inner else "strings"
            raise InputError(f"{name} must be a list of {content}; got {brief(value)}.")
        return tuple(_converted(f"each of {name}", inner[0], element) for element in value)
    if NoneType in inner:
        return None if value is None else _converted(name, inner[0], value)
    if kind in (int, Natural):
        return whole_number(name, value, 1 if kind is int else 0)
    if kind in (float, Fraction):
        return check_alpha(value, name)
    if isinstance(value, kind):
        return value
    expected = "true or false" if kind is bool else "a string"
    if kind in (bool, str) or not isinstance(value, str):
        raise InputError(f"{name} must be {expected}; got {brief(value)}.")
    return kind.parse(value)


def _named_rankers(given: object) -> tuple[tuple[str, Call], ...]:
    pairs = given.items() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else [None]
    found = []
    for pair in pairs:
        name, call = pair if isinstance(pair, tuple) and len(pair) == 2 else (pair, pair)
        if not isinstance(name, str) or not isinstance(call, str | Call):
            raise InputError(f'rankers must be a list such as ["bic", "lbp"], or a table of names; got {brief(given)}.')
        found.append((name, Call.parse(call) if isinstance(call, str) else call))
    return tuple(found)


def _names(given: object) -> tuple[tuple[str, str], ...]:
    pairs = given.items() if isinstance(given, Mapping) else given if isinstance(given, tuple) else [None]
    found = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise InputError(f'names must be a table such as fg = "Fusion graphs"; got {brief(given)}.')
        found.append((str(Call.parse(pair[0])), pair[1]))
    return tuple(found)


#: The keys that are tables, and how they are read.
TABLES: dict[str, Callable[[object], object]] = {"rankers": _named_rankers, "names": _names}


def _check_names(experiment: Experiment) -> None:
    if not experiment.rankers:
        raise InputError("The experiment has no rankers; give at least one.")
    required = ("methods", "measures", "selections", "correlations", "ranker_names")
    for name in (*required, "curve", "cutoffs", "comparators"):
        values = [*map(str, getattr(experiment, name))]
        if name in required and not values:
            raise InputError(f"{name} must not be empty; leave the key out for the default.")
        if len(set(values)) < len(values):
            raise InputError(f"{name.replace('_', ' ')} must not repeat; got {', '.join(values)}.")
    for name in experiment.correlations:
        check_choice("correlation", name, CORRELATIONS)
    for name in experiment.comparators:
        check_choice("comparator", name, COMPARATORS)
    check_choice("test", experiment.test, known_tests())
    check_choice("unit", experiment.units, UNITS)
    if experiment.test in JOINT_TESTS and experiment.correction != "none":
        raise InputError(
            f'The test {experiment.test!r} corrects for the number of systems itself; use correction = "none", got '
            f"{experiment.correction!r}."
        )
    check_choice("correction", experiment.correction, CORRECTIONS)


def _check_options(experiment: Experiment) -> None:
    """Raise InputError for options that a method does not have or that the protocol sets."""
    for key, calls in (("methods", experiment.methods), ("curve", experiment.curve)):
        reserved = (*RESERVED_OPTIONS, "cutoff") if key == "curve" else RESERVED_OPTIONS
        for call in calls:
            given = next((option for option, _ in call.options if option in reserved), None)
            if given is not None:
                raise InputError(f"The experiment sets the {given} of {call.name!r} in {key}; leave the option out.")
            METHODS.check(variants(call)[0] if key == "methods" else call)
