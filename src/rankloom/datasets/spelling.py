"""A collection from how it is written: its name with options, a folder or a file."""

from __future__ import annotations

import os
from pathlib import Path

from rankloom.datasets.collection import COLLECTIONS, Collection
from rankloom.datasets.table import READERS
from rankloom.errors import InputError
from rankloom.registry import Call


def open_collection(written: str | Call) -> Collection:
    """Return a collection: ``soccer``, ``ukbench(path=pictures)``, a folder of files, or a table of texts.

    A known name comes before a folder of that name; write ``./soccer`` for the folder.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "pets.csv")
    >>> _ = path.write_text("id,text,label\\na,a cat,cat\\nb,a dog,dog\\n")
    >>> open_collection(str(path)).about
    '2 texts, in 2 classes'
    """
    call = spelled(written) if isinstance(written, str) else written
    opened: Collection = COLLECTIONS.make(call)
    return opened


def spelled(written: str, base: Path | None = None) -> Call:
    """Return a collection as a name with options: a plain path, looked for in `base`, is a folder or a table."""
    path = (base or Path()) / Path(written).expanduser()
    if written not in COLLECTIONS and path.is_dir():
        return Call.of("folder", {"path": str(path)})
    if written not in COLLECTIONS and path.is_file() and Path(written.removesuffix(".gz")).suffix.lower() in READERS:
        return Call.of("table", {"path": str(path)})
    call = Call.parse(written)
    if not call.options and call.name not in COLLECTIONS and _is_path(call.name):
        wrong = "is neither a folder nor a table" if path.exists() else "does not exist"
        raise InputError(
            f"{written} {wrong}; give a folder, a file that ends in {', '.join(READERS)}, or a collection."
        )
    return call


def _is_path(written: str) -> bool:
    """Tell whether it looks like a path: a name of a collection has neither slash nor ending."""
    return "/" in written or os.sep in written or bool(Path(written).suffix)
