"""`rankloom report`: render the report of an experiment again, or one over several experiments."""

from pathlib import Path
from typing import Annotated

import typer

from rankloom.cli.app import Argument, Option, Plugin, app, echo
from rankloom.cli.outputs import INCOMPLETE, check_kind, check_output, writes
from rankloom.errors import InputError
from rankloom.io.atomic_file import resolved


@app.command()
def report(
    results: Annotated[list[Path], Argument(metavar="RESULTS...", help="Folders written by 'rankloom experiment'.")],
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="Write one report over all the experiments to this .html file; its tables and plots go to a folder "
            "beside it. Without it, the report of a single experiment is rendered again in its own folder.",
        ),
    ] = None,
    measure: Annotated[
        str | None,
        Option(
            help="With -o: compare by this measure and leave out experiments without it. By default each experiment "
            "by its first measure."
        ),
    ] = None,
    published: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="With -o: published numbers to set beside the measured ones, a TOML file. By default the paper's.",
        ),
    ] = None,
    plugin: Plugin = None,
) -> None:
    """Render the report of an experiment again, from its results alone; or one report over several experiments.

    A folder that has no usable results is reported and left out, and the exit code is 1.

    Examples:

    rankloom report results

    rankloom report results/* -o all.html
    """
    from rankloom.experiment import Results
    from rankloom.report import PAGE, Report, render

    if output is not None:
        _report_all(results, output, measure, published)
    elif len(results) > 1 or measure is not None or published is not None:
        raise InputError("A report over several experiments needs a file to write to, such as -o all.html.")
    else:
        folder = results[0]
        writes(folder, INCOMPLETE)
        echo(f"The report is {render(Report.of(Results.read(folder)), folder / PAGE, files=folder)}.")


def _report_all(folders: list[Path], output: Path, measure: str | None, published: Path | None) -> None:
    from rankloom.report import PAGE, Published, Report, files_folder, render

    own = {resolved(output), resolved(files_folder(output))}  # an earlier report among results/*
    given = [folder for folder in folders if resolved(folder) not in own]
    if any(resolved(output) == resolved(folder / PAGE) for folder in given):
        raise InputError(f"{output} is the report of a single experiment; choose another file with -o.")
    check_output(output, published)
    check_kind(output, "a page")
    for path in (output, files_folder(output)):
        writes(path, INCOMPLETE)
    report = Report.read(given, measure)
    page = render(report, output, Published.read(published) if published else None)
    for kind, notes in (("Error", report.failed), ("Note", report.notes)):
        for note in notes:
            echo(f"{kind}: {note}", err=True)
    echo(f"The report is {page}; its tables and plots are in {files_folder(page)}.")
    if report.failed:
        raise typer.Exit(1)
