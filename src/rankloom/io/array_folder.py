"""A folder of arrays, one `.npy` file each, with a `meta.json`; replaced as a whole or not at all.

A save writes a hidden temporary folder next to the target, `meta.json` last, and renames it into place. An existing
target is exchanged with the new folder, in one atomic step if the system supports it (Linux), else in two renames.
A process killed at any moment leaves the old folder or the new one, never a mixture; if it is killed between the two
renames, the next `open_folder` or `save_folder` restores the old one. The next save removes leftover folders.

The checksums are stored in the folder: they detect damage, not tampering.
"""

import ctypes
import hashlib
import json
import math
import mmap
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TypedDict, TypeGuard

import numpy as np

from rankloom.errors import IndexFileError, InputError, check_flag
from rankloom.io.atomic_file import resolved
from rankloom.io.file_lock import claimed, locked
from rankloom.io.text_file import Plain
from rankloom.ranks.arrays import Array

META = "meta.json"
OLD, NEW = ".old", ".aside"  # suffixes of the temporary folders
IN_USE = (5, 32)  # Windows error codes for a folder with open files, which cannot be renamed
NAME = re.compile(r"\w[\w.-]*")  # of an array: nothing that leads out of the folder
SMALL = 4096  # bytes; smaller files are read, not mapped
MAX_MAPPED = 1 << 30  # bytes of files in memory from which a search of shards releases them


class ArrayFile(TypedDict):
    """What `meta.json` says of the file of an array."""

    dtype: str
    shape: Sequence[int]
    bytes: int
    sha256: str


def save_folder(path: Path, arrays: Mapping[str, Array], meta: Mapping[str, object]) -> None:
    """Write arrays and their metadata to the folder `path`, replacing a folder of the same kind.

    Anything else at `path` is an error. A symbolic link is followed, and remains a link.
    """
    check_folder(path, str(meta["kind"]))
    target = resolved(path)
    try:
        _remove_leftovers(target)
        new = target.parent / f".{target.name}.{uuid.uuid4().hex[:16]}{NEW}"
        new.mkdir()
    except OSError as error:
        raise InputError(f"Cannot write an index at {path}: {error.strerror}.") from None
    try:
        with locked(new):
            _write(new, arrays, meta)
            _move_into_place(new, target)
            _sync_folder(target.parent)
    except OSError as error:
        raise IndexFileError(f"Cannot write an index at {path}: {_reason(error)}.") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)  # now the old folder, or what an error left behind


def _reason(error: OSError) -> str:
    if getattr(error, "winerror", None) in IN_USE:
        return "it is open in another program or in this one; close it first"
    return error.strerror or str(error)


def check_folder(path: Path, kind: str) -> None:
    """Raise InputError if `path` holds anything but a folder of this kind, or its parent does not exist."""
    try:
        _restore_old(resolved(path))
        empty = path.is_dir() and not any(path.iterdir())
        if path.exists() and not empty and not _is_a(path, kind):
            raise InputError(f"{path} exists and is not a {kind}; choose another path, or remove it first.")
        if not resolved(path).parent.is_dir():
            raise InputError(
                f"Cannot write an index at {path}: the folder {path.parent} does not exist; create it first."
            )
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"Cannot write an index at {path}: {getattr(error, 'strerror', None) or error}.") from None


def check_absent(path: Path, kind: str, option: str) -> None:
    """Raise InputError if `path` already holds something; name the option that replaces a folder of this kind."""
    check_folder(path, kind)
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} already exists; choose another path, or replace it with {option}.")


def open_folder(path: Path, *, kind: str, formats: range, verify: bool = True) -> tuple[dict[str, Array], Plain]:
    """Return the memory-mapped arrays of a folder of a kind and format, and its metadata.

    The checksums of all files are compared (`verify`), or only their names and sizes.
    """
    check_flag(verify=verify)
    with suppress(OSError, ValueError):  # ValueError: a NUL in the path
        _restore_old(resolved(path))
    while True:  # repeat if another process replaced the folder in the meantime
        with _opened_meta(path) as stream:
            try:
                opened = _open(path, stream.read(), kind, formats, verify)
            except IndexFileError:
                if _is_at(stream, path / META):
                    raise
            else:
                if _is_at(stream, path / META):
                    return opened


