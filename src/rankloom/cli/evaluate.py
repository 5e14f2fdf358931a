"""`rankloom evaluate`: measure runs against judgments or labels."""

import json
from typing import Annotated

import typer

from rankloom.cli.app import Duplicates, Format, Plugin, app, either, print_table, progress_bars, read_all
from rankloom.cli.judgments import AsJson, Labels, Qrels, RunsToJudge, Ties, Truth
from rankloom.evaluation import Measure
from rankloom.evaluation.measures import measure_forms


@app.command()
def evaluate(
    runs: RunsToJudge,
    qrels: Qrels = None,
    labels: Labels = None,
    measure: Annotated[
        list[str] | None, typer.Option(help=f"One of {either(measure_forms())}, as in ndcg@10. Repeatable.")
    ] = None,
    ties: Ties = "given",
    as_json: AsJson = False,
    format: Format = None,
    duplicates: Duplicates = "error",
    plugin: Plugin = None,
) -> None:
    """Evaluate runs against judgments or class labels, side by side, over the same queries.

    With judgments the mean is over all judged queries, with labels over the queries that all runs have.

    Example:

    rankloom evaluate a.run b.run fused.run --qrels qrels.txt --measure map
    """
    with progress_bars() as progress:
        truth = Truth(qrels, labels)
        wanted = [str(Measure.parse(one)) for one in measure or ["ndcg@10"]]
        found = truth.per_query(read_all(runs, format, duplicates, progress), wanted, ties)
    values = {
        str(run): {name: float(value.mean()) for name, value in one.items()}
        for run, one in zip(runs, found, strict=True)
    }
    if as_json:
        typer.echo(json.dumps(values, indent=1))
        return
    measures = list(next(iter(values.values())))
    print_table(["run", *measures], [[run, *(f"{row[one]:.4f}" for one in measures)] for run, row in values.items()])
