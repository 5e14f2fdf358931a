"""Tables of published numbers beside ours, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rankloom.evaluation import gain, winning_numbers
from rankloom.experiment.results import MethodRecord, Results
from rankloom.report.findings import mean, ranked_rankers
from rankloom.report.formats import Column, Row, Table
from rankloom.report.joint import Joint, common_methods, restricted
from rankloom.report.joint_tables import EXPERIMENT
from rankloom.report.published import Published, PublishedCollection
from rankloom.report.tables import make_table, slug, unique_names


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """An experiment on a collection with published numbers, and its selection for each published set of rankers."""

    label: str
    results: Results
    published: PublishedCollection

    @property
    def measured(self) -> bool:
        """Whether the experiment has the published measure."""
        return self.published.measure in map(str, self.results.experiment.measures)

    def method(self, name: str, number: int) -> float | None:
        """Return our value of a method on a published set of rankers; None if it was not run."""
        wanted = _folded(self.published.configurations[number])
        found = [one for one in self.results.of(MethodRecord) if one.method == name and _folded(one.rankers) == wanted]
        return mean(found[0].values, self.published.measure) if found else None

    @property
    def rankers(self) -> dict[str, float | None]:
        """Our value of each published ranker; None if it was not run."""
        ours = {one.ranker.casefold(): mean(one.values, self.published.measure) for one in ranked_rankers(self.results)}
        return {name: ours.get(name.casefold()) for name in self.published.rankers}

    @property
    def sets(self) -> list[str]:
        """The published sets of rankers, written out except for the set of all."""
        everything = _folded(tuple(self.published.rankers))
        return [
            f"all {len(one)}" if _folded(one) == everything else " + ".join(one)
            for one in self.published.configurations
        ]


def matches(joint: Joint, published: Published) -> list[Match]:
    """Return the experiments on collections with published numbers."""
    found = [(label, results, published.of(results)) for label, results in joint.experiments.items()]
    return [Match(label, results, one) for label, results, one in found if one is not None]


def rankers(found: list[Match]) -> Table | None:
    """Return the published value of each single ranker beside ours."""
    columns = [
        EXPERIMENT,
        Column("Ranker", "text"),
        Column("Ours"),
        Column("Published"),
        Column("Difference", "signed"),
    ]
    rows = [
        Row((match.label, name, ours, match.published.rankers[name], _difference(ours, match.published.rankers[name])))
        for match in found
        for name, ours in match.rankers.items()
    ]
    return make_table("published-rankers", "Single rankers, ours and published", columns, rows)


def fused(joint: Joint, found: list[Match]) -> Table | None:
    """Return the published value of the first method beside ours, with the gain over the best single ranker."""
    columns = [
        EXPERIMENT,
        Column("Rankers", "text"),
        Column("Ours"),
        Column("Published"),
        Column("Difference", "signed"),
    ]
    columns += [Column("Our gain (%)", "signed", 2), Column("Published gain (%)", "signed", 2)]
    rows = []
    for match in found:
        theirs = match.published.methods.get(joint.first or "", ())
        best, best_theirs = _best(match.rankers), _best(match.published.rankers)
        for number, value in enumerate(theirs):
            ours = match.method(str(joint.first), number)
            cells = (match.label, match.sets[number], ours, value, _difference(ours, value))
            rows.append(Row((*cells, _gain(ours, best), _gain(value, best_theirs))))
    explained = "Gains are over the best single ranker. An empty cell: we did not fuse that set of rankers."
    return make_table("published-fused", f"{joint.first}, ours and published", columns, rows, explained)


def winning(joint: Joint, found: list[Match]) -> Table | None:
    """Return winning numbers from published tables beside ours, over the sets of rankers and methods of both."""
    ours: dict[tuple[str, str], dict[str, float]] = {}
    theirs: dict[tuple[str, str], dict[str, float]] = {}
    for match in found:
        for number, name in enumerate(match.sets):
            values = {method: match.method(method, number) for method in match.published.methods}
            known = {method: value for method, value in values.items() if value is not None}
            if len(known) > 1:
                ours[match.label, name] = known
                theirs[match.label, name] = {method: match.published.methods[method][number] for method in known}
    shared = common_methods(ours)
    if len(shared) < 2:
        return None
    numbers, published = winning_numbers(restricted(ours, shared)), winning_numbers(restricted(theirs, shared))
    rows = [
        Row((name, wins, published[name]), "first" if name == joint.first else "") for name, wins in numbers.items()
    ]
    columns = [Column("Method", "text"), Column("Ours"), Column("Published")]
    most = len(ours) * (len(shared) - 1)
    explained = f"{len(ours)} sets of rankers and {len(shared)} methods that both have: at most {most}."
    return make_table("published-winning", "Winning numbers, ours and published", columns, rows, explained)


def methods(joint: Joint, found: list[Match]) -> list[Table]:
    """Return a table for each collection: every published method on every published set of rankers, and ours."""
    tables = []
    for match in found:
        columns = [Column("Method", "text")]
        for name in match.sets:
            columns += [Column(f"{name}, ours"), Column("Published")]
        rows = []
        for method, theirs in match.published.methods.items():
            cells = [cell for i, value in enumerate(theirs) for cell in (match.method(method, i), value)]
            rows.append(Row((method, *cells), "first" if method == joint.first else ""))
        caption = f"{match.label}: {match.published.measure} of every published method"
        made = make_table(slug("published", match.label), caption, columns, rows)
        tables += [made] if made else []
    return unique_names(tables)


def _folded(rankers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.casefold() for name in rankers)


def _difference(ours: float | None, theirs: float) -> float | None:
    return None if ours is None else ours - theirs


def _best(values: Mapping[str, float | None]) -> float | None:
    return max((value for value in values.values() if value is not None), default=None)


def _gain(value: float | None, best: float | None) -> float | None:
    return None if value is None or not best else gain(value, best)
