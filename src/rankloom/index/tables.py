"""Lists on disk: one table for each ranker, of shape (items, depth), opened memory-mapped.

A table is a `.npy` file of item numbers, a folder with `items*.npy` and perhaps `scores*.npy` (several are parts of
consecutive items, in the order of their names), an `.npz` file of ranks, or parquet: a file or a folder of parts with
lists in the columns `items` and perhaps `scores`. Only a `.npy` file of int32 is used as it is; the others are copied
once, part by part.
"""

import math
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from rankloom.errors import InputError, needs_extra
from rankloom.io.array_file import write_array
from rankloom.io.npz import read_npz
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array

CHUNK = 1 << 16  # rows read at a time


class Files(NamedTuple):
    """The files of a ranker's table: items, and scores or none."""

    items: tuple[str, ...]
    scores: tuple[str, ...]


def find_files(path: Path) -> Files:
    """Return the files of a table of lists; raise InputError if there is none."""
    if not path.exists():
        raise InputError(f"There is no table of lists at {path}.")
    if path.is_dir():
        items, scores = (_sorted(path, f"{kind}*.npy") for kind in ("items", "scores"))
        if scores and len(scores) != len(items):
            raise InputError(f"{path} has {len(items)} files of items and {len(scores)} of scores.")
        if not items and not (items := _sorted(path, "*.parquet")):
            raise InputError(f"{path} has no items*.npy and no parquet files; it is not a table of lists.")
        return Files(items, scores)
    if path.suffix not in (".npy", ".npz", ".parquet"):
        raise InputError(f"{path} is not a table of lists: expected .npy, .npz, .parquet, or a folder of parts.")
    return Files((str(path.resolve()),), ())


def _sorted(folder: Path, pattern: str) -> tuple[str, ...]:
    return tuple(sorted(str(file.resolve()) for file in folder.glob(pattern)))


def is_direct(files: Files) -> bool:
    """Return True if a table can be mapped as it is: one int32 file in C order, and at most one float32 file."""
    if len(files.items) != 1 or not files.items[0].endswith(".npy"):
        return False
    mapped = [open_array(path) for path in (*files.items, *files.scores)]
    types = ("int32", "float32")
    return all(array.dtype == t and array.flags.c_contiguous for array, t in zip(mapped, types, strict=False))


def open_array(path: str | Path) -> Array:
    """Return a 2-d array of a .npy file, memory-mapped."""
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is not a .npy file of lists: {error}.") from None
    if array.ndim != 2:
        raise InputError(f"{path} must be 2-d, a row for each item; got shape {array.shape}.")
    return np.asarray(array)


def blocks(files: Files) -> Iterator[tuple[Array, Array | None]]:
    """Yield the rows of a table in blocks: items, and scores or None; rows of parquet are padded."""
    for number, path in enumerate(files.items):
        if path.endswith(".parquet"):
            yield from _parquet_blocks(path)
        elif path.endswith(".npz"):
            yield _npz_block(path)
        else:
            items = open_array(path)
            scores = open_array(files.scores[number]) if files.scores else None
            for start in range(0, len(items), CHUNK):
                rows = slice(start, start + CHUNK)
                yield items[rows], None if scores is None else scores[rows]


def _npz_block(path: str) -> tuple[Array, Array | None]:
    ranks = read_npz(path)
    if ranks.item_ids is not None or ranks.query_ids is not None:
        raise InputError(
            f"{path} has ids, and builds on disk match the items of rankers by number. Build in memory, or write the "
            "ranks of all rankers without ids and in a common numbering."
        )
    return ranks.items, ranks.scores


def _parquet_blocks(path: str) -> Iterator[tuple[Array, Array | None]]:
    with needs_extra("Reading parquet", "pyarrow", "parquet"):
        from pyarrow import ArrowException, parquet
    try:
        with parquet.ParquetFile(path) as file:
            names = [name for name in ("items", "scores") if name in file.schema_arrow.names]
            if "items" not in names:
                raise InputError(f"{path} has no column 'items' with lists of item numbers.")
            for batch in file.iter_batches(CHUNK, columns=names):
                yield _of_batch(path, *(batch.column(name) for name in names))
    except (ArrowException, OSError) as error:
        raise InputError(f"{path} is not a parquet file of lists: {error}.") from None


