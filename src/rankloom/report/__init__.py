"""The report of one experiment or of several: an HTML page, and its tables and plots as files."""

import json
import re
from collections.abc import Collection
from pathlib import Path

from rankloom.errors import InputError
from rankloom.io.atomic_file import atomic_write, make_folder
from rankloom.report.formats import FORMATS
from rankloom.report.page import Section, to_html
from rankloom.report.published import Published
from rankloom.report.report import Report
from rankloom.report.sections import sections

PAGE = "report.html"
FILES = "report-files.json"
OWN_FILE = re.compile(r"(tables|plots)/[a-z0-9-]+\.(md|tex|csv|svg)")

__all__ = ["PAGE", "Published", "Report", "files_folder", "render"]


def render(
    report: Report, page: str | Path, published: Published | None = None, *, files: str | Path | None = None
) -> Path:
    """Write the report of one experiment or of several: a page, and its tables and plots in a folder.

    The same results give the same bytes. Files are written atomically. Files of an earlier report that are no longer
    needed, listed in ``report-files.json``, are removed; all others are left alone.

    Parameters
    ----------
    report : Report
        ``Report.of(results)`` for one experiment, ``Report.read(folders)`` for several.
    page : path
        An .html file, which is returned.
    published : Published, optional
        Published numbers to set beside ours; by default those of the paper.
    files : path, optional
        The folder of the tables and plots; by default that of `files_folder`.
    """
    page = Path(page)
    if page.suffix.lower() != ".html":
        raise InputError(f"A report is an .html file; got {page}.")
    parts, folder = sections(report, published or Published.read()), Path(files or files_folder(page))
    # The page is made first, because that fails without jinja2.
    text = to_html(report, parts, "" if folder == page.parent else folder.name)
    _write_files(folder, parts)
    return _write(page, text)


def files_folder(page: Path) -> Path:
    """Return the folder for the tables and plots of a page: of ``all.html``, ``all-files`` beside it."""
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
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return {name for name in names if OWN_FILE.fullmatch(name)} if is_list else set()


def _list(folder: Path, names: Collection[str]) -> None:
    _write(folder / FILES, json.dumps(sorted(names), indent=1) + "\n")


def _write(path: Path, text: str) -> Path:
    make_folder(path.parent)
    with atomic_write(path) as file:
        file.write(text)
    return path
