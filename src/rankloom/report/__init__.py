"""The report of an experiment: one page, and its tables and plots as files."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

from rankloom.experiment.results import Results
from rankloom.io.atomic import atomic_write, make_folder
from rankloom.report.formats import FORMATS
from rankloom.report.page import to_html
from rankloom.report.sections import sections

PAGE = "report.html"
FILES = "report-files.json"
OURS = re.compile(r"(tables|plots)/[a-z0-9-]+\.(md|tex|csv|svg)")

__all__ = ["PAGE", "render"]


def render(results: Results, folder: str | Path) -> Path:
    """Write the report of an experiment: ``report.html``, ``tables/*.md``, ``*.tex``, ``*.csv`` and ``plots/*.svg``.

    The same results give the same bytes. Each file takes its place only when it is whole. What an earlier report wrote
    and this one does not is removed; ``report-files.json`` says what that is, and other files are left alone.

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
        f"tables/{table.name}.{ending}": write(table)
        for part in parts
        for table in part.tables
        for ending, write in FORMATS.items()
    }
    files |= {f"plots/{plot.name}.svg": plot.alone for part in parts for plot in part.plots}
    others = _written_before(folder) - files.keys()
    _list(folder, others | files.keys())  # whatever happens now, the next report knows of all
    for name, text in files.items():
        _write(folder / name, text)
    for name in others:
        (folder / name).unlink(missing_ok=True)
    _list(folder, files.keys())
    return _write(folder / PAGE, page)


def _written_before(folder: Path) -> set[str]:
    """Return the tables and plots that earlier reports wrote; no other name is believed."""
    try:
        names = json.loads((folder / FILES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {name for name in names if OURS.fullmatch(name)} if _texts(names) else set()


def _texts(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _list(folder: Path, names: Collection[str]) -> None:
    _write(folder / FILES, json.dumps(sorted(names), indent=1) + "\n")


def _write(path: Path, text: str) -> Path:
    make_folder(path.parent)
    with atomic_write(path) as file:
        file.write(text)
    return path
