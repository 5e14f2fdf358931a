"""Folders of arrays, as writers see them: each commit makes a new generation.

A writer holds the file `lock` in the folder from the reading of a generation to the commit of the next. A commit writes
the arrays that are not there yet to new files, syncs them, and replaces `meta.json` by one rename: a process killed at
any moment leaves the old generation or the new one. Files of the generation before the last are removed, and what
killed writers left; files with other names than a writer gives are never touched.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rankloom.errors import IndexFileError, InputError, check_flag, check_range
from rankloom.io.array_file import ArrayFile, write_array
from rankloom.io.atomic_file import resolved
from rankloom.io.file_lock import waiting
from rankloom.io.folder import (
    FORMAT,
    META,
    Head,
    Snapshot,
    check_format,
    meta_checksum,
    parsed_head,
    parsed_meta,
    read_meta,
    sync_folder,
)
from rankloom.ranks.arrays import Array

LOCK, NEW_META = "lock", "meta.json.new"
OWN = re.compile(r".*\.g(\d{1,18})\.npy", re.DOTALL)  # the names of files that writers make
TIMEOUT = 60.0  # seconds to wait for other writers
LOCK_ATTEMPTS = 100  # to open the lock of a folder that failing writers remove


class FolderWriter:
    """A folder of a kind that this process alone writes to."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.head = _current_head(path, kind)

    def check(self, base: Snapshot | None, option: str | None) -> None:
        """Raise InputError if a commit would replace what `base` is not a snapshot of.

        `option` is what the caller has to give to replace it, None if that was given.
        """
        if option is None or self.head is None or self._is_at(base):
            return
        if base is None or base.path != self.path:
            raise InputError(f"{self.path} already exists; choose another path, or replace it with {option}.")
        raise InputError(
            f"{self.path} has changed since it was opened: it was at generation {base.head.generation}, and is at "
            f"{self.head.generation}. Open it again and repeat the change, or replace it with {option}."
        )

    def _is_at(self, base: Snapshot | None) -> bool:
        same_path = base is not None and base.path == self.path
        return same_path and base is not None and self.head is not None and base.head.checksum == self.head.checksum

    @property
    def generation(self) -> int:
        """The number of the next generation."""
        return 1 + (0 if self.head is None else self.head.generation)

    def commit(self, arrays: Mapping[str, Array], meta: Mapping[str, object], base: Snapshot | None = None) -> Snapshot:
        """Make arrays and metadata the next generation, and return it.

        Arrays of `base`, the very same objects, are not written again if that is the current generation.
        """
        known = base if self._is_at(base) else None
        files: dict[str, ArrayFile] = {}
        with self._writing():
            for name, array in arrays.items():
                file = None if known is None else known.file_of(array)
                files[name] = write_array(self.path / self.name_of(name), array) if file is None else file
            self._replace_meta(files, meta)
        assert self.head is not None
        return Snapshot(self.path, self.head, arrays)

    def adopt(self, folder: Path, files: Mapping[str, ArrayFile], meta: Mapping[str, object]) -> None:
        """Make files that were written in another folder, on the same disk, the next generation."""
        with self._writing():
            renamed: dict[str, ArrayFile] = {}
            for name, about in files.items():
                file = (folder / about["file"]).rename(self.path / self.name_of(name))
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())
                renamed[name] = {**about, "file": file.name}
            self._replace_meta(renamed, meta)

    def name_of(self, name: str) -> str:
        """Return the name of the file of an array in the next generation."""
        return f"{name}.g{self.generation}.npy"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Remove what killed writers left, and after an error what this one wrote."""
        self._remove_strays()
        before = self.head
        try:
            yield
        except OSError as error:
            if isinstance(error, IndexFileError):
                raise
            raise IndexFileError(f"Cannot write an index at {self.path}: {error.strerror or error}.") from None
        finally:
            if self.head is before:
                self._remove_strays()

    def _replace_meta(self, files: Mapping[str, ArrayFile], meta: Mapping[str, object]) -> None:
        kept = {about["file"] for about in files.values()}
        old = {} if self.head is None else self.head.files
        previous = sorted({about["file"] for about in old.values()} - kept)
        complete = {**meta, "kind": self.kind, "format": FORMAT, "generation": self.generation}
        complete |= {"files": dict(files), "previous": previous}
        checksum = meta_checksum(complete)
        new = self.path / NEW_META
        with new.open("w", encoding="utf-8") as text:
            json.dump({**complete, "checksum": checksum}, text, indent=1)
            text.flush()
            os.fsync(text.fileno())
        sync_folder(self.path)
        before, self.head = self.head, Head(dict(meta), self.generation, dict(files), tuple(previous), checksum)
        try:  # from here on, whatever is raised, files of both generations are kept
            new.replace(self.path / META)
        finally:
            if new.exists():
                self.head = before
        sync_folder(self.path)
        self._remove_strays()

    def _remove_strays(self) -> None:
        """Remove files of writers that neither this generation nor the one before has."""
        head = self.head
        kept = set() if head is None else {about["file"] for about in head.files.values()} | set(head.previous)
        with suppress(OSError):
            for file in list(self.path.iterdir()):
                if file.name == NEW_META or (OWN.fullmatch(file.name) and file.name not in kept):
                    file.unlink(missing_ok=True)


@contextmanager
def writing(path: Path, kind: str, *, timeout: float = TIMEOUT) -> Iterator[FolderWriter]:
    """Yield the writer of a folder, which is made if it does not exist, once no other process writes to it.

    Anything but a folder of this kind at `path` is an error. A symbolic link is followed, and remains a link.

    Parameters
    ----------
    timeout : float
        How many seconds to wait for other writers. A warning says so after a second.
    """
    check_range(0, 1e9, timeout=timeout)
    check_folder(path, kind)
    target = resolved(path)
    with _locked(target, timeout), _removed_if_empty(target):
        check_folder(path, kind)  # again: another process may have made something else of it
        yield FolderWriter(target, kind)


def save_folder(
    path: Path,
    arrays: Mapping[str, Array],
    meta: Mapping[str, object],
    *,
    base: Snapshot | None = None,
    overwrite: bool = False,
    timeout: float = TIMEOUT,
) -> Snapshot:
    """Write arrays and metadata, whose "kind" is that of the folder, as its next generation, and return that.

    Parameters
    ----------
    base : Snapshot, optional
        What the arrays were made from. If the folder has changed since, or has something else, that is an error.
    overwrite : bool
        Whether to replace a folder of this kind whatever it has.
    """
    check_flag(overwrite=overwrite)
    with writing(path, str(meta["kind"]), timeout=timeout) as writer:
        writer.check(base, None if overwrite else "overwrite=True")
        return writer.commit(arrays, meta, base)


@contextmanager
def _locked(target: Path, timeout: float) -> Iterator[None]:
    """Hold the lock of a folder, which is created if it is not there, or is removed by another process meanwhile."""

    def opened(attempts: int = LOCK_ATTEMPTS) -> int:
        try:
            target.mkdir(exist_ok=True)
            return os.open(target / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except (FileExistsError, FileNotFoundError):  # perhaps another process has removed the folder in between
            if attempts == 1 or not target.parent.is_dir():
                raise
        return opened(attempts - 1)

    try:
        lock = waiting(opened, target / LOCK, target, timeout)
    except OSError as error:
        raise InputError(f"Cannot write an index at {target}: {error.strerror}.") from None
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def _removed_if_empty(target: Path) -> Iterator[None]:
    """Remove a folder at the end if nothing was committed and nothing else is there; its lock is held."""
    try:
        yield
    finally:
        if not (target / META).exists() and {file.name for file in target.iterdir()} <= {LOCK}:
            with suppress(OSError):
                (target / LOCK).unlink(missing_ok=True)
                target.rmdir()


def check_folder(path: Path, kind: str) -> None:
    """Raise InputError if `path` holds anything but a folder of this kind, or its parent does not exist."""
    try:
        if not _is_writable_as(path, kind):
            raise InputError(f"{path} exists and is not a {kind}; choose another path, or remove it first.")
        if not resolved(path).parent.is_dir():
            raise InputError(
                f"Cannot write an index at {path}: the folder {path.parent} does not exist; create it first."
            )
    except (OSError, ValueError) as error:
        if isinstance(error, InputError | IndexFileError):
            raise
        raise InputError(f"Cannot write an index at {path}: {getattr(error, 'strerror', None) or error}.") from None


def check_absent(path: Path, kind: str, option: str | None) -> None:
    """Raise InputError if `path` already holds something, unless `option`, which replaces it, was given (None)."""
    check_folder(path, kind)
    if option is not None and (path / META).exists():
        raise InputError(f"{path} already exists; choose another path, or replace it with {option}.")


def _is_writable_as(path: Path, kind: str) -> bool:
    """Return True if there is nothing at a path, a folder of this kind, or a folder with nothing but writers' files."""
    if (path / META).exists():
        try:
            meta = parsed_meta(path, read_meta(path))
        except IndexFileError:
            return False
        if meta.get("kind") == kind:
            check_format(path, meta)
            return True
        return False
    if not path.is_dir():
        return not path.exists()
    with suppress(FileNotFoundError):  # another process has removed it in between
        return all(file.name in (LOCK, NEW_META) or OWN.fullmatch(file.name) for file in path.iterdir())
    return True


def _current_head(path: Path, kind: str) -> Head | None:
    """Return what a folder says, None for a new one; one that is damaged can be replaced as a whole."""
    try:
        return parsed_head(path, read_meta(path), kind)
    except IndexFileError:
        if not (path / META).exists():
            return None
        found = [own for file in path.iterdir() if (own := OWN.fullmatch(file.name))]
        return Head({}, max((int(own[1]) for own in found), default=0), {}, tuple(own[0] for own in found))
