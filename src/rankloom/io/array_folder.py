"""Arrays in a folder: one `.npy` for each and a `meta.json`, written whole or not at all.

A save writes into a hidden folder beside the target, `meta.json` last, and renames it into place; a target that
is there already changes places with the new folder in one step where the system can do that (Linux), else in two.
A process killed at any moment leaves the old folder or the new one, never a mixture; killed between the two steps,
the old one is put back by the next `open_folder` or `save_folder`. What was left beside is removed by the next save.

Checksums guard against damage, not against a person who can write to the folder: they are kept in it.
"""

import ctypes
import hashlib
import json
import math
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import IndexFileError, InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

META = "meta.json"
OLD = ".old"  # ends the name of a folder that is being replaced
SMALL = 4096  # bytes

Array = NDArray[Any]


def save_folder(path: Path, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
    """Write arrays and what is to be known of them to the folder `path`, replacing what is there.

    A folder that is not one of ours is not replaced. A link is followed, and stays a link.
    """
    check_folder(path, meta["kind"])
    target = path.resolve()
    try:
        _remove_left_behind(target)
        aside = target.parent / f".{target.name}.{uuid.uuid4().hex[:16]}.aside"
        aside.mkdir()
    except OSError as error:
        raise InputError(f"Can't write an index at {path}: {error.strerror}.") from None
    try:
        with _locked(aside):
            _write(aside, arrays, meta)
            _put_in_place(aside, target)
            _sync_names(target.parent)
    except OSError as error:
        raise IndexFileError(f"Can't write an index at {path}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # the old folder, or what an error left


def check_folder(path: Path, kind: str) -> None:
    """Raise where a folder of that kind can't be saved at `path`: something else is there, or nothing to put it in."""
    try:
        _put_back(path.resolve())
        empty = path.is_dir() and not any(path.iterdir())
        if path.exists() and not empty and not _is_a(path, kind):
            raise InputError(f"{path} exists and is not a {kind}; choose another name, or remove it first.")
        if not path.resolve().parent.is_dir():
            raise InputError(f"Can't write an index at {path}: the folder {path.parent} does not exist; make it first.")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"Can't write an index at {path}: {getattr(error, 'strerror', None) or error}.") from None


def open_folder(
    path: Path, *, kind: str, formats: range, verify: bool = True
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays of a folder, memory-mapped, and its meta; raise where anything is not as it was saved.

    Parameters
    ----------
    kind, formats
        What the folder must say it is, and the format numbers that can be read.
    verify : bool
        Compare the checksum of every byte. Without it only names and sizes are looked at.
    """
    with suppress(OSError):
        _put_back(path.resolve())
    while True:  # until no other process has replaced the folder meanwhile
        with _opened_meta(path) as stream:
            try:
                opened = _open(path, stream.read(), kind, formats, verify)
            except IndexFileError:
                if _is_at(stream, path / META):
                    raise
            else:
                if _is_at(stream, path / META):
                    return opened


def _open(path: Path, text: bytes, kind: str, formats: range, verify: bool) -> tuple[dict[str, Array], dict[str, Any]]:
    meta = _parsed(path, text)
    if meta.get("kind") != kind:
        raise IndexFileError(f"{path} is not a {kind}: {META} says {meta.get('kind')!r}.")
    if meta.get("format") not in formats:
        raise IndexFileError(
            f"The index at {path} has format {meta.get('format')}; this version reads {formats[0]} to {formats[-1]}. "
            "Rebuild it with 'rankloom index', or install a newer rankloom."
        )
    if meta.pop("checksum", None) != _meta_checksum(meta):
        raise IndexFileError(f"{path / META} was altered after it was saved; build the index again.")
    files: dict[str, dict[str, Any]] = meta["files"]
    with ThreadPoolExecutor() as pool:
        arrays = pool.map(lambda name: _open_array(path / f"{name}.npy", files[name], verify), files)
        return dict(zip(files, arrays, strict=True)), meta


def _write(folder: Path, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
    files = {}
    for name, array in arrays.items():
        file = folder / f"{name}.npy"
        with file.open("wb") as stream:
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
            stream.flush()
            os.fsync(stream.fileno())
        about = {"dtype": array.dtype.str, "shape": array.shape, "bytes": file.stat().st_size}
        files[name] = {**about, "sha256": _checksum(file)}
    whole = {**meta, "files": files}
    whole["checksum"] = _meta_checksum(whole)
    with (folder / META).open("w", encoding="utf-8") as text:
        json.dump(whole, text, indent=1)
        text.flush()
        os.fsync(text.fileno())
    _sync_names(folder)


def _sync_names(folder: Path) -> None:
    """Have the names in a folder outlive a power cut, where the system lets a folder be opened."""
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _put_in_place(aside: Path, path: Path) -> None:
    """Rename `aside` to `path`; what was there is at `aside` afterwards."""
    if not path.exists():
        aside.rename(path)
    elif not _exchange(aside, path):
        old = aside.with_name(aside.name.removesuffix(".aside") + OLD)
        path.rename(old)
        aside.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Let two names change places in one step, where the system can (Linux: renameat2)."""
    if not sys.platform.startswith("linux"):
        return False
    at_fdcwd, exchange = -100, 2
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(at_fdcwd, os.fsencode(a), at_fdcwd, os.fsencode(b), exchange) == 0)


def _left_behind(path: Path, ending: str) -> list[Path]:
    """Folders beside `path` that a save made and nobody has locked: its process no longer runs."""
    name = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{16}" + re.escape(ending))
    beside = [folder for folder in path.parent.iterdir() if name.fullmatch(folder.name)]
    return [folder for folder in beside if _nobody_has(folder)]


def _remove_left_behind(path: Path) -> None:
    for folder in (*_left_behind(path, ".aside"), *_left_behind(path, OLD)):
        shutil.rmtree(folder, ignore_errors=True)


def _put_back(path: Path) -> None:
    """Give an old folder its name again if its save was killed between the two steps of replacing it."""
    if path.parent.is_dir() and not path.exists():
        for old in _left_behind(path, OLD)[:1]:
            old.rename(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder: the system lets go of it when the process ends, however it ends."""
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def _nobody_has(folder: Path) -> bool:
    if fcntl is None:
        return False  # can't be told, so nothing is removed
    try:
        with _locked(folder):
            return True
    except OSError:
        return False


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
        raise IndexFileError(f"There is no index at {path}; make one with 'rankloom index'.") from None
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise IndexFileError(f"Can't read {path / META}: {getattr(error, 'strerror', None) or error}.") from None


def _is_at(stream: BinaryIO, file: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), file.stat())
    except OSError:
        return False


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    try:
        meta = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise IndexFileError(f"{path / META} is damaged: it is not JSON; build the index again.") from None
    if not isinstance(meta, dict):
        raise IndexFileError(f"{path / META} is damaged: it is not a JSON object; build the index again.")
    return meta


def _meta_checksum(meta: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _open_array(file: Path, about: Mapping[str, Any], verify: bool) -> Array:
    with _reading(file), file.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size != about["bytes"]:
            raise ValueError
        if np.dtype(about["dtype"]).hasobject:
            raise ValueError
        if verify and hashlib.file_digest(stream, "sha256").hexdigest() != about["sha256"]:
            raise ValueError
        # The file that was checked is the one mapped, even if another one has its name by now.
        return _array(stream, np.dtype(about["dtype"]), tuple(about["shape"]), about["bytes"])


def _array(stream: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...], size: int) -> Array:
    """Map the entries at the end of a file; a small file is read, as one without entries can't be mapped."""
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
        raise IndexFileError(f"Can't read {file}: {error.strerror}.") from None
    except ValueError:
        raise IndexFileError(f"{file} is damaged: it is not what was saved; build the index again.") from None
