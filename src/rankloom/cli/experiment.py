"""`rankloom experiment`: run an experiment and report it."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rankloom.cli.app import Argument, Option, Plugin, Threads, app, echo, progress_bars
from rankloom.cli.option_groups import CacheOptions, Strict, expand_groups
from rankloom.cli.outputs import check_output, writes
from rankloom.errors import InputError


@app.command()
@expand_groups
def experiment(
    spec: Annotated[Path | None, Argument(metavar="SPEC", help="Specification of the experiment, a TOML file.")] = None,
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for the results; an interrupted experiment resumes.")
    ] = Path("results"),
    example: Annotated[
        bool, Option("--example", help="Run the built-in experiment on 1797 handwritten digits.")
    ] = False,
    show: Annotated[bool, Option("--show", help="Print the complete specification and exit.")] = False,
    strict: Strict = False,
    runs: Annotated[
        bool, Option("--runs", help="Also write the fused lists of every method, as TREC runs in the folder runs.")
    ] = False,
    *,
    caching: CacheOptions,
    threads: Threads = None,
    plugin: Plugin = None,
) -> None:
    """Run an experiment and report it: rankers, correlations, selections, methods, effect of the cutoff, run times.

    A method that fails is reported and left out; the rest still runs, and the exit code is 1.

    Examples:

    rankloom experiment --example -o results

    rankloom experiment spec.toml -o results

    rankloom experiment --example --show > spec.toml
    """
    from rankloom.experiment import EXAMPLE, SPECIFICATION, Experiment, run
    from rankloom.experiment.step_cache import FOLDER
    from rankloom.report import PAGE, Report, render

    if (spec is None) != example:
        raise InputError("Give a SPEC file, or --example for the built-in one.")
    specified = Experiment.from_toml(EXAMPLE) if spec is None else Experiment.read(spec)
    if show:
        echo(specified.to_toml(), nl=False)
        return
    for name in (SPECIFICATION, "results.jsonl", "report.html"):
        check_output(output / name, spec)
    for folder in (output, output / FOLDER):
        writes(folder, f"{output} keeps the finished steps, and the same command resumes")
    with progress_bars() as progress:
        found = run(
            specified,
            output,
            base=Path() if spec is None else spec.parent,
            cache=caching.open(),
            command=shlex.join(["rankloom", *sys.argv[1:]]),
            threads=threads,
            strict=strict,
            runs=runs,
            progress=progress,
        )
        progress("Rendering", 0, 1)
        page = render(Report.of(found), output / PAGE, files=output)
    failed = found.about["failed"]
    for note in found.about["notes"]:
        echo(f"{'Error' if note in failed else 'Note'}: {note}", err=True)
    echo(f"The report is {page}; its tables and plots are in {output}, its data in {output / 'results.jsonl'}.")
    if failed:
        raise typer.Exit(1)
