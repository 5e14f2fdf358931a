"""Commands that judge runs: `evaluate`, `compare`, `correlate` and `select`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rankloom.cli.app import Format, app, either, print_table, printable, progress_bars, read_all
from rankloom.errors import InputError
from rankloom.evaluation import CORRECTIONS, CORRELATIONS, ESTIMATES, LEGEND, MEASURES, TESTS, Measure, gain

Judged = Annotated[list[Path], typer.Argument(metavar="RUN", help="Runs to look at.", show_default=False)]
Qrels = Annotated[Path | None, typer.Option(help="Judgments, in TREC form.", show_default=False)]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="Classes instead of judgments, a line 'item<TAB>class' each; queries are items.", show_default=False
    ),
]
Ties = Annotated[str, typer.Option(help="Order of equal scores: as given, or as trec_eval has it (trec).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OneMeasure = Annotated[str, typer.Option(help=f"One of {either(MEASURES)}, with a cut-off as in ndcg@10.")]
Kind = Annotated[str, typer.Option("--correlation", help=f"How alike lists are: {either(CORRELATIONS)}.")]
Depth = Annotated[int, typer.Option(min=1, help="How much of each list counts for it.")]


@app.command()
def evaluate(
    runs: Judged,
    qrels: Qrels = None,
    labels: Labels = None,
    measure: Annotated[
        list[str] | None, typer.Option(help=f"One of {either(MEASURES)}, with a cut-off as in ndcg@10. Repeatable.")
    ] = None,
    ties: Ties = "given",
    as_json: AsJson = False,
    format: Format = None,
) -> None:
    """Evaluate runs against judgments or class labels, side by side, over the same queries.

    With judgments the mean is over all judged queries; with labels over the queries that all runs have.

    Example:

    rankloom evaluate a.run b.run fused.run --qrels qrels.txt --measure map
    """
    with progress_bars() as progress:
        truth = Truth(qrels, labels)
        wanted = [str(Measure.parse(one)) for one in measure or ["ndcg@10"]]
        found = truth.paired(read_all(runs, format, progress), wanted, ties)
    values = {
        str(run): {name: float(value.mean()) for name, value in one.items()}
        for run, one in zip(runs, found, strict=True)
    }
    if as_json:
        typer.echo(json.dumps(values, indent=1))
        return
    measures = list(next(iter(values.values())))
    print_table(["run", *measures], [[run, *(f"{row[one]:.4f}" for one in measures)] for run, row in values.items()])


@app.command()
def compare(
    ours: Annotated[Path, typer.Argument(metavar="OURS", help="The run to compare.", show_default=False)],
    theirs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Runs to compare it with.", show_default=False)],
    qrels: Qrels = None,
    labels: Labels = None,
    measure: OneMeasure = "ndcg@10",
    test: Annotated[str, typer.Option(help=f"Paired test over queries: {either(TESTS)}.")] = "t",
    alpha: Annotated[float, typer.Option(help="A difference counts where p is below it.")] = 0.01,
    correction: Annotated[str, typer.Option(help=f"For the number of comparisons: {either(CORRECTIONS)}.")] = "none",
    seed: Annotated[int, typer.Option(min=0, help="Of the randomization test.")] = 0,
    ties: Ties = "given",
    as_json: AsJson = False,
    format: Format = None,
) -> None:
    """Tell whether a run is better than others by more than chance: a paired test over the queries.

    Example:

    rankloom compare fused.run a.run b.run --qrels qrels.txt --measure map --test randomization
    """
    from rankloom.evaluation import compare_many

    with progress_bars() as progress:
        truth, measure = Truth(qrels, labels), str(Measure.parse(measure))
        read = read_all([ours, *theirs], format, progress)
        first, *rest = [one[measure] for one in truth.paired(read, [measure], ties)]
    others = dict(zip(map(str, theirs), rest, strict=True))
    if len(others) < len(rest) or str(ours) in others:
        raise InputError("Give each run once.")
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


@app.command()
def correlate(
    runs: Judged,
    kind: Kind = "jaccard",
    depth: Depth = 10,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw a heat map, an SVG file.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    format: Format = None,
) -> None:
    """Tell how alike the lists of rankers are.

    Example:

    rankloom correlate a.run b.run c.run --correlation kendall -o heat.svg
    """
    from rankloom.evaluation import correlations
    from rankloom.io import check_target

    if output is not None:
        check_target(output)
    names = _names(runs)
    with progress_bars() as progress:
        matrix = correlations(read_all(runs, format, progress), kind=kind, depth=depth)
    if output is not None:
        _draw(output, f"{kind.capitalize()} correlation of the first {depth}", names, matrix)
    if as_json:
        typer.echo(json.dumps({"runs": names, kind: matrix.tolist()}, indent=1))
        return
    print_table(
        [kind, *names], [[name, *(f"{value:.2f}" for value in row)] for name, row in zip(names, matrix, strict=True)]
    )


@app.command()
def select(
    runs: Judged,
    qrels: Qrels = None,
    labels: Labels = None,
    measure: OneMeasure = "ndcg@10",
    estimate: Annotated[
        str,
        typer.Option(
            help=f"Without judgments and labels, how good a run is estimated to be: {either(ESTIMATES)}. "
            "The runs must then be lists of the collection's own items."
        ),
    ] = "authority",
    kind: Kind = "jaccard",
    depth: Depth = 10,
    ties: Ties = "given",
    as_json: AsJson = False,
    format: Format = None,
) -> None:
    """Tell which rankers to fuse: the best, or the pair that is good and unlike each other (Eq. 6).

    Examples:

    rankloom select a.run b.run c.run --qrels qrels.txt --measure map

    rankloom select a-items.run b-items.run c-items.run --estimate reciprocal
    """
    from rankloom.evaluation import correlations

    names = _names(runs)
    with progress_bars() as progress:
        read = read_all(runs, format, progress)
        if qrels is None and labels is None:
            good, by = _estimated(names, read, estimate), f"{estimate} estimate"
        else:
            by = str(Measure.parse(measure))
            values = Truth(qrels, labels).paired(read, [by], ties)
            good = {name: float(one[by].mean()) for name, one in zip(names, values, strict=True)}
        matrix = correlations(read, kind=kind, depth=depth)
    _print_selection(good, by, matrix, kind, as_json)


class Truth:
    """Judgments or classes that runs are held against."""

    def __init__(self, qrels: Path | None, labels: Path | None) -> None:
        from rankloom.io import read_labels, read_qrels

        if (qrels is None) == (labels is None):
            raise InputError("Give either --qrels or --labels to evaluate against.")
        self.qrels = None if qrels is None else read_qrels(qrels)
        self.classes = None if labels is None else read_labels(labels)

    def paired(self, runs: Sequence[Any], measures: Sequence[str], ties: str) -> list[Any]:
        """Return, for each run, the measures of each query, in one order of queries; it says which are left out."""
        from rankloom.evaluation import evaluate

        both = [self._over(one) for one in (runs if self.classes is None else _common(runs))]
        return [evaluate(r, measures=measures, ties=ties, per_query=True, **truth) for r, truth in both]  # type: ignore[call-overload]

    def _over(self, ranks: Any) -> tuple[Any, dict[str, Any]]:
        """Return ranks and what `evaluate` holds them against."""
        from rankloom.ranks import Ids

        if self.classes is None:
            return ranks, {"qrels": self.qrels}
        queries = [ranks.query_name(query) for query in range(ranks.n_queries)]
        listed = [ranks.item_name(item) for item in range(ranks.n_items)]
        unknown = next((name for name in (*queries, *listed) if name not in self.classes), None)
        if unknown is not None:
            raise InputError(f"The labels have no class for {unknown!r}; queries and items of the run need one each.")
        truth = {"labels": list(self.classes.values()), "query_labels": [self.classes[q] for q in queries]}
        return ranks.renumbered(Ids(self.classes)), truth


def _common(runs: Sequence[Any]) -> list[Any]:
    """Return the runs over the queries that all of them have."""
    from rankloom.align import align

    common = align(runs, missing="drop")
    most = max(one.n_queries for one in runs)
    if common[0].n_queries < most:
        note = f"Note: {common[0].n_queries} queries are in every run, and only these count; a run has up to {most}."
        typer.echo(note, err=True)
    return common


def _names(runs: Sequence[Path]) -> list[str]:
    """Return what runs are called: their file names where these differ, else their paths."""
    if len(runs) < 2:
        raise InputError(f"Give at least 2 runs to compare with each other; got {len(runs)}.")
    if len(set(runs)) < len(runs):
        raise InputError("Give each run once.")
    short = [run.name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]


def _estimated(names: Sequence[str], read: Sequence[Any], kind: str) -> dict[str, float]:
    from rankloom.evaluation import estimate_all

    try:
        return estimate_all(dict(zip(names, read, strict=True)), kind=kind)
    except InputError as error:
        raise InputError(
            f"Without --qrels or --labels the runs must be the lists of a collection's own items. {error}"
        ) from None


def _draw(path: Path, title: str, names: Sequence[str], matrix: Any) -> None:
    from rankloom.io.aside import written_aside
    from rankloom.report.plots import heat_map

    with written_aside(path) as file:
        file.write(heat_map("heat-map", title, names, matrix.tolist()).alone)


def _print_comparison(
    ours: str, rows: Mapping[str, Mapping[str, float]], measure: str, symbols: Mapping[str, str]
) -> None:
    table = [[ours, f"{rows[ours][measure]:.4f}", "", "", "", ""]]
    for name, symbol in symbols.items():
        row = rows[name]
        gained = f"{gain(rows[ours][measure], row[measure]):+.2f}" if row[measure] > 0 else "-"
        table.append([name, f"{row[measure]:.4f}", f"{row['difference']:+.4f}", gained, f"{row['p']:.2g}", symbol])
    print_table(["run", measure, "difference", "gain %", "p", ""], table)


def _print_selection(good: Mapping[str, float], by: str, matrix: Any, kind: str, as_json: bool) -> None:
    from rankloom.selection import balances, select

    kinds = ["best(2)", "best(3)", "pair"] if len(good) > 2 else ["pair"]
    chosen = {one: select(good, matrix, kind=one) for one in kinds}
    pairs = balances(good, matrix)
    if as_json:
        typer.echo(json.dumps({by: dict(good), "pairs": pairs, "chosen": chosen}, indent=1))
        return
    order = sorted(good, key=lambda name: -good[name])
    print_table(["run", by], [[name, f"{good[name]:.4f}"] for name in order])
    print_table([f"pair, best first by Eq. 6 ({kind})", "M"], [[f"{a} + {b}", f"{m:.4f}"] for a, b, m in pairs[:10]])
    for one, names in chosen.items():
        typer.echo(f"{one}: {', '.join(names)}")
