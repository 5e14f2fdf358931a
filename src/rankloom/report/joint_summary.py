"""The summary of several experiments: where fusion helps, the winning numbers, the best correlation measure."""

from __future__ import annotations

from collections import Counter

from rankloom.evaluation.significance import Verdict
from rankloom.report import joint_tables
from rankloom.report.findings import Summary, contests, summarize
from rankloom.report.joint import Joint

OUTCOMES: dict[Verdict | None, str] = {
    "better": "significantly better than the best single ranker on",
    "tie": "not significantly different from it on",
    "worse": "significantly worse on",
    None: "inconclusive on",
}


def summarize_all(joint: Joint) -> Summary:
    """Return whether fusing helps, over all experiments."""
    verdicts = {label: summarize(results).verdict for label, results in joint.experiments.items()}
    counts = Counter(verdicts.values())
    sentences = [_outcomes(verdicts), *_against_methods(joint), *_winner(joint), *_correlation(joint)]
    sentences += _measures(joint)
    headline = f"On {counts['better']} of {len(verdicts)} experiments."
    return Summary(_overall(counts, len(verdicts)), headline, (*sentences, *joint.failed, *joint.notes))


def _overall(counts: Counter[Verdict | None], total: int) -> Verdict | None:
    """Return the verdict of most experiments; a tie if there is no majority."""
    if counts[None] == total:
        return None
    return next((one for one in ("better", "worse") if 2 * counts[one] > total), "tie")


def _outcomes(verdicts: dict[str, Verdict | None]) -> str:
    parts = []
    for verdict, words in OUTCOMES.items():
        labels = ", ".join(label for label, one in verdicts.items() if one == verdict)
        parts += [f"{words} {labels}"] if labels else []
    return f"The first method, on the first selection of rankers, is {'; '.join(parts)}."


def _against_methods(joint: Joint) -> list[str]:
    """Return how often the first method is better and worse than another, over all selections."""
    found = [
        one.outcome.verdict
        for results in joint.experiments.values()
        for contest in contests(results)
        for one in contest.contenders
        if one.role == "" and one.outcome is not None
    ]
    if not found:
        return []
    counts = Counter(found)
    return [
        f"Against the other methods, over all selections, it is significantly better in {counts['better']} of "
        f"{len(found)} comparisons and significantly worse in {counts['worse']}."
    ]


def _winner(joint: Joint) -> list[str]:
    table = joint_tables.winning(joint)
    if table is None:
        return []
    first, *others = [f"{row.cells[0]} ({row.cells[1]})" for row in table.rows]
    return [f"The highest winning number has {first}, followed by {', '.join(others[:2])}."]


def _correlation(joint: Joint) -> list[str]:
    found = joint_tables.pairs(joint)
    table = joint_tables.correlations(found)
    if table is None:
        return []
    highest = table.rows[0].cells[1]
    best = " and ".join(str(row.cells[0]) for row in table.rows if row.cells[1] == highest)
    chosen = {one.label: {frozenset(other.rankers) for other in found if other.label == one.label} for one in found}
    same = sum(len(pairs) == 1 for pairs in chosen.values())
    agreed = f"; on {same} of {len(chosen)} all correlation measures choose the same pair" if same else ""
    return [f"The pair chosen by {best} is the best on {highest} of {len(chosen)} experiments{agreed}."]


def _measures(joint: Joint) -> list[str]:
    by_measure: dict[str, list[str]] = {}
    for label, results in joint.experiments.items():
        by_measure.setdefault(results.main, []).append(label)
    if len(by_measure) < 2:
        return []
    parts = [f"{', '.join(labels)} by {measure}" for measure, labels in by_measure.items()]
    return [f"Each experiment is judged by its own main measure: {'; '.join(parts)}."]
