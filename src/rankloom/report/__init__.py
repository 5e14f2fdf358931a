"""The report of an experiment: one page, and its tables and plots as files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rankloom.errors import InputError
from rankloom.experiment.results import Results
from rankloom.io.aside import written_aside
from rankloom.report.formats import FORMATS
from rankloom.report.page import to_html
from rankloom.report.sections import sections

PAGE = "report.html"

__all__ = ["PAGE", "render"]


def render(results: Results, folder: str | Path) -> Path:
    """Write the report of an experiment: ``report.html``, ``tables/*.md``, ``*.tex``, ``*.csv`` and ``plots/*.svg``.

    The same results give the same bytes. Each file takes its place only when it is whole, the page last.

    Parameters
    ----------
    results : Results
    folder : path
        Where the results are; made if it is not there.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    MissingExtraError
        Where jinja2 is not installed.
    InputError
        Where the folder can't be written to.
    """
    parts, folder = sections(results), Path(folder)
    page = to_html(results, parts)  # before anything is written: it may need a package that is not there
    files = {
        folder / "tables" / f"{table.name}.{ending}": write(table)
        for part in parts
        for table in part.tables
        for ending, write in FORMATS.items()
    }
    files |= {folder / "plots" / f"{plot.name}.svg": plot.alone for part in parts for plot in part.plots}
    for path, text in files.items():
        _write(path, text)
    _remove_others(folder, files)
    return _write(folder / PAGE, page)


def _remove_others(folder: Path, files: Collection[Path]) -> None:
    """Remove tables and plots that an earlier report had and this one has not."""
    endings = {"tables": FORMATS, "plots": ["svg"]}
    for kind, known in endings.items():
        for ending in known:
            for path in (folder / kind).glob(f"*.{ending}"):
                if path not in files:
                    path.unlink()


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {path.parent}: {error.strerror or error}.") from None
    with written_aside(path) as file:
        file.write(text)
    return path
