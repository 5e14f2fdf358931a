"""The files of a collection on disk: locate the folder, list the files, check that none is missing."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rankloom.errors import InputError
from rankloom.io.text_file import FilePath, expanded_path

#: Environment variable that names the folder with a subfolder for each collection.
VARIABLE = "RANKLOOM_DATA"
NUMBERS = re.compile(r"(\d+)")


def find_folder(path: FilePath | None, names: Sequence[str], needs: str) -> Path:
    """Return the folder of a collection: the given one, else the first of `names` in ``$RANKLOOM_DATA``.

    Raise InputError if there is none; the message says which files it needs.
    """
    if path is not None:
        return _folder(expanded_path(path), f"The collection {names[0]} needs {needs}")
    data = os.environ.get(VARIABLE)
    if not data:
        raise InputError(
            f"Cannot find the collection {names[0]}. Give path=FOLDER, or set {VARIABLE} to a folder that contains "
            f"{names[0]}/. It needs {needs}"
        )
    found = [folder for name in names if (folder := expanded_path(data) / name).is_dir()]
    if not found:
        raise InputError(f"There is no folder {Path(data) / names[0]}. The collection {names[0]} needs {needs}")
    return found[0]


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """Return a sort key that orders numbers in names by value; names that differ only in leading zeros, by name.

    Examples
    --------
    >>> sorted(["D10", "D2", "d1"], key=natural_key)
    ['D2', 'D10', 'd1']
    """
    pieces = NUMBERS.split(name)  # text and digits alternate, so a number is never compared with text
    return tuple(int(piece) if number % 2 else piece for number, piece in enumerate(pieces)), name


def list_files(folder: Path, suffixes: Iterable[str]) -> list[str]:
    """Return the files under a folder with one of these suffixes, as ``class/name.jpg``, in natural order.

    Hidden files and folders, symbolic links to folders, pipes and devices are skipped. An unreadable folder raises
    `InputError`.
    """
    wanted = frozenset(suffixes)
    names = (file.relative_to(folder).as_posix() for file in _walk(folder) if file.suffix.lower() in wanted)
    return sorted(names, key=natural_key)


def images_folder(folder: Path) -> Path:
    """Return the subfolder ``images`` if there is one, else the folder itself."""
    return folder / "images" if (folder / "images").is_dir() else folder


def check_count(name: str, what: str, expected: int, found: int) -> None:
    """Raise InputError if the number found is not the number expected."""
    if found != expected:
        raise InputError(
            f"{name} should have {expected} {what}; found {found}. Complete the folder, or skip this with check=no."
        )


def check_classes(name: str, labels: Sequence[str], n_classes: int, each: int | None = None) -> None:
    """Raise InputError if the number of classes or the size of a class is wrong."""
    sizes = Counter(labels)
    check_count(name, "classes", n_classes, len(sizes))
    for label, size in sizes.items() if each is not None else ():
        check_count(name, f"items of the class {label!r}", int(each or 0), size)


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in (Path(root, name) for name in files if not name.startswith(".")):
            if file.is_file() or not file.exists():  # a broken link fails later, when opened; reading a pipe may block
                yield file


def _unreadable(error: OSError) -> None:
    raise InputError(f"Cannot read the folder {error.filename}: {error.strerror or error}.") from None


def _folder(path: Path, needs: str) -> Path:
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}. {needs}")
    return path
