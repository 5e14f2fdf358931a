"""`rankloom report`: render the report of an experiment again."""

from pathlib import Path
from typing import Annotated

import typer

from rankloom.cli.app import Plugin, app


@app.command()
def report(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS", help="A folder written by 'rankloom experiment'.", show_default=False, readable=False
        ),
    ],
    plugin: Plugin = None,
) -> None:
    """Render the report of an experiment again, from its results alone.

    Example:

    rankloom report results
    """
    from rankloom.experiment import Results
    from rankloom.report import render

    typer.echo(f"The report is {render(Results.read(results), results)}.")
