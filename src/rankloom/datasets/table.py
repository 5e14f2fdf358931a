"""A table of texts: CSV, TSV or JSON lines, with or without a class for each text."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from rankloom.datasets.collection import Collection, register_collection
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.text_file import (
    MAX_LINE_BYTES,
    FilePath,
    as_path,
    decoded,
    json_lines,
    limited_lines,
    opened,
    shown,
    wrong_encoding,
)
from rankloom.ranks import Ids

#: (line number, {column: value}) of each row
Rows = Iterator[tuple[int, Mapping[str, object]]]
_QUOTED = re.compile(r'"[^"]*"')


@register_collection("table")
def table(
    path: FilePath, *, text: str = "text", label: str | None = None, id: str | None = None, encoding: str = "utf-8"
) -> Collection:
    """Return the texts of a table, which may be compressed (.gz).

    The first line of a .csv or .tsv file has the column names; each line of a .jsonl file is an object. If the first
    line of a .csv file has more semicolons, tabs or bars (|) than commas, these separate the columns.

    Parameters
    ----------
    path : file
    text : str
        Column of the texts, as the others in any case.
    label : str, optional
        Column of the classes; by default ``label`` if the table has it. Without classes there is no evaluation.
    id : str, optional
        Column of the ids; by default ``id`` if the table has it, else rows are numbered from 1.
    encoding : str
        As in "cp1252" or "utf-16".
    """
    path = str(as_path(path))
    rows = read_table(path, encoding)
    if not rows:
        raise InputError(f"{path} has no rows; expected the column names and then a row for each text.")
    columns: dict[str, None] = dict.fromkeys(column for _, row in rows for column in row)
    label, id = (_optional(path, columns, name, given) for name, given in (("label", label), ("id", id)))
    text = column_named(text, columns)
    texts = [cell(path, line, row, text) for line, row in rows]
    labels = None if label is None else tuple(_class(path, line, row, label) for line, row in rows)
    ids = [str(n) if id is None else cell(path, line, row, id) for n, (line, row) in enumerate(rows, 1)]
    about = f"{len(texts)} texts" + ("" if labels is None else f", in {len(set(labels))} classes")
    return Collection(Path(path).name.split(".")[0], _ids(path, ids), {"texts": texts}, labels=labels, about=about)


def read_texts(path: str, encoding: str = "utf-8") -> dict[str, str]:
    """Return the text of each id in a table with the columns ``id`` and ``text``, such as queries."""
    rows = read_table(path, encoding)
    if not rows:
        raise InputError(f"{path} has no rows; expected the columns id and text.")
    id, text = (column_named(name, rows[0][1]) for name in ("id", "text"))
    ids = _ids(path, [cell(path, line, row, id) for line, row in rows])
    return dict(zip(ids, (cell(path, line, row, text) for line, row in rows), strict=True))


def _delimited(path: str, delimiters: str, encoding: str) -> Rows:
    """Yield the rows of a file; the delimiter is the one of those possible that its first line has most of."""
    with opened(path) as file:
        text = decoded(path, file, encoding, newline="")  # a quoted field may contain newlines
        limit = csv.field_size_limit(MAX_LINE_BYTES)  # a field may span lines; Python's default is 131,072 characters
        try:
            lines = limited_lines(path, text)
            head = next(lines, "")
            delimiter = max(delimiters, key=_QUOTED.sub("", head).count)
            rows = csv.DictReader(chain([head] if head else [], lines), delimiter=delimiter, strict=True)
            names = rows.fieldnames or ()
            repeated = next((name for name in names if name and names.count(name) > 1), None)
            if repeated:
                raise InputError(f"{path}:1: duplicate column {repeated!r}; rename one of them.")
            for row in rows:
                if None in row.values() or None in row:  # surplus fields have the key None
                    raise InputError(f"{path}:{rows.line_num}: expected {len(names)} columns, as in line 1.")
                yield rows.line_num, row
        except UnicodeError:
            raise wrong_encoding(path, encoding) from None
        except csv.Error as error:
            raise InputError(f"{path}:{rows.line_num + 1}: {error}; check the quotes.") from None
        finally:
            csv.field_size_limit(limit)


def json_rows(path: str, encoding: str = "utf-8") -> Rows:
    """Yield the number and the object of each line of a file."""
    for number, line, row in json_lines(path, encoding):
        if not isinstance(row, dict):
            raise InputError(f'{path}:{number}: expected a JSON object such as {{"text": "..."}}, got {shown(line)}.')
        yield number, row


READERS: dict[str, Callable[[str, str], Rows]] = {
    ".csv": lambda path, encoding: _delimited(path, ",;\t|", encoding),
    ".tsv": lambda path, encoding: _delimited(path, "\t", encoding),
    ".jsonl": json_rows,
}


def is_table(path: str) -> bool:
    """Return True if a path ends like a table that can be read."""
    return Path(path.removesuffix(".gz")).suffix.lower() in READERS


def is_json(path: str) -> bool:
    """Return True if the values of a table have types: those of JSON."""
    return Path(path.removesuffix(".gz")).suffix.lower() == ".jsonl"


def read_table(path: str, encoding: str = "utf-8") -> list[tuple[int, Mapping[str, object]]]:
    """Return the line number and the values of each row of a table."""
    if not is_table(path):
        raise InputError(f"{path} must end in {', '.join(READERS)}, optionally followed by .gz.")
    return list(READERS[Path(path.removesuffix(".gz")).suffix.lower()](path, encoding))


def column_named(name: str, columns: Mapping[str, object]) -> str:
    """Return the column of a name, in any case if none has exactly this one; the name if there is none."""
    near = (column for column in columns if str(column).strip().lower() == name.lower())
    return name if name in columns else next(near, name)


def _optional(path: str, columns: Mapping[str, None], name: str, given: str | None) -> str | None:
    if given is None:
        found = column_named(name, columns)
        return found if found in columns else None
    if given not in columns:
        raise UnknownNameError(f"column of {path}", given, columns)
    return given


def cell(path: str, line: int, row: Mapping[str, object], column: str) -> str:
    """Return a value of a row as text."""
    if column not in row:
        raise InputError(f"{path}:{line}: {UnknownNameError('column', column, row)}")
    value = row[column]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{path}:{line}: {column} must be a text or a whole number; got {json.dumps(value)[:80]}.")
    return str(value)


def _class(path: str, line: int, row: Mapping[str, object], column: str) -> str:
    label = cell(path, line, row, column)
    if not label.strip():
        raise InputError(
            f"{path}:{line}: {column} is empty; give every row a class, or choose another column with label=COLUMN."
        )
    return label


def _ids(path: str, ids: list[str]) -> Ids:
    try:
        return Ids(ids)
    except InputError as error:
        raise InputError(f"{path}: {error} Choose another column with id=COLUMN.") from None
