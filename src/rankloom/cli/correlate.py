"""`rankloom correlate`: measure how similar the lists of rankers are."""

import json
from pathlib import Path
from typing import Annotated

from rankloom.cli.app import Option, Plugin, app, echo, print_table, progress_bars
from rankloom.cli.judgments import AsJson, Depth, EvaluatedRuns, Kind, check_order, run_names
from rankloom.cli.option_groups import RunOptions, expand_groups
from rankloom.cli.outputs import check_file
from rankloom.evaluation import correlations
from rankloom.io.atomic_file import atomic_write


@app.command()
@expand_groups
def correlate(
    runs: EvaluatedRuns,
    kind: Kind = "jaccard",
    depth: Depth = 10,
    output: Annotated[Path | None, Option("-o", "--output", help="Write a heat map to this SVG file.")] = None,
    as_json: AsJson = False,
    *,
    reading: RunOptions,
    plugin: Plugin = None,
) -> None:
    """Measure how similar the lists of rankers are.

    Example:

    rankloom correlate a.run b.run c.run --correlation kendall -o heat.svg
    """
    if output is not None:
        check_file(output, "an SVG file", runs)
    names = run_names(runs)
    with progress_bars() as progress:
        read = dict(zip(names, reading.read(runs, progress), strict=True))
        check_order(read)
        matrix = correlations(list(read.values()), kind=kind, depth=depth)
    if output is not None:
        from rankloom.report.plots import heat_map

        title = f"{kind.capitalize()} correlation of the first {depth}"
        with atomic_write(output) as file:
            file.write(heat_map("heat-map", title, names, matrix.tolist()).standalone)
    if as_json:
        echo(json.dumps({"runs": names, kind: matrix.tolist()}, indent=1))
        return
    print_table(
        [kind, *names], [[name, *(f"{value:.2f}" for value in row)] for name, row in zip(names, matrix, strict=True)]
    )
