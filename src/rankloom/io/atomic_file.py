"""Atomic file writes: a file is replaced as a whole or not at all."""

import errno
import gzip
import io
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO, cast, overload

from rankloom.errors import InputError
from rankloom.io.file_lock import claimed, locked
from rankloom.io.text_file import FilePath, as_path

TEMPORARY = re.compile(r"\.rankloom-[0-9a-f]{16}\.tmp")
GZIP_LEVEL = 6  # 9 takes three times as long and saves only a percent or two


@overload
def atomic_write(path: FilePath, mode: Literal["w"] = "w") -> AbstractContextManager[TextIO]: ...
@overload
def atomic_write(path: FilePath, mode: Literal["wb"]) -> AbstractContextManager[BinaryIO]: ...
@contextmanager
def atomic_write(path: FilePath, mode: str = "w") -> Iterator[Any]:
    """Open a file for writing; it replaces `path` only if the block ends without an error.

    The content goes to a hidden temporary file in the same folder, which is synced to disk and renamed at the end.
    If anything fails, the temporary file is removed and an existing file at `path` is left unchanged. The temporary
    file of a killed process is removed when another process writes to that folder. A symbolic link is followed, and
    remains a link. If the name ends in ``.gz`` the file is compressed; the bytes depend only on the content.
    Text (mode "w") is UTF-8, and its lines end in a line feed.
    """
    target = check_target(path)
    _remove_abandoned(target.parent)
    try:
        with _temporary_file(target.parent) as temporary:
            with _open_layers(temporary, compressed=target.suffix == ".gz", text=mode == "w") as file:
                yield file
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}.") from error


def check_target(path: FilePath) -> Path:
    """Return the resolved path that a file would be written to; raise InputError if it cannot be written there."""
    try:
        target = resolved(as_path(path))
        if target.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder; give the path of a file.")
        if target.exists() and not target.is_file():  # the rename would replace a device with a file
            raise InputError(f"Cannot write {path}: it is not a regular file.")
        if not target.parent.exists():
            raise InputError(f"Cannot write {path}: the folder {Path(path).parent} does not exist; create it first.")
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}.") from None
    except ValueError as error:  # a NUL in the path; also any InputError
        raise error if isinstance(error, InputError) else InputError(f"Cannot write {path!r}: {error}.") from None
    return target


def resolved(path: FilePath) -> Path:
    """Return the absolute path with symbolic links resolved; a loop of links is an OSError, as in system calls."""
    try:
        found = Path(path).resolve()
        loops = found.is_symlink()  # from Python 3.13 on, `resolve` does not raise for a loop
    except RuntimeError:  # up to 3.12
        loops = True
    if loops:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return found


def make_folder(folder: Path, hint: str = "") -> Path:
    """Create a folder and its parents, and remove the files of killed processes; `hint` ends the message of errors."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot create the folder {str(folder)!r}: {reason}.{hint}") from None
    _remove_abandoned(folder.resolve())
    return folder


@contextmanager
def _temporary_file(folder: Path) -> Iterator[Path]:
    """Yield a new hidden file, locked, and remove it at the end."""
    while True:
        path = folder / f".rankloom-{secrets.token_hex(8)}.tmp"
        path.touch(exist_ok=False)
        try:
            with locked(path):
                if path.exists():  # otherwise another process considered it abandoned before it was locked
                    yield path
                    return
        finally:
            with suppress(OSError):
                path.unlink()


@lru_cache(maxsize=1000)
def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of killed processes, the first time that this process writes to a folder."""
    with suppress(OSError):
        for path in [path for path in folder.iterdir() if TEMPORARY.fullmatch(path.name)]:
            with claimed(path) as abandoned:
                if abandoned:
                    path.unlink()


@contextmanager
def _open_layers(path: Path, *, compressed: bool, text: bool) -> Iterator[IO[Any]]:
    with ExitStack() as stack:
        file = cast(BinaryIO, stack.enter_context(path.open("wb")))
        if compressed:  # no name or time in the header, so that equal content gives equal bytes
            file = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)))
        yield stack.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline="\n")) if text else file
