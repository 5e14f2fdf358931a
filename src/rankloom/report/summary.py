"""The summary of a report: whether fusing helps; of several experiments, also which method and correlation are best."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rankloom.aggregate import METHODS, QueryMethod
from rankloom.evaluation import Comparison
from rankloom.evaluation.significance import Verdict
from rankloom.experiment.results import Results
from rankloom.registry import Call
from rankloom.report import overviews
from rankloom.report.findings import Contender, Contest, caveat, contests, gain_over, outcomes
from rankloom.report.formats import Column, format_cell, p_text
from rankloom.report.names import display_names, selection_name
from rankloom.report.report import Report

HEADLINES: dict[Verdict, str] = {"better": "Yes.", "worse": "No.", "tie": "Not clearly."}
DEFAULTS = ("fg", "weft", "vote")  # methods that need no labels, besides the first one
HOLM = "holm"  # correction for the choice of the best of them
OUTCOMES: dict[Verdict | None, str] = {
    "better": "significantly better than the best single ranker on",
    "tie": "without significant difference on",
    "worse": "significantly worse on",
    None: "inconclusive on",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """Whether fusing helps: the verdict on the first method against the best ranker, and a summary in sentences."""

    verdict: Verdict | None
    headline: str
    sentences: tuple[str, ...]


def summarize(report: Report) -> Summary:
    """Return whether fusing helps, on the collection of the experiment or over all experiments."""
    each = {label: _summarize_one(results) for label, results in report.experiments.items()}
    if report.alone:
        (summary,) = each.values()
        return Summary(summary.verdict, summary.headline, (*summary.sentences, *report.failed, *report.notes))
    verdicts = {label: summary.verdict for label, summary in each.items()}
    counts = Counter(verdicts.values())
    sentences = [_outcomes(report, verdicts), *_wins_and_losses(report)]
    sentences += [*_winner(report), *_correlation(report), *_measures(report), *report.failed, *report.notes]
    headline = f"On {counts['better']} of {len(verdicts)} experiments."
    return Summary(_overall(counts, len(verdicts)), headline, tuple(sentences))


def _summarize_one(results: Results) -> Summary:
    found = contests(results)
    against_best = [pair for pair in (_against_best(results, contest) for contest in found) if pair is not None]
    if not against_best:
        reason = "There is no method to compare with its rankers on at least two queries."
        return Summary(None, "Unknown.", (reason,))
    _, own, best, outcome = against_best[0]
    sentences = [_comparison(results, *against_best[0])]
    rest = [_other(results, *found) for found in against_best[1:]]
    sentences += [f"On the other selections, compared with the same ranker: {'; '.join(rest)}."] if rest else []
    sentences.append(_best_overall(results, found, best))
    if not caveat(results):
        return Summary(outcome.verdict, HEADLINES[outcome.verdict], tuple(sentences))
    if issubclass(METHODS[Call.parse(own.name).name], QueryMethod):  # it saw less of each list than the ranker
        return Summary(None, "Inconclusive.", (caveat(results), *sentences))
    return Summary(outcome.verdict, HEADLINES[outcome.verdict], (*sentences, caveat(results)))


def _overall(counts: Counter[Verdict | None], total: int) -> Verdict | None:
    """Return the verdict of most experiments; a tie if there is no majority."""
    if counts[None] == total:
        return None
    return next((verdict for verdict in ("better", "worse") if 2 * counts[verdict] > total), "tie")


def _outcomes(report: Report, verdicts: dict[str, Verdict | None]) -> str:
    parts = []
    for verdict, words in OUTCOMES.items():
        labels = ", ".join(label for label, found in verdicts.items() if found == verdict)
        parts += [f"{words} {labels}"] if labels else []
    return f"The best method that needs no labels, on the first selection of rankers, is {'; '.join(parts)}."


def _wins_and_losses(report: Report) -> list[str]:
    """Return how often the first method is better and worse than the best ranker and than another method."""
    every = [contest for results in report.experiments.values() for contest in contests(results)]
    best = [contest.best_ranker for contest in every]
    methods = [contender for contest in every for contender in contest.contenders if contender.role == ""]
    sentences = []
    for others, of in (
        (best, "comparisons with the best single ranker, one for each selection"),
        (methods, "comparisons with another method"),
    ):
        verdicts = [(-other.outcome).verdict for other in others if other is not None and other.outcome is not None]
        n_better, n_worse = verdicts.count("better"), verdicts.count("worse")
        if verdicts:
            sentences.append(
                f"Of {len(verdicts)} {of}, the first method is significantly better in {n_better}, worse in {n_worse}."
            )
    return sentences


def _winner(report: Report) -> list[str]:
    table = overviews.winning(report)
    if table is None:
        return []
    first, *others = [f"{row.cells[0]} ({row.cells[1]})" for row in table.renamed(report.names).rows]
    return [f"{first} has the highest winning number, followed by {', '.join(others[:2])}."]


def _correlation(report: Report) -> list[str]:
    found = overviews.pairs(report)
    table = overviews.correlations(found)
    if table is None:
        return []
    chosen = {pair.label: {other.rankers for other in found if other.label == pair.label} for pair in found}
    differ = sum(len(pairs) > 1 for pairs in chosen.values())
    if not differ:
        return [
            "All correlation measures choose the same pairs of rankers: the results cannot tell which selects best."
        ]
    highest = table.rows[0].cells[1]
    best = " and ".join(str(row.cells[0]) for row in table.rows if row.cells[1] == highest)
    return [
        f"Selecting a pair of rankers by {best} is best: no other correlation measure chooses a better pair on "
        f"{highest} of {len(chosen)} experiments. The choices differ on {differ}."
    ]


def _measures(report: Report) -> list[str]:
    by_measure: dict[str, list[str]] = {}
    for label, results in report.experiments.items():
        by_measure.setdefault(results.main, []).append(label)
    if len(by_measure) < 2:
        return []
    parts = [f"{', '.join(labels)} by {measure}" for measure, labels in by_measure.items()]
    return [f"Each experiment is judged by its own main measure: {'; '.join(parts)}."]


def candidates(contest: Contest) -> list[Contender]:
    """Return the methods that one would use without labels, the first method and our defaults, best first."""
    return [one for one in contest.contenders if one.role == "first" or (one.role == "" and one.name in DEFAULTS)]


def _against_best(results: Results, contest: Contest) -> tuple[Contest, Contender, Contender, Comparison] | None:
    """Return the best label-free default, the best ranker, and their comparison, or None if either is missing.

    It is corrected for the choice among several defaults.
    """
    known, best = candidates(contest), contest.best_ranker
    if not known or best is None:
        return None
    tested = outcomes(results, best.values[results.main], {one.label: one.values[results.main] for one in known}, HOLM)
    return (contest, known[0], best, tested[known[0].label]) if tested else None


def _other(results: Results, contest: Contest, own: Contender, best: Contender, outcome: Comparison) -> str:
    """Return the outcome on another selection, such as ``best two: 6.59 % above (significant)``."""
    significant = "not significant" if outcome.verdict == "tie" else "significant"
    return f"{selection_name(contest.selection)}: {_gain(results, own, best)} ({significant})"


def _comparison(results: Results, contest: Contest, own: Contender, best: Contender, outcome: Comparison) -> str:
    n = len(contest.rankers)
    what = f"fusing {n} rankers ({selection_name(contest.selection)})" if n > 1 else "given a single ranker"
    significance = "no significant difference" if outcome.verdict == "tie" else "a significant difference"
    names = display_names(results.experiment)
    others = [names.get(one.label, one.label) for one in candidates(contest) if one is not own]
    chosen = f", the best of {len(others) + 1} methods that need no labels (the others: {', '.join(others)})"
    reached = f"reaches {results.main} {_score(results, own)}, {_gain(results, own, best)} the best single ranker"
    significance = f"{significance} ({p_text(outcome.p_value)})"
    against = f"{best.name} ({_score(results, best)}): {significance}"
    return f"{names.get(own.label, own.label)}{chosen if others else ''}, {what}, {reached}, {against}."


def _gain(results: Results, own: Contender, best: Contender) -> str:
    percent = gain_over(own.values[results.main], best.values[results.main])
    if not percent:
        return "against" if percent is None else "the same as"
    return f"{abs(percent):.2f} % {'above' if percent > 0 else 'below'}"


def _best_overall(results: Results, found: list[Contest], best: Contender) -> str:
    methods = [
        (contest.selection, method) for contest in found for method in contest.contenders if method.role != "ranker"
    ]
    selection, top = max(methods, key=lambda pair: results.score(pair[1]))
    if results.score(top) <= results.score(best):
        return f"No method on any selection is better than {best.name} alone."
    where = selection_name(selection)
    name = display_names(results.experiment).get(top.name, top.name)
    return f"The best method overall is {name} on the selection {where}: {_score(results, top)}."


def _score(results: Results, contender: Contender) -> str:
    return format_cell(results.score(contender), Column("score"))
