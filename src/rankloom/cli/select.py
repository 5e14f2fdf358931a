"""`rankloom select`: choose which rankers to fuse."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

from rankloom.cli.app import Option, Plugin, app, echo, either, print_table, progress_bars
from rankloom.cli.judgments import (
    AsJson,
    Depth,
    EvaluatedRuns,
    Kind,
    Labels,
    OneMeasure,
    Qrels,
    Ties,
    Truth,
    check_order,
    run_names,
)
from rankloom.cli.option_groups import RunOptions, expand_groups
from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import ESTIMATES, Measure, correlations, estimate_all
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Floats


@app.command()
@expand_groups
def select(
    runs: EvaluatedRuns,
    qrels: Qrels = None,
    labels: Labels = None,
    measure: OneMeasure = "ndcg@10",
    estimate: Annotated[
        str,
        Option(
            help=f"How to estimate the quality of a run without judgments or labels: {either(ESTIMATES)}. "
            "The runs must then be the lists of a collection's own items."
        ),
    ] = "authority",
    kind: Kind = "jaccard",
    depth: Depth = 10,
    ties: Ties = "given",
    as_json: AsJson = False,
    *,
    reading: RunOptions,
    plugin: Plugin = None,
) -> None:
    """Choose which rankers to fuse: the best ones, or the pair with the best balance of quality and diversity.

    The pair is that of Eq. 6 of Dourado et al. (2019).

    Examples:

    rankloom select a.run b.run c.run --qrels qrels.txt --measure map

    rankloom select a-items.run b-items.run c-items.run --estimate reciprocal
    """
    names = run_names(runs)
    with progress_bars() as progress:
        read = reading.read(runs, progress)
        runs_by_name, truth = dict(zip(names, read, strict=True)), None
        if qrels is None and labels is None:
            good, by = _estimated(names, read, estimate), f"{estimate} estimate"
        else:
            by, truth = str(Measure.parse(measure)), Truth(qrels, labels)
            _, values = truth.per_query(runs_by_name, [by], ties)
            good = {name: float(one[by].mean()) for name, one in zip(names, values, strict=True)}
        check_order(runs_by_name, truth)
        matrix = correlations(read, kind=kind, depth=depth)
    _print_selection(good, by, matrix, kind, as_json)


def _estimated(names: Sequence[str], read: Sequence[Ranks], kind: str) -> dict[str, float]:
    try:
        return estimate_all(dict(zip(names, read, strict=True)), kind=kind)
    except UnknownNameError:
        raise
    except InputError as error:
        raise InputError(
            f"Without --qrels or --labels the runs must be the lists of a collection's own items. {error}"
        ) from None


def _print_selection(good: Mapping[str, float], by: str, matrix: Floats, kind: str, as_json: bool) -> None:
    from rankloom.evaluation.selection import balances, select

    kinds = ["best(2)", "best(3)", "pair"] if len(good) > 2 else ["pair"]
    chosen = {selection: select(good, matrix, kind=selection) for selection in kinds}
    pairs = balances(good, matrix)
    if as_json:
        echo(json.dumps({by: dict(good), "pairs": pairs, "chosen": chosen}, indent=1))
        return
    order = sorted(good, key=lambda name: -good[name])
    print_table(["run", by], [[name, f"{good[name]:.4f}"] for name in order])
    print_table([f"pair, best first by Eq. 6 ({kind})", "M"], [[f"{a} + {b}", f"{m:.4f}"] for a, b, m in pairs[:10]])
    for selection, names in chosen.items():
        echo(f"{selection}: {', '.join(names)}")
