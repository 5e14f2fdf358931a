"""`rankloom evaluate`: measure runs against judgments or labels."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import typer

from rankloom.cli import app as cli
from rankloom.cli.judgments import AsJson, AsUnits, EvaluatedRuns, Labels, Qrels, Ties, Truth
from rankloom.cli.option_groups import RunOptions, expand_groups
from rankloom.errors import InputError
from rankloom.evaluation import Evaluation, Measure, Units
from rankloom.evaluation.measures import measure_forms
from rankloom.io import read_qrels


@dataclass(frozen=True)
class SearcherEvaluation:
    """How a searcher is evaluated."""

    queries: cli.Queries = None
    encoding: cli.Encoding = None
    method: Annotated[
        list[str] | None, cli.Option(help="For a searcher: a method to compare. Repeatable; by default rrf and auto.")
    ] = None
    k: Annotated[int, cli.Option("-k", min=1, help="For a searcher: number of answers that count.")] = 100

    def run(self, path: Path, qrels: Path | None, measures: Sequence[str] | None) -> Evaluation:
        """Evaluate the rankers and the methods of a searcher on judged queries."""
        from rankloom.searcher import Searcher
        from rankloom.searcher.read_only import MEASURES

        if self.queries is None:
            raise InputError(
                "A searcher needs --queries: a table with id and text, or a collection with judged queries."
            )
        with cli.progress_bars() as progress:
            texts, judged = cli.read_queries(self.queries, self.encoding)
            judgments = judged if qrels is None else read_qrels(qrels)
            if judgments is None:
                raise InputError(f"{self.queries} has no judgments; give them with --qrels.")
            progress("Searching", 0, 1)
            wanted, methods = measures or MEASURES, self.method or ("rrf", "auto")
            outcome = Searcher.open(path).evaluate(texts, judgments, measures=wanted, methods=methods, k=self.k)
            progress("Searching", 1, 1)
        return outcome


@cli.app.command()
@expand_groups
def evaluate(
    context: typer.Context,
    runs: EvaluatedRuns,
    qrels: Qrels = None,
    labels: Labels = None,
    measure: Annotated[
        list[str] | None, cli.Option(help=f"One of {cli.either(measure_forms())}, as in ndcg@10. Repeatable.")
    ] = None,
    *,
    searching: SearcherEvaluation,
    ties: Ties = "given",
    units: AsUnits = "queries",
    as_json: AsJson = False,
    reading: RunOptions,
    plugin: cli.Plugin = None,
) -> None:
    """Evaluate runs against judgments or class labels, side by side, over the same queries.

    With judgments the mean is over all judged queries, with labels over the queries that all runs have. The table has
    the 95 % confidence interval of each mean and, with several runs, the difference of each from the first one: with a
    star where the paired t-test finds it significant, and as effect size (Cohen's d). 'rankloom compare' has other
    tests. Instead of runs, a searcher made by 'rankloom build' may be given, with --queries: each of its rankers and
    RRF are compared with its default method.

    Examples:

    rankloom evaluate a.run b.run fused.run --qrels qrels.txt --measure map

    rankloom evaluate shop.loom --queries queries.jsonl --qrels qrels.txt
    """
    if len(runs) == 1 and cli.is_searcher(runs[0]):
        reason = f"{runs[0]} is a searcher"
        cli.refuse_options(context, reason, "labels", "ties", "units", "format", "duplicates")
        outcome = searching.run(runs[0], qrels, measure)
        _print(outcome, outcome.rows() if as_json else None)
        return
    if searching.queries is not None and not runs[0].exists():
        raise InputError(f"There is no folder {runs[0]}; make a searcher with 'rankloom build'.")
    cli.refuse_options(
        context, "only a searcher made by 'rankloom build' has them", "queries", "encoding", "method", "k"
    )
    with cli.progress_bars() as progress:
        truth = Truth(qrels, labels)
        wanted = [str(Measure.parse(spelled)) for spelled in measure or ["ndcg@10"]]
        read = dict(zip(map(str, runs), reading.read(runs, progress), strict=True))
        queries, found = truth.per_query(read, wanted, ties)
    classes = truth.classes_of(queries, units)
    outcome = Evaluation(dict(zip(read, found, strict=True)), str(runs[0]), units=cast(Units, units), classes=classes)
    _print(outcome, outcome.means() if as_json else None)


def _print(outcome: Evaluation, plain: object) -> None:
    """Print plain values as JSON; without them, the table."""
    if plain is not None:
        cli.echo(json.dumps(plain, indent=1))
        return
    head, *rows = outcome.cells()
    cli.print_table(head, rows)
    cli.echo(outcome.note())
