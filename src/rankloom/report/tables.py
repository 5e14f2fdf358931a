"""Tables of the results, as data: the page, Markdown, LaTeX and CSV are written from these."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median, quantiles

import numpy as np

from rankloom.evaluation import Comparison, Mark, interval_note
from rankloom.evaluation import legend as marks_legend
from rankloom.evaluation.interval import mean_intervals
from rankloom.evaluation.selection import agreement
from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    MethodRecord,
    RankerRecord,
    Results,
    TimeRecord,
    distinct,
)
from rankloom.ranks.arrays import Floats
from rankloom.registry import slug
from rankloom.report.findings import (
    Contender,
    Contest,
    caveat,
    contests,
    first_method,
    gain_over,
    outcomes,
    ranked_rankers,
    unit_note,
)
from rankloom.report.formats import Cell, Column, Role, Row, Table
from rankloom.report.names import measure_meaning, method_name, selection_name
from rankloom.report.report import numbered

SECONDS_DIGITS = 3
ROUNDING = 1e-9  # values of a measure that differ by less are equal
#: More on a difference: the confidence interval of the mean, Cohen's d, and the p value.
EFFECT = (
    Column("From", "signed", detail=True),
    Column("To", "signed", detail=True),
    Column("d", "signed", 2, detail=True),
    Column("p", "p", detail=True),
)


def rankers(results: Results) -> Table | None:
    """Return every measure of each ranker, best ranker first."""
    found = ranked_rankers(results)
    columns = [Column("Ranker", "text"), *map(Column, _measures(results)), Column("Seconds", digits=SECONDS_DIGITS)]
    rows = [Row((record.ranker, *_means(results, record), record.seconds)) for record in found]
    meanings = "; ".join(map(measure_meaning, results.experiment.measures))
    itself = (
        "leave an item out of its own list" if results.experiment.exclude_self else "count an item as its own result"
    )
    meanings += f"; all {itself}" if results.classes else ""
    legend = f"{meanings}. Seconds are the ranking time; for cached lists, that of the original run."
    return make_table("rankers", f"Single rankers, sorted by {results.main}", columns, rows, legend)


def estimates(results: Results) -> Table | None:
    """Return the label-free estimates of each ranker next to the main measure."""
    found = ranked_rankers(results)
    known = list(dict.fromkeys(name for record in found for name in record.estimates))
    columns = [Column("Ranker", "text"), Column(results.main), *map(Column, known)]
    rows = [Row((record.ranker, results.score(record), *map(record.estimates.get, known))) for record in found]
    legend = "Estimates use only the lists. They tell which ranker is better, not how good it is."
    return make_table("estimates", "Label-free estimates of the rankers", columns, rows, legend) if known else None


def agreements(results: Results) -> Table | None:
    """Return the rank correlation of each estimate with the main measure."""
    found = results.of(RankerRecord)
    if len(found) < 2:
        return None
    true = {record.ranker: results.score(record) for record in found}
    rows = []
    for name in dict.fromkeys(name for record in found for name in record.estimates):
        known = {record.ranker: record.estimates[name] for record in found if name in record.estimates}
        if len(known) == len(true):
            rows.append(Row((name, agreement(known, true), agreement(known, true, kind="kendall"))))
    columns = [Column("Estimate", "text"), Column("Spearman", "signed", 2), Column("Kendall", "signed", 2)]
    legend = f"Rank correlation with {results.main}: +1 for the same order, 0 for no relation, −1 for the reverse."
    caption = f"Agreement of the estimates with {results.main}, {len(found)} rankers"
    return make_table("agreement", caption, columns, rows, legend)


def correlations(results: Results) -> list[Table]:
    """Return a table of the rankers' similarity for each correlation measure."""
    tables = []
    for record in results.of(CorrelationRecord):
        columns = [Column("Ranker", "text"), *(Column(name) for name in record.rankers)]
        rows = [Row((name, *map(float, row))) for name, row in zip(record.rankers, record.matrix, strict=True)]
        caption = f"Correlation of the rankers: {record.correlation}, first {record.depth} items of each list"
        tables.append(Table(slug("correlation", record.correlation), caption, columns, rows))
    return unique_names(tables)


def methods(results: Results) -> list[Table]:
    """Return a table of methods and rankers for each selection, best first, compared with the first method."""
    return unique_names([_methods(results, contest) for contest in contests(results)])


