"""Files written whole or not at all."""

import gzip
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO, cast, overload

from rankloom.errors import InputError
from rankloom.io.text_file import FilePath

GZIP_LEVEL = 6  # 9 takes three times as long for a percent or two


@overload
def atomic_write(path: FilePath, mode: Literal["w"] = "w") -> AbstractContextManager[TextIO]: ...
@overload
def atomic_write(path: FilePath, mode: Literal["wb"]) -> AbstractContextManager[BinaryIO]: ...
@contextmanager
def atomic_write(path: FilePath, mode: str = "w") -> Iterator[Any]:
    """Open a file for writing that takes its place only when the block ends well.

    What is written goes to a hidden file in the same folder, which is synced to disk and renamed at the end.
    If anything fails, it is removed and a file that was at `path` before is still there, whole.
    A name that ends in ``.gz`` is packed; the same content gives the same bytes, whenever it is written.

    Parameters
    ----------
    path : str or path
        A link is followed, and stays a link.
    mode : {"w", "wb"}
        Text (UTF-8, lines end in a line feed) or bytes.

    Raises
    ------
    InputError
        Where the folder does not exist or cannot be written to, the disk is full, or `path` is not a file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "note.txt") as file:
    ...     _ = file.write("safe")
    >>> [found.name for found in folder.iterdir()]
    ['note.txt']
    """
    target = check_target(path)
    temporary = target.with_name(f".rankloom-{secrets.token_hex(8)}.tmp")
    try:
        with _layers(temporary, packed=target.suffix == ".gz", text=mode == "w") as file:
            yield file
        _sync(temporary)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def check_target(path: FilePath) -> Path:
    """Return where a file of that name would be written; raise where it can't be.

    Raises
    ------
    InputError
        Where `path` is a folder or a device, or its folder does not exist.
    """
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder; give the name of a file.")
        if target.exists() and not target.is_file():  # a rename would put a file in the place of a device
            raise InputError(f"Cannot write {path}: it is not a regular file.")
        if not target.parent.exists():
            raise InputError(f"Cannot write {path}: the folder {Path(path).parent} does not exist; make it first.")
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}.") from None
    except ValueError as error:  # a name with a NUL in it; an InputError is one too
        raise error if isinstance(error, InputError) else InputError(f"Cannot write {path!r}: {error}.") from None
    return target


def make_folder(folder: Path, hint: str = "") -> Path:
    """Make a folder, and those that it is in; one that is there is left as it is.

    Raises
    ------
    InputError
        Where it can't be made; `hint` says what to do.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot make the folder {str(folder)!r}: {reason}.{hint}") from None
    return folder


@contextmanager
def _layers(path: Path, *, packed: bool, text: bool) -> Iterator[IO[Any]]:
    with ExitStack() as stack:
        file = cast(BinaryIO, stack.enter_context(path.open("xb")))
        if packed:  # no name and no time in the header, so that equal content gives equal bytes
            file = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)))
        yield stack.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline="\n")) if text else file


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
