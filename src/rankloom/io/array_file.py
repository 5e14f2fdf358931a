"""Files of one array each: `.npy`, written with a digest, and opened memory-mapped by a description in metadata."""

import hashlib
import math
import mmap
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, TypeGuard

import numpy as np

from rankloom.errors import IndexFileError
from rankloom.ranks.arrays import Array

NAME = re.compile(r"\w[\w.-]*")  # of a file: nothing that leads out of the folder
SMALL = 4096  # bytes; smaller files are read, not mapped
MAX_MAPPED = 1 << 30  # bytes of files in memory from which a search of shards releases them


class ArrayFile(TypedDict):
    """What `meta.json` says of the file of an array."""

    file: str
    dtype: str
    shape: Sequence[int]
    bytes: int
    sha256: str


class _Digested:
    """A stream that digests what is written.

    NumPy does not report why writing to a real file failed, such as a full disk; this hides that it is one.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.digest = stream, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._stream.write(data)


def write_array(file: Path, array: Array, *, sync: bool = True) -> ArrayFile:
    """Write a .npy file, and return its description."""
    with file.open("wb") as stream:
        target: Any = _Digested(stream)
        np.lib.format.write_array(target, np.ascontiguousarray(array), allow_pickle=False)
        size = stream.tell()
        stream.flush()
        if sync:
            os.fsync(stream.fileno())
    return _description(file, array, size, target.digest.hexdigest())


def described(file: Path, array: Array) -> ArrayFile:
    """Return the description of a file that has been written, such as a mapped one."""
    return _description(file, array, file.stat().st_size, _digest(file))


def _description(file: Path, array: Array, size: int, digest: str) -> ArrayFile:
    return {"file": file.name, "dtype": array.dtype.str, "shape": list(array.shape), "bytes": size, "sha256": digest}


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_description(about: Any) -> TypeGuard[ArrayFile]:
    """Return True if metadata has all that is needed to map a file in the folder; a checksum can be recomputed."""
    try:
        dtype, shape, size = np.dtype(about["dtype"]), about["shape"], about["bytes"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, size))
        plain = NAME.fullmatch(about["file"]) is not None and dtype.str == about["dtype"] and not dtype.hasobject
        return plain and whole and isinstance(about["sha256"], str) and dtype.itemsize * math.prod(shape) <= size
    except (KeyError, TypeError, ValueError, SyntaxError):
        return False


def open_array(folder: Path, about: ArrayFile, verify: bool) -> Array:
    """Return the array of a file, memory-mapped and read-only; compare its digest if `verify`."""
    file = folder / about["file"]
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
