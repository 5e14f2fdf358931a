"""The report of one experiment or of several: an HTML page, and its tables and plots as files."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

from rankloom.errors import InputError
from rankloom.experiment.results import Results
from rankloom.io.atomic_file import atomic_write, make_folder
from rankloom.report.formats import FORMATS
from rankloom.report.joint import Joint, join
from rankloom.report.joint_sections import joint_sections
from rankloom.report.page import Section, joint_to_html, to_html
from rankloom.report.published import Published
from rankloom.report.sections import sections

PAGE = "report.html"
FILES = "report-files.json"
OWN_FILE = re.compile(r"(tables|plots)/[a-z0-9-]+\.(md|tex|csv|svg)")

__all__ = ["PAGE", "Joint", "Published", "files_folder", "join", "render", "render_joint"]


def render(results: Results, folder: str | Path) -> Path:
    """Write the report of an experiment: ``report.html``, ``tables/*.md``, ``*.tex``, ``*.csv`` and ``plots/*.svg``.

    The same results give the same bytes. Files are written atomically. Files of an earlier report that are no longer
    needed, listed in ``report-files.json``, are removed; all others are left alone.

    Parameters
    ----------
    results : Results
    folder : path
        The folder of the results; created if missing.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    InputError
        If the folder is not writable.
    """
    parts, folder = sections(results), Path(folder)
    page = to_html(results, parts)  # first, because it fails without jinja2
    _write_files(folder, parts)
    return _write(folder / PAGE, page)


def render_joint(joint: Joint, page: str | Path, published: Published | None = None) -> Path:
    """Write the report over several experiments, and its tables and plots in a folder beside it.

    ``all.html`` has its tables and plots in ``all-files``. The same results give the same bytes.

    Parameters
    ----------
    joint : Joint
        See `join`.
    page : path
        An .html file.
    published : Published, optional
        Published numbers to set beside ours; by default those of the paper.

    Raises
    ------
    InputError
        If the page is not an .html file, or cannot be written.
    """
    page = Path(page)
    if page.suffix.lower() != ".html":
        raise InputError(f"The report over several experiments is an .html file; got {page}.")
    parts = joint_sections(joint, published or Published.read())
    text = joint_to_html(joint, parts, files_folder(page).name)
    _write_files(files_folder(page), parts)
    return _write(page, text)


def files_folder(page: Path) -> Path:
    """Return the folder of the tables and plots of a report over several experiments."""
    return page.with_name(f"{page.stem}-files")


def _write_files(folder: Path, parts: list[Section]) -> None:
    """Write the tables and plots, and remove those of an earlier report that are no longer needed."""
    files = {
        f"tables/{table.name}.{extension}": write(table)
        for part in parts
        for table in (*part.tables, *part.folded)
        for extension, write in FORMATS.items()
    }
    files |= {f"plots/{plot.name}.svg": plot.standalone for part in parts for plot in part.plots}
    obsolete = _written_before(folder) - files.keys()
    _list(folder, obsolete | files.keys())  # complete even if this run is interrupted
    for name, text in files.items():
        _write(folder / name, text)
    for name in obsolete:
        (folder / name).unlink(missing_ok=True)
    _list(folder, files.keys())


def _written_before(folder: Path) -> set[str]:
    """Return the tables and plots of earlier reports, ignoring any other names in the list."""
    try:
        names = json.loads((folder / FILES).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    return {name for name in names if OWN_FILE.fullmatch(name)} if _is_string_list(names) else set()


def _is_string_list(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _list(folder: Path, names: Collection[str]) -> None:
    _write(folder / FILES, json.dumps(sorted(names), indent=1) + "\n")


def _write(path: Path, text: str) -> Path:
    make_folder(path.parent)
    with atomic_write(path) as file:
        file.write(text)
    return path
