"""`rankloom compare`: test whether one run is better than others."""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from rankloom.cli.app import Argument, Option, Plugin, app, echo, either, print_table, progress_bars
from rankloom.cli.judgments import AsJson, AsUnits, Labels, OneMeasure, Qrels, Ties, Truth
from rankloom.cli.option_groups import RunOptions, expand_groups
from rankloom.errors import InputError
from rankloom.evaluation import (
    CORRECTIONS,
    Comparison,
    Measure,
    compare_many,
    disagreements,
    gain,
    interval_note,
    legend,
)
from rankloom.evaluation.significance import known_tests
from rankloom.ranks.arrays import Floats


@app.command()
@expand_groups
def compare(
    reference: Annotated[Path, Argument(metavar="REFERENCE", help="Run to compare with.")],
    others: Annotated[list[Path], Argument(metavar="RUN", help="Runs to test.")],
    qrels: Qrels = None,
    labels: Labels = None,
    measure: OneMeasure = "ndcg@10",
    test: Annotated[str, Option(help=f"Test over queries: {either(known_tests())}.")] = "t",
    alpha: Annotated[float, Option(help="A difference is significant if p is below it.")] = 0.01,
    correction: Annotated[str, Option(help=f"Correction for multiple comparisons: {either(CORRECTIONS)}.")] = "none",
    units: AsUnits = "queries",
    seed: Annotated[int, Option(min=0, help="Seed of the randomization test.")] = 0,
    per_query: Annotated[
        bool, Option("--per-query", help="Print the value and the difference of each query too.")
    ] = False,
    ties: Ties = "given",
    as_json: AsJson = False,
    *,
    reading: RunOptions,
    plugin: Plugin = None,
) -> None:
    """Test whether runs are significantly better or worse than a reference, with a paired test over the queries.

    Each run has its mean difference from the reference, with a star where it is significant and a confidence interval
    at 1 - alpha (by bootstrap), the gain over the reference in percent, the effect size (Cohen's d of the paired
    differences), and the numbers of queries won and lost; with --units classes, all these are of class means.

    Example:

    rankloom compare rrf.run weft.run vote.run --qrels qrels.txt --measure map --test randomization
    """
    runs = [reference, *others]
    if len(set(runs)) < len(runs):
        raise InputError("Give each run once.")
    with progress_bars() as progress:
        truth, measure = Truth(qrels, labels), str(Measure.parse(measure))
        read = dict(zip(map(str, runs), reading.read(runs, progress), strict=True))
        queries, found = truth.per_query(read, [measure], ties)
    classes = truth.classes_of(queries, units)
    values = {name: one[measure] for name, one in zip(read, found, strict=True)}
    first, *rest = values
    tested = {name: values[name] for name in rest}
    how: dict[str, Any] = {"test": test, "alpha": alpha, "correction": correction, "units": units}
    outcomes = compare_many(tested, values[first], classes=classes, seed=seed, **how)
    if as_json:
        echo(json.dumps(_as_json(values, outcomes, measure, queries if per_query else []), indent=1))
        return
    if per_query:
        _print_queries(queries, values)
    _print_comparison(values, outcomes, measure)
    echo(f"{legend(first, **how)} {len(queries)} queries. {interval_note(test, correction)}".rstrip())
    if differ := classes and disagreements(tested, values[first], classes, seed=seed, **how):
        echo(differ)


def _as_json(
    values: Mapping[str, Floats], outcomes: Mapping[str, Comparison], measure: str, queries: Sequence[str]
) -> dict[str, dict[str, object]]:
    rows: dict[str, dict[str, object]] = {run: {measure: float(of.mean())} for run, of in values.items()}
    for name, one in outcomes.items():
        rows[name] |= {"difference": one.difference} | dict(zip(("low", "high"), one.interval(), strict=True))
        rows[name] |= {"effect": one.effect if isfinite(one.effect) else None, "wins": one.wins, "losses": one.losses}
        rows[name] |= {"p": one.p_value, "verdict": one.verdict}
    if queries:
        for name, per_query in values.items():
            rows[name]["queries"] = dict(zip(queries, per_query.tolist(), strict=True))
    return rows


def _print_queries(queries: Sequence[str], values: Mapping[str, Floats]) -> None:
    reference, *others = values
    head = ["query", reference, *(title for name in others for title in (name, "difference"))]
    rows = []
    for number, query in enumerate(queries):
        first = values[reference][number]
        cells = ((f"{values[name][number]:.4f}", f"{values[name][number] - first:+.4f}") for name in others)
        rows.append([query, f"{first:.4f}", *(cell for pair in cells for cell in pair)])
    print_table(head, rows)


def _print_comparison(values: Mapping[str, Floats], outcomes: Mapping[str, Comparison], measure: str) -> None:
    reference, *others = values
    mean = {name: float(one.mean()) for name, one in values.items()}
    table = [[reference, f"{mean[reference]:.4f}", *[""] * 6]]
    for name in others:
        one = outcomes[name]
        gained = f"{gain(mean[name], mean[reference]):+.2f}" if mean[reference] > 0 else "-"
        interval = " ".join(f"{end:+.4f}" for end in one.interval())
        tested = (f"{one.effect:+.2f}", f"{one.wins}/{one.losses}", f"{one.p_value:.2g}")
        table.append([name, f"{mean[name]:.4f}", str(one.mark), interval, gained, *tested])
    print_table(["run", measure, "difference", "interval", "gain %", "effect", "won/lost", "p"], table)
