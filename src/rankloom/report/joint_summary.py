"""The summary of several experiments: where fusion helps, the winning numbers, the best correlation measure."""

from __future__ import annotations

from collections import Counter

from rankloom.evaluation.significance import Verdict
from rankloom.report import joint_tables
from rankloom.report.findings import Summary, best_contender, contests, first_method, summarize
from rankloom.report.joint import Joint

OUTCOMES: dict[Verdict | None, str] = {
    "better": "significantly better than the best single ranker on",
    "tie": "without significant difference on",
    "worse": "significantly worse on",
    None: "inconclusive on",
}


def summarize_all(joint: Joint) -> Summary:
    """Return whether fusing helps, over all experiments."""
    verdicts = {label: summarize(results).verdict for label, results in joint.experiments.items()}
    counts = Counter(verdicts.values())
    sentences = [_outcomes(joint, verdicts), *_all_selections(joint), *_against_methods(joint)]
    sentences += [*_winner(joint), *_correlation(joint), *_measures(joint), *joint.failed, *joint.notes]
    headline = f"On {counts['better']} of {len(verdicts)} experiments."
    return Summary(_overall(counts, len(verdicts)), headline, tuple(sentences))


def _overall(counts: Counter[Verdict | None], total: int) -> Verdict | None:
    """Return the verdict of most experiments; a tie if there is no majority."""
    if counts[None] == total:
        return None
    return next((one for one in ("better", "worse") if 2 * counts[one] > total), "tie")


def _outcomes(joint: Joint, verdicts: dict[str, Verdict | None]) -> str:
    parts = []
    for verdict, words in OUTCOMES.items():
        labels = ", ".join(label for label, one in verdicts.items() if one == verdict)
        parts += [f"{words} {labels}"] if labels else []
    methods = dict.fromkeys(filter(None, map(first_method, joint.experiments.values())))
    name = next(iter(methods)) if len(methods) == 1 else "The first method of each experiment"
    return f"{name}, on the first selection of rankers, is {'; '.join(parts)}."


def _all_selections(joint: Joint) -> list[str]:
    """Return how often the first method is better and worse than the best single ranker, over all selections."""
    every = [contest for results in joint.experiments.values() for contest in contests(results)]
    found = [(-best.outcome).verdict for best in map(best_contender, every) if best is not None and best.outcome]
    return [f"{_count(found, 'comparisons with the best single ranker, one for each selection')}."] if found else []


def _against_methods(joint: Joint) -> list[str]:
    """Return how often the first method is better and worse than another, over all selections."""
    found = [
        (-one.outcome).verdict
        for results in joint.experiments.values()
        for contest in contests(results)
        for one in contest.contenders
        if one.role == "" and one.outcome is not None
    ]
    return [f"{_count(found, 'comparisons with another method')}."] if found else []


def _count(verdicts: list[Verdict], of: str) -> str:
    counts = Counter(verdicts)
    return f"Of {len(verdicts)} {of}, it is significantly better in {counts['better']} and worse in {counts['worse']}"


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
    chosen = {one.label: {other.rankers for other in found if other.label == one.label} for one in found}
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


def _measures(joint: Joint) -> list[str]:
    by_measure: dict[str, list[str]] = {}
    for label, results in joint.experiments.items():
        by_measure.setdefault(results.main, []).append(label)
    if len(by_measure) < 2:
        return []
    parts = [f"{', '.join(labels)} by {measure}" for measure, labels in by_measure.items()]
    return [f"Each experiment is judged by its own main measure: {'; '.join(parts)}."]