def comparators(results: Results) -> Table | None:
    """Return fusion graphs with each comparator, compared with the first."""
    found = results.of(ComparatorRecord)
    if len(found) < 2:
        return None
    first, *others = found
    values = {record.comparator: record.values[results.main] for record in others}
    tested = outcomes(results, first.values[results.main], values)
    against = [tested.get(record.comparator) for record in found]
    rows = [
        Row((record.comparator, results.score(record), mark(outcome), *effect), "first" if record is first else "")
        for record, outcome, effect in zip(found, against, _effects(against), strict=True)
    ]
    columns = [Column("Comparator", "text"), Column(results.main), mark_column(first.comparator), *EFFECT]
    explained = legend(results, first.comparator)
    return make_table("comparators", "Comparators of fusion graphs", columns, rows, explained, _details(results))


def gains(results: Results) -> Table | None:
    """Return the gain of the first method over each ranker in percent, on each selection."""
    first, found, main = first_method(results), ranked_rankers(results), results.main
    ours = [record for record in results.of(MethodRecord) if record.method == first]
    if not ours or not found:
        return None
    columns = [Column("Ranker", "text"), Column(main)]
    columns += [Column(f"{first} on {own.selection} (%)", "signed", 2, _note(own.selection)) for own in ours]
    rows = [Row((str(first), results.score(ours[0]), *(None for _ in ours)), "first")]
    for ranker in found:
        ahead = (gain_over(own.values[main], ranker.values[main]) for own in ours)
        rows.append(Row((ranker.ranker, results.score(ranker), *ahead)))
    caption = f"Gains of {first} over each ranker, in percent of the ranker's {main}"
    explained = f"{main} of {first} is its value on {ours[0].selection}. {caveat(results)}".rstrip()
    return make_table("gains", caption, columns, rows, explained)


def times(results: Results) -> Table | None:
    """Return median and interquartile range of the offline and query times of fusion graphs.

    A few runs may be slow because the machine was busy: they would make a mean and its deviation meaningless.
    """
    found = results.of(TimeRecord)
    quick = max((median(record.query) for record in found if record.query), default=0.0) < 1e-3
    unit, times = ("µs", 1e6) if quick else ("ms", 1e3)
    columns = [Column("Selection", "text"), Column("Runs")]
    columns += [Column(f"{title} (s)", digits=SECONDS_DIGITS) for title in ("Offline", "IQR")]
    columns += [Column(f"{title} ({unit})", digits=1 if quick else 2) for title in ("Query", "IQR")]
    rows = [
        Row((one.selection, len(one.offline), *_spread(one.offline), *_spread([t * times for t in one.query])))
        for one in found
    ]
    legend = (
        "Medians of the runs; IQR is the interquartile range, which holds the middle half of them. "
        "Offline: all work before the first query is answered."
    )
    return make_table("times", "Times of fusion graphs", columns, rows, legend)


def seconds(results: Results) -> Table | None:
    """Return the seconds of each method on each selection."""
    found = results.of(MethodRecord)
    value = {(record.method, record.selection): record.seconds for record in found}
    selections, first = distinct(found, "selection"), first_method(results)
    columns = [Column("Method", "text"), *(selection_column(selection, SECONDS_DIGITS) for selection in selections)]
    rows = [
        Row((name, *(value.get((name, of)) for of in selections)), role_of(name, first), method_name(name))
        for name in distinct(found, "method")
    ]
    return make_table("seconds", "Seconds of each method for all queries", columns, rows)


def legend(results: Results, reference: str | None = None) -> str:
    """Return the meaning of the marks in this experiment; the reference is the first method unless given."""
    spec, name = results.experiment, reference or str(first_method(results))
    return marks_legend(name, test=spec.test, alpha=spec.alpha, correction=spec.correction, units=results.units)


def selection_column(selection: str, digits: int = 4) -> Column:
    """Return the column of a selection, with its name in words."""
    return Column(selection, digits=digits, note=_note(selection))


def role_of(method: str, first: str | None) -> Role:
    """Return the role of a method's row."""
    return "first" if method == first else ""


def mark_column(reference: str | None, of: str = "") -> Column:
    """Return the column of differences from a reference, of the values in a column of that title."""
    return Column(f"{of} vs {reference}".strip(), "mark")


def mark(outcome: Comparison | None) -> Mark | None:
    """Return the mark of an outcome; None without one."""
    return outcome.mark if outcome else None


