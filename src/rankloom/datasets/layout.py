"""Where the files of a collection are, in which order, and whether all of them are there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rankloom.errors import InputError

#: The environment variable with the folder that has a folder for each collection.
VARIABLE = "RANKLOOM_DATA"
NUMBERS = re.compile(r"(\d+)")


def place(path: object | None, names: Sequence[str], needs: str) -> Path:
    """Return the folder of a collection: the one given, else the first of `names` in ``$RANKLOOM_DATA``.

    Raises
    ------
    InputError
        Where there is none; it says what to get and how it must look.
    """
    if path is not None:
        return _folder(Path(str(path)).expanduser(), f"The collection {names[0]} is {needs}")
    data = os.environ.get(VARIABLE)
    if not data:
        raise InputError(
            f"Where is the collection {names[0]}? Give path=FOLDER, or set {VARIABLE} to a folder that has it as "
            f"{names[0]}/. It is {needs}"
        )
    found = [Path(data).expanduser() / name for name in names if (Path(data).expanduser() / name).is_dir()]
    if not found:
        raise InputError(f"There is no folder {Path(data) / names[0]}. The collection {names[0]} is {needs}")
    return found[0]


def natural(name: str) -> tuple[tuple[str | int, ...], str]:
    """Return a key that sorts numbers in names by value; names that differ in zeros only, by the name.

    Examples
    --------
    >>> sorted(["D10", "D2", "d1"], key=natural)
    ['D2', 'D10', 'd1']
    """
    pieces = NUMBERS.split(name)  # text and digits in turn, so only like kinds are compared
    return tuple(int(piece) if place % 2 else piece for place, piece in enumerate(pieces)), name


def files_in(folder: Path, suffixes: Iterable[str]) -> list[str]:
    """Return the files with one of these suffixes below a folder, as ``class/name.jpg``, in natural order.

    Hidden files and folders are passed over, folders that are links, pipes and devices. A folder that cannot be read
    is an `InputError`.
    """
    wanted = frozenset(suffixes)
    names = (file.relative_to(folder).as_posix() for file in _walk(folder) if file.suffix.lower() in wanted)
    return sorted(names, key=natural)


def in_images(folder: Path) -> Path:
    """Return its sub-folder ``images`` where it has one."""
    return folder / "images" if (folder / "images").is_dir() else folder


def check_count(name: str, what: str, expected: int, found: int) -> None:
    """Refuse a collection that has not as many of something as it should."""
    if found != expected:
        raise InputError(
            f"{name} should have {expected} {what}; found {found}. Complete the folder, or read what there is with "
            "check=no."
        )


def check_classes(name: str, labels: Sequence[str], n_classes: int, each: int | None = None) -> None:
    """Refuse a collection with another number of classes, or classes of another size."""
    sizes = Counter(labels)
    check_count(name, "classes", n_classes, len(sizes))
    for label, size in sizes.items() if each is not None else ():
        check_count(name, f"items of the class {label!r}", int(each or 0), size)


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found = (Path(root, name) for name in files if not name.startswith("."))
        yield from (file for file in found if not _is_special(file))


def _unreadable(error: OSError) -> None:
    raise InputError(f"Cannot read the folder {error.filename}: {error.strerror or error}.") from None


def _is_special(file: Path) -> bool:
    """Tell whether it is a pipe, a socket or a device, whose reading may not end; a broken link is told of later."""
    return file.exists() and not file.is_file()


def _folder(path: Path, needs: str) -> Path:
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}. {needs}")
    return path