def _open(path: Path, text: bytes, kind: str, formats: range, verify: bool) -> tuple[dict[str, Array], Plain]:
    meta = _parsed(path, text)
    if meta.get("kind") != kind:
        raise IndexFileError(f"{path} is not a {kind}: {META} says {meta.get('kind')!r}.")
    if meta.get("format") not in formats:
        read = " or ".join(dict.fromkeys((str(formats[0]), str(formats[-1]))))
        raise IndexFileError(
            f"The {kind.removeprefix('rankloom ')} at {path} has format {meta.get('format')}; this version reads "
            f"{read}. Build it again, or use the rankloom that wrote it."
        )
    if meta.pop("checksum", None) != _meta_checksum(meta):
        raise IndexFileError(f"{path / META} was modified after it was saved; build the index again.")
    files = meta.get("files")
    if not isinstance(files, dict) or not all(_is_described(name, about) for name, about in files.items()):
        raise IndexFileError(f"{path / META} is damaged: it does not describe the files; build the index again.")
    with ThreadPoolExecutor() as pool:
        arrays = pool.map(lambda name: _open_array(path / f"{name}.npy", files[name], verify), files)
        return dict(zip(files, arrays, strict=True)), meta


def release_pages(arrays: Iterable[Array]) -> None:
    """Let the system take back the memory of mapped files that were read; they are read again when they are used."""
    for array in arrays:
        mapped = getattr(array.base, "_mmap", None)
        if mapped is not None and hasattr(mapped, "madvise"):  # not on Windows
            mapped.madvise(mmap.MADV_DONTNEED)


def limit_pages(arrays: Iterable[Array]) -> None:
    """Release the pages of mapped files if the process has more than `MAX_MAPPED` bytes of files in memory (Linux).

    The system would take them back when it needs memory, but limits and monitors count them as memory in use.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[2])
    except OSError:
        return
    if pages * mmap.PAGESIZE > MAX_MAPPED:
        release_pages(arrays)


def _is_described(name: str, about: Any) -> TypeGuard[ArrayFile]:
    """Return True if metadata has all that is needed to map a file in the folder; a checksum can be recomputed."""
    try:
        dtype, shape, size = np.dtype(about["dtype"]), about["shape"], about["bytes"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, size))
        plain = NAME.fullmatch(name) is not None and dtype.str == about["dtype"] and not dtype.hasobject
        return plain and whole and isinstance(about["sha256"], str) and dtype.itemsize * math.prod(shape) <= size
    except (KeyError, TypeError, ValueError, SyntaxError):
        return False


def _write(folder: Path, arrays: Mapping[str, Array], meta: Mapping[str, object]) -> None:
    files = {}
    for name, array in arrays.items():
        file = folder / f"{name}.npy"
        write_array(file, array)
        files[name] = described(file, array)
    _write_meta(folder, files, meta)


def write_array(file: Path, array: Array, *, sync: bool = True) -> None:
    """Write a .npy file."""
    with file.open("wb") as stream:
        # NumPy does not report why writing to a real file failed, such as a full disk: hide that it is one.
        target: Any = SimpleNamespace(write=stream.write)
        np.lib.format.write_array(target, np.ascontiguousarray(array), allow_pickle=False)
        stream.flush()
        if sync:
            os.fsync(stream.fileno())


def described(file: Path, array: Array) -> ArrayFile:
    """Return what `meta.json` says of the file of an array."""
    size = file.stat().st_size
    return {"dtype": array.dtype.str, "shape": array.shape, "bytes": size, "sha256": _checksum(file)}


def install_folder(new: Path, path: Path, files: Mapping[str, ArrayFile], meta: Mapping[str, object]) -> None:
    """Let a folder of files written elsewhere, on the same disk, replace the one at `path`, as `save_folder` does.

    Parameters
    ----------
    files : mapping
        The description of each file (`described`); files that are not described are removed.
    """
    check_folder(path, str(meta["kind"]))
    target = resolved(path)
    try:
        for file in new.iterdir():
            if file.suffix != ".npy" or file.stem not in files:
                file.unlink()
        for name in files:
            _sync_file(new / f"{name}.npy")
        _write_meta(new, files, meta)
        _move_into_place(new, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise IndexFileError(f"Cannot write an index at {path}: {_reason(error)}.") from None


def _sync_file(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


def _write_meta(folder: Path, files: Mapping[str, ArrayFile], meta: Mapping[str, object]) -> None:
    complete = {**meta, "files": files}
    complete["checksum"] = _meta_checksum(complete)
    with (folder / META).open("w", encoding="utf-8") as text:
        json.dump(complete, text, indent=1)
        text.flush()
        os.fsync(text.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    """Flush a folder's directory entries to disk, on systems that can open a folder."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _move_into_place(new: Path, path: Path) -> None:
    """Rename `new` to `path`; if the two can be exchanged, the old folder is at `new` afterwards."""
    if not path.exists():
        new.rename(path)
    elif not _exchange(new, path):
        old = new.with_name(new.name.removesuffix(NEW) + OLD)
        path.rename(old)
        try:
            new.rename(path)
        except OSError:
            old.rename(path)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Swap two paths atomically; return False if the system cannot (only Linux can, by renameat2)."""
    if not sys.platform.startswith("linux"):
        return False
    at_fdcwd, exchange = -100, 2
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(at_fdcwd, os.fsencode(a), at_fdcwd, os.fsencode(b), exchange) == 0)


def _leftovers(path: Path, suffix: str) -> list[Path]:
    """Return the temporary folders of saves to `path`, in progress or killed."""
    name = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{16}" + re.escape(suffix))
    return [folder for folder in path.parent.iterdir() if name.fullmatch(folder.name)]


def _remove_leftovers(path: Path) -> None:
    for folder in (*_leftovers(path, NEW), *_leftovers(path, OLD)):
        with claimed(folder) as abandoned:
            if abandoned:
                shutil.rmtree(folder, ignore_errors=True)


def _restore_old(path: Path) -> None:
    """Restore the old folder if a save was killed between its two renames."""
    if path.parent.is_dir() and not path.exists():
        for old in _leftovers(path, OLD):
            with claimed(old) as abandoned:
                if abandoned and not path.exists():
                    old.rename(path)


def _is_a(path: Path, kind: str) -> bool:
    try:
        with _opened_meta(path) as stream:
            return bool(_parsed(path, stream.read()).get("kind") == kind)
    except IndexFileError:
        return False


def _opened_meta(path: Path) -> BinaryIO:
    try:
        return (path / META).open("rb")
    except (FileNotFoundError, NotADirectoryError):
        why = "" if path.exists() else ", which does not exist"
        raise IndexFileError(
            f"There is no index at {path}{why}; make one with 'rankloom index', or a searcher with 'rankloom build'."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise IndexFileError(f"Cannot read {path / META}: {getattr(error, 'strerror', None) or error}.") from None


def _is_at(stream: BinaryIO, file: Path) -> bool:
    """Return True if an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), file.stat())
    except OSError:
        return False


