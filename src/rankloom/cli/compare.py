"""`rankloom compare`: test whether one run is better than others."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from rankloom.cli.app import Duplicates, Format, Plugin, app, either, print_table, printable, progress_bars, read_all
from rankloom.cli.judgments import AsJson, Labels, OneMeasure, Qrels, Ties, Truth
from rankloom.errors import InputError
from rankloom.evaluation import CORRECTIONS, LEGEND, TESTS, Measure, gain


@app.command()
def compare(
    ours: Annotated[Path, typer.Argument(metavar="OURS", help="Run to test.", show_default=False, readable=False)],
    theirs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Runs to compare it with.", show_default=False, readable=False)
    ],
    qrels: Qrels = None,
    labels: Labels = None,
    measure: OneMeasure = "ndcg@10",
    test: Annotated[str, typer.Option(help=f"Paired test over queries: {either(TESTS)}.")] = "t",
    alpha: Annotated[float, typer.Option(help="A difference is significant if p is below it.")] = 0.01,
    correction: Annotated[
        str, typer.Option(help=f"Correction for multiple comparisons: {either(CORRECTIONS)}.")
    ] = "none",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the randomization test.")] = 0,
    ties: Ties = "given",
    as_json: AsJson = False,
    format: Format = None,
    duplicates: Duplicates = "error",
    plugin: Plugin = None,
) -> None:
    """Test whether a run is significantly better than others, with a paired test over the queries.

    Example:

    rankloom compare fused.run a.run b.run --qrels qrels.txt --measure map --test randomization
    """
    from rankloom.evaluation import compare_many

    if len({ours, *theirs}) <= len(theirs):
        raise InputError("Give each run once.")
    with progress_bars() as progress:
        truth, measure = Truth(qrels, labels), str(Measure.parse(measure))
        read = read_all([ours, *theirs], format, duplicates, progress)
        first, *rest = [one[measure] for one in truth.per_query(read, [measure], ties)]
    others = dict(zip(map(str, theirs), rest, strict=True))
    found = compare_many(first, others, test=test, alpha=alpha, correction=correction, seed=seed)
    rows = {str(ours): {measure: float(first.mean())}}
    for name, one in found.items():
        rows[name] = {measure: float(others[name].mean()), "difference": one.difference, "p": one.p_value}
    if as_json:
        verdicts = {
            name: {**row, **({"verdict": found[name].verdict} if name in found else {})} for name, row in rows.items()
        }
        typer.echo(json.dumps(verdicts, indent=1))
        return
    _print_comparison(str(ours), rows, measure, {name: one.symbol for name, one in found.items()})
    corrected = "" if correction == "none" else f", p corrected ({correction})"
    typer.echo(printable(f"{LEGEND}; {len(first)} queries, {test} test, alpha {alpha}{corrected}."))


def _print_comparison(
    ours: str, rows: Mapping[str, Mapping[str, float]], measure: str, symbols: Mapping[str, str]
) -> None:
    table = [[ours, f"{rows[ours][measure]:.4f}", "", "", "", ""]]
    for name, symbol in symbols.items():
        row = rows[name]
        gained = f"{gain(rows[ours][measure], row[measure]):+.2f}" if row[measure] > 0 else "-"
        table.append([name, f"{row[measure]:.4f}", f"{row['difference']:+.4f}", gained, f"{row['p']:.2g}", symbol])
    print_table(["run", measure, "difference", "gain %", "p", ""], table)
