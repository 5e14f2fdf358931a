"""Matrices in files, with a row for each item: NumPy arrays (.npy, .npz) or text."""

import os
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rankloom.errors import InputError, UnknownNameError
from rankloom.io.archive import load_arrays
from rankloom.io.labels import read_ids
from rankloom.io.text_file import FLOAT32_MAX, FilePath, is_float32, numbered_lines, opened, shown
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array, Floats


def read_matrix(
    path: FilePath, *, list_file: FilePath | None = None, key: str | None = None
) -> tuple[Array, Ids | None]:
    """Read a matrix, and the ids of its rows if they are known.

    Parameters
    ----------
    path : str or path
        ``.npy``: one array, memory-mapped, so it may be larger than memory. ``.npz``: one matrix, and optionally an
        array ``ids`` of strings, one for each row. Anything else is text: a row on each line, numbers separated by
        whitespace (as in UDLF) or commas, compressed if the name ends in ``.gz``.
    list_file : str or path, optional
        Ids of the rows, one per line, if the file itself has none.
    key : str, optional
        Name of the matrix in an ``.npz`` with several. Its ids are then in the array ``{key}_ids``, if there is one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "embeddings.npz")
    >>> np.savez(path, vectors=[[0.5, 1.0], [2.0, 0.0]], ids=["d7", "d2"])
    >>> read_matrix(path)
    (array([[0.5, 1. ],
           [2. , 0. ]]), Ids(['d7', 'd2'], n=2))
    """
    suffix = Path(os.fspath(path)).suffix.lower()
    if suffix == ".npz":
        matrix, ids = _read_npz(path, key)
    elif key is not None:
        raise InputError(f"key names a matrix in an .npz file; {path} has only one. Leave it out.")
    else:
        matrix, ids = (_read_npy if suffix == ".npy" else _read_text)(path), None
    if matrix.ndim != 2:
        raise InputError(f"{path} must have a matrix; got an array of shape {matrix.shape}.")
    if list_file is not None:
        if ids is not None:
            raise InputError(f"{path} has ids of its own; leave list_file out.")
        ids = read_ids(list_file)
    if ids is not None and len(ids) != len(matrix):
        where = "it" if list_file is None else list_file
        raise InputError(f"{path} has {len(matrix)} rows, but {where} has {len(ids)} ids; give an id for each row.")
    return matrix, ids


def _read_npy(path: FilePath) -> Array:
    with opened(path) as file:  # for its errors
        file.read(1)
    try:
        return np.lib.format.open_memmap(Path(path), mode="r")
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise InputError(f"Cannot read the matrix {path}: {reason}. Write it with numpy.save.") from None


def _read_npz(path: FilePath, key: str | None) -> tuple[Array, Ids | None]:
    arrays = load_arrays(path)
    if key is not None:
        if key not in arrays:
            raise UnknownNameError(f"array in {path}", key, arrays)
        matrix, ids = arrays[key], arrays.get(f"{key}_ids")
    else:
        ids = arrays.pop("ids", None)
        if len(arrays) != 1:
            raise InputError(
                f"{path} must have one matrix, and optionally ids; got {', '.join(arrays) or 'no array'}. Choose one "
                "with key=, or write numpy.savez(path, vectors=matrix, ids=ids)."
            )
        [matrix] = arrays.values()
    return matrix, None if ids is None else _ids(path, ids)


def _ids(path: FilePath, ids: Array) -> Ids:
    if ids.ndim != 1 or ids.dtype.kind not in "Uiu":
        raise InputError(f"The ids in {path} must be a list of strings; got {ids.dtype} of shape {ids.shape}.")
    try:
        return Ids(map(str, ids.tolist()))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_text(path: FilePath) -> Array:
    values, count = array("d"), 0
    for _, row in text_rows(path):
        values.frombytes(row.tobytes())
        count += 1
    if not count:
        raise InputError(f"{path} is empty; a matrix has a row on each line.")
    return np.frombuffer(values).reshape(count, -1)


def text_rows(path: FilePath) -> Iterator[tuple[int, Floats]]:
    """Yield the number and the values of each line that is not blank; all have as many values as the first."""
    width = 0
    for number, line in numbered_lines(path):
        if line.strip():
            row = _parse_floats(f"{path}:{number}", line, width)
            width = len(row)
            yield number, row


def _parse_floats(location: str, line: bytes, width: int) -> Floats:
    """Return the numbers of a line; raise InputError if there are not `width`, unless 0, or float32 cannot hold one."""
    fields = line.split(b",") if b"," in line else line.split()
    if width and len(fields) != width:
        raise InputError(f"{location}: expected {width} numbers, as on the first line, got {len(fields)}.")
    try:
        row = np.fromiter(map(float, fields), np.float64)
    except ValueError:
        row = np.full(len(fields), np.nan)
    if b"_" in line or not (np.abs(row) <= FLOAT32_MAX).all():  # False for NaN, too
        column, wrong = next((i, field) for i, field in enumerate(fields, 1) if not is_float32(field))
        raise InputError(f"{location}: column {column} must be a finite number; got {shown(wrong)}.")
    return row