def _methods(results: Results, contest: Contest) -> Table:
    first, own = first_method(results), contest.first
    columns = [Column("Method", "text"), mark_column(first), *map(Column, _measures(results))]
    columns += [Column(f"Gain over {first} (%)", "signed", 2), *EFFECT]
    columns.append(Column("Seconds", digits=SECONDS_DIGITS, detail=True))
    rows = []
    for one, effect in zip(contest.contenders, _effects([c.outcome for c in contest.contenders]), strict=True):
        ahead = gain_over(one.values[results.main], own.values[results.main]) if own and one.outcome else None
        cells = (mark(one.outcome), *_means(results, one), ahead, *effect, one.seconds)
        rows.append(Row((one.label, *cells), one.role, ", ".join(filter(None, (method_name(one.name), one.note)))))
    caption = f"Selection {selection_name(contest.selection)}: {' + '.join(contest.rankers)}"
    explained = " ".join([legend(results), f"By {results.main}.", results.depth_caveat, unit_note(results, contest)])
    name = slug("methods", contest.selection)
    return Table(name, caption, columns, rows, " ".join(explained.split()), _details(results))


def wins(results: Results) -> Table | None:
    """Return on how many queries of the first selection the first method is better and worse than each other row."""
    found = contests(results)[:1]
    own = found[0].first if found else None
    if own is None:
        return None
    columns = [Column("Against", "text"), Column("Wins"), Column("Ties"), Column("Losses")]
    columns += [Column("Largest gain", "signed"), Column("Largest loss", "signed")]
    rows = [
        Row((one.label, *_won_and_lost(differences(results, own, one))), one.role, method_name(one.name))
        for one in found[0].contenders
        if one is not own
    ]
    where = selection_name(found[0].selection)
    return make_table("wins", f"Queries won and lost by {own.name} on {where}, by {results.main}", columns, rows)


def differences(results: Results, own: Contender, other: Contender) -> Floats:
    """Return what a method gains over another on each query; 0 where they differ only by rounding."""
    found = own.values[results.main] - other.values[results.main]
    return np.where(np.abs(found) < ROUNDING, 0.0, found)


def _won_and_lost(gains: Floats) -> tuple[Cell, ...]:
    n_wins, n_losses = int((gains > 0).sum()), int((gains < 0).sum())
    largest = (float(gains.max(initial=0.0)), float(gains.min(initial=0.0)))
    return (n_wins, len(gains) - n_wins - n_losses, n_losses, *largest)


def _note(selection: str) -> str:
    """Return a selection in words; empty if that is how it is spelled."""
    name = selection_name(selection)
    return "" if name == selection else name


def make_table(
    name: str, caption: str, columns: Sequence[Column], rows: Sequence[Row], legend: str = "", details: str = ""
) -> Table | None:
    """Return a table, or None if it has no rows."""
    return Table(name, caption, columns, rows, legend, details) if rows else None


def _measures(results: Results) -> list[str]:
    return [str(measure) for measure in results.experiment.measures]


def _means(results: Results, record: RankerRecord | Contender) -> list[float]:
    return [record.mean(measure) for measure in _measures(results)]


def _effects(outcomes: list[Comparison | None]) -> list[tuple[float | None, ...]]:
    """Return the cells of the columns `EFFECT` of several outcomes."""
    known = [outcome for outcome in outcomes if outcome]
    if not known:
        return [(None,) * len(EFFECT)] * len(outcomes)
    ends = iter(mean_intervals(np.array([outcome.differences for outcome in known]), alpha=known[0].alpha).tolist())
    return [(*next(ends), one.effect, one.p_value) if one else (None,) * len(EFFECT) for one in outcomes]


def _details(results: Results) -> str:
    spec = results.experiment
    level = f"{100 * (1 - spec.alpha):g} %"
    found = f"From and to: {level} confidence interval of the difference, by bootstrap; d: Cohen's, paired."
    return f"{found} {interval_note(spec.test, spec.correction)}".rstrip()


def _spread(runs: Iterable[float]) -> tuple[float | None, float | None]:
    """Return the median and the interquartile range; None where there are too few runs."""
    several = list(runs)
    if len(several) < 2:
        return several[0] if several else None, None
    first, _, third = quantiles(several, method="inclusive")
    return median(several), third - first


def unique_names(tables: list[Table]) -> list[Table]:
    """Return the tables, with numbers appended to repeated names."""
    names = numbered((table.name for table in tables), "-{}")
    return [replace(table, name=name) for table, name in zip(tables, names, strict=True)]
