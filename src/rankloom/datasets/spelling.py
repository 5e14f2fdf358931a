"""Open a collection from its spelling: a name with options, a folder or a file."""

import os
from contextlib import suppress
from pathlib import Path

from rankloom.datasets.collection import COLLECTIONS, Collection
from rankloom.datasets.table import READERS, is_table
from rankloom.errors import InputError, hint
from rankloom.registry import Call


def open_collection(spelling: str | Call, **options: object) -> Collection:
    """Open a collection: ``soccer``, ``ukbench(path=images)``, a folder of files, or a table of texts.

    A registered name wins over a folder of the same name; write ``./soccer`` for the folder.
    Options, such as ``encoding="cp1252"`` of a folder or a table, may be given by name.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "pets.csv")
    >>> _ = path.write_text("id,text,label\\na,a cat,cat\\nb,a dog,dog\\n")
    >>> open_collection(str(path)).about
    '2 texts, in 2 classes'
    """
    call = parse_collection(spelling) if isinstance(spelling, str) else spelling
    opened: Collection = COLLECTIONS.make(call, **options)
    return opened


def parse_collection(spelling: str, base: Path | None = None) -> Call:
    """Parse the spelling of a collection; a bare path, relative to `base`, is a folder or a table."""
    if spelling.strip() in COLLECTIONS:
        return Call.parse(spelling)
    path = (base or Path()) / os.path.expanduser(spelling)  # noqa: PTH111  # Path.expanduser raises RuntimeError
    with suppress(OSError):  # a name that is too long for a path
        if path.is_dir():
            return Call.of("folder", {"path": str(path)})
        if path.is_file() and is_table(spelling):
            return Call.of("table", {"path": str(path)})
    exists = os.path.lexists(path)  # unlike Path.exists, False for a name that is too long
    if exists or "(" not in spelling:
        raise _not_a_collection(spelling, exists=exists)
    return Call.parse(spelling)


def _not_a_collection(spelling: str, *, exists: bool) -> InputError:
    tables = f"a file that ends in {', '.join(READERS)}, or a collection"
    if exists:
        return InputError(f"{spelling} is neither a folder nor a table; give the folder that contains it, {tables}.")
    needed = f"give a folder, {tables}"
    if _is_path(spelling):
        return InputError(f"{spelling} does not exist; {needed}.")
    near = [path.name for path in Path().iterdir() if path.is_dir() or is_table(path.name)]
    return InputError(f"There is no folder or collection {spelling}; {needed}.{hint(spelling, [*near, *COLLECTIONS])}")


def _is_path(name: str) -> bool:
    """Return True if `name` looks like a path: names of collections have neither slash nor suffix."""
    return "/" in name or os.sep in name or bool(Path(name).suffix)