def _parsed(path: Path, text: bytes) -> Plain:
    try:
        meta = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise IndexFileError(f"{path / META} is damaged: it is not JSON; build the index again.") from None
    if not isinstance(meta, dict):
        raise IndexFileError(f"{path / META} is damaged: it is not a JSON object; build the index again.")
    return meta


def _meta_checksum(meta: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _open_array(file: Path, about: ArrayFile, verify: bool) -> Array:
    with _reading(file), file.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size != about["bytes"]:
            raise ValueError
        if verify and hashlib.file_digest(stream, "sha256").hexdigest() != about["sha256"]:
            raise ValueError
        # Map the file that was checked, even if another file has replaced it by now.
        return _array(stream, np.dtype(about["dtype"]), tuple(about["shape"]), about["bytes"])


def _array(stream: BinaryIO, dtype: np.dtype, shape: tuple[int, ...], size: int) -> Array:
    """Map the data at the end of a file; read a small file, as an empty array cannot be mapped."""
    start = size - dtype.itemsize * math.prod(shape)
    if size > SMALL:
        return np.asarray(np.memmap(stream, dtype, "r", start, shape))
    stream.seek(start)
    array = np.frombuffer(stream.read(), dtype).reshape(shape)  # read-only
    return array


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise IndexFileError(f"{file} is missing; build the index again.") from None
    except OSError as error:
        raise IndexFileError(f"Cannot read {file}: {error.strerror}.") from None
    except ValueError:
        raise IndexFileError(f"{file} is damaged: it has changed since it was saved; build the index again.") from None