def _of_batch(path: str, *columns: Any) -> tuple[Array, Array | None]:
    """Return the lists of items and perhaps of scores, padded."""
    from pyarrow import types

    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    for column in columns:
        if not any(is_kind(column.type) for is_kind in kinds):
            raise InputError(f"{path} must have a list in each row of 'items' and 'scores'; got {column.type}.")
    lengths = [np.asarray(column.value_lengths().fill_null(0)) for column in columns]
    if not np.array_equal(lengths[0], lengths[-1]):
        raise InputError(f"{path} has a list of scores that is not as long as the list of items.")
    padded = [
        _padded(np.asarray(column.flatten()), lengths[0], fill) for column, fill in zip(columns, (PAD, 0), strict=False)
    ]
    return padded[0], padded[1] if len(padded) == 2 else None


def _padded(values: Array, lengths: Array, fill: int) -> Array:
    out = np.full((len(lengths), max(int(lengths.max(initial=0)), 1)), fill, values.dtype)
    out[np.arange(out.shape[1]) < lengths[:, None]] = values
    return out


def shape_of(files: Files) -> tuple[int, int]:
    """Return the number of rows and the depth of a table; reads all of it unless it is .npy."""
    if files.items[0].endswith(".npy"):
        shapes = [open_array(path).shape for path in files.items]
        for path, shape, own in zip(files.items, shapes, files.scores, strict=False):  # there may be no scores
            if (found := open_array(own).shape) != shape:
                raise InputError(f"{path} has shape {shape} and {own} {found}; items and scores must have the same.")
    else:
        shapes = [items.shape for items, _ in blocks(files)]
    return sum(shape[0] for shape in shapes), max(shape[1] for shape in shapes)


def copy_table(files: Files, depth: int, items_to: Path, scores_to: Path) -> None:
    """Write a table as one int32 file, and one float32 file if it has scores; both appear when they are complete."""
    shape = shape_of(files)
    shape = (shape[0], min(depth, shape[1]))
    n_done, scored = 0, None
    with growing(items_to, shape, np.int32) as out, ExitStack() as if_scored:
        for items, scores in blocks(files):
            if items.dtype.kind not in "iu":
                raise InputError(f"{files.items[0]} must contain item numbers; got {items.dtype}.")
            if items.max(initial=0) > np.iinfo(np.int32).max or items.min(initial=0) < PAD:
                raise InputError(f"{files.items[0]} has an item number that is negative or does not fit in 32 bits.")
            if n_done and (scores is None) != (scored is None):
                raise InputError(f"Only some parts of the table of {files.items[0]} have scores; give all or none.")
            rows = slice(n_done, n_done + len(items))
            _fill(out[rows], items, PAD)
            if scores is not None:
                scored = if_scored.enter_context(growing(scores_to, shape, np.float32)) if scored is None else scored
                _fill(scored[rows], scores, 0)
            n_done = rows.stop


def _fill(out: Array, rows: Array, padding: int) -> None:
    """Copy rows, cut or padded to the width of `out`."""
    width = min(rows.shape[1], out.shape[1])
    with np.errstate(over="ignore"):  # of scores in float32: the check of the lists reports infinity
        out[:, :width] = rows[:, :width]
    out[:, width:] = padding


@contextmanager
def growing(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[Array]:
    """Yield an array on disk to fill; it is written aside, and its file appears at the end."""
    temporary = aside(path)
    if math.prod(shape):
        array: Array = np.lib.format.open_memmap(temporary, "w+", dtype, shape)
        yield array
    else:  # an empty array cannot be mapped
        array = np.empty(shape, dtype)
        yield array
        write_array(temporary, array, sync=False)
    temporary.replace(path)


def aside(path: Path) -> Path:
    """Return the name of a temporary file beside a path: no other process uses it."""
    return path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")


def check_rows(items: Array, scores: Array | None, n_items: int, path: str, first: int, seen: Array) -> Array:
    """Return the lengths of lists read from disk; raise InputError for what `Ranks` would reject."""
    from rankloom._kernels.index.shards import valid_lengths

    lengths = np.empty(len(items), np.int32)
    valid = valid_lengths(items, n_items, seen, lengths)
    if valid and (scores is None or _ordered(scores, np.arange(items.shape[1]) < lengths[:, None])):
        return lengths
    try:
        Ranks(items, scores, n_items)
    except InputError as error:
        raise InputError(f"{path}, rows from {first}: {error}") from None
    raise InputError(f"{path}, rows from {first}: the lists are not valid.")


def _ordered(scores: Array, inside: Array) -> bool:
    """Return True if scores are finite and do not increase; those of padding do not count."""
    falling = scores[:, 1:] <= scores[:, :-1]
    return bool((falling | ~inside[:, 1:]).all() and (np.isfinite(scores) | ~inside).all())
