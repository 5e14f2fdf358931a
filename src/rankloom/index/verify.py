"""Checks of an index read from disk: kernels trust its arrays, so no number in them may be out of range.

Digests find damage. These checks find malformed files, whatever their digests say: every number points into the
collection, rows hold different items, weights are finite and in range.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from typing import TypeVar

import numpy as np

from rankloom.errors import IndexFileError
from rankloom.index.shard import VERTICES, prefix, shard_arrays
from rankloom.ranks.arrays import Array
from rankloom.threads import Scratch, run_blocks

#: name of an array -> its type and its shape, in terms of named sizes
Layout = Mapping[str, tuple[str, tuple[str | int, ...]]]
#: name of an array -> the smallest and the largest value it may have, the latter also as a named size
Ranges = Mapping[str, tuple[float, float | str]]
#: CSR patterns: the names of pointers and of values, and a number above the values
Patterns = Sequence[tuple[str, str, int]]
S = TypeVar("S")

MAX_RANKERS = 10_000
MAX_SETTING = 2**31 - 1
#: The arrays of every index: the order of its items, and its posting lists.
SHARED: Layout = {
    "numbers": ("int32", ("n",)),
    "places": ("int32", ("n",)),
    "post_ptr": ("int64", ("vertices + 1",)),
    "post_rows": ("uint32", ("entries",)),
}


class DamageError(Exception):
    """An array or a setting that is wrong; the message names it."""


@contextmanager
def raising(path: object) -> Iterator[None]:
    """Turn `DamageError` into an `IndexFileError` that names the index."""
    try:
        yield
    except DamageError as damage:
        raise IndexFileError(f"The index at {path} is damaged: {damage}; build it again.") from None


def read_settings(kind: type[S], given: object, path: object) -> S:
    """Return settings from plain data; a missing, unknown or invalid one is an `IndexFileError`."""
    with raising(path):
        if not isinstance(given, Mapping):
            raise DamageError("it has no settings")
        known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
        for name, field in known.items():
            required = field.default is MISSING
            if (required and name not in given) or (name in given and not _fits(given[name], str(field.type))):
                raise DamageError(f"its setting {name!r} is not valid")
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            raise DamageError(f"its setting {unknown!r} is unknown")
        wrong = [name for name, value in given.items() if not _is_for_each(value, given["n_rankers"])]
        if given["n_rankers"] > MAX_RANKERS or wrong:
            raise DamageError(f"its setting {(wrong or ['n_rankers'])[0]!r} is not valid")
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
    raise AssertionError  # the block above returns or raises


def _is_for_each(value: object, n_rankers: int) -> bool:
    """Return True if a setting is not a list, or is empty, or has one value for each ranker."""
    return not isinstance(value, list | tuple) or len(value) in (0, n_rankers)


def _fits(value: object, annotation: str) -> bool:
    for name in annotation.split(" | "):
        if name == "None" and value is None:
            return True
        if name == "bool" and isinstance(value, bool):
            return True
        if name == "int" and isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_SETTING:
            return True
        if name == "str" and isinstance(value, str):
            return True
        item = {"tuple[str, ...]": str, "tuple[bool, ...]": bool}.get(name)
        if item is not None and isinstance(value, list | tuple) and all(isinstance(v, item) for v in value):
            return True
    return False


def check_arrays(
    arrays: Mapping[str, Array],
    layout: Layout,
    ranges: Ranges,
    sizes: Mapping[str, int],
) -> None:
    """Raise `DamageError` if the arrays of an index are inconsistent, or a number in them is out of range.

    Parameters
    ----------
    sizes : mapping
        The sizes that the layout names, besides those of items and entries; `m` is the number of rankers.
    """
    n = arrays["numbers"].size if "numbers" in arrays else 0
    sizes = {"n": n, "n - 1": n - 1, **sizes}
    whole = {name: about for name, about in layout.items() if not is_of_shard(about[1])}
    check_layout(arrays, whole, sizes)
    check_scores(arrays, sizes["m"], n)
    check_order(arrays)
    check_ranges(arrays, {name: limits for name, limits in ranges.items() if name in whole}, sizes)
    n_rows = 0
    for number, own in enumerate(shard_arrays(arrays)):
        try:
            n_rows += check_shard(own, layout, ranges, sizes)
        except DamageError as damage:
            where = "" if "post_ptr" in arrays else prefix(number)
            raise DamageError(f"{where}{damage}") from None
    if n_rows != n:
        raise DamageError(f"its shards have {n_rows} items, not {n}")


def is_of_shard(shape: Sequence[str | int]) -> bool:
    """Return True if an array of this shape belongs to a shard: not all of its sizes are those of the collection."""
    return any(str(size).split(" ")[0] in ("rows", "entries", "vertices") for size in shape)


def check_shard(arrays: Mapping[str, Array], layout: Layout, ranges: Ranges, sizes: Mapping[str, int]) -> int:
    """Raise `DamageError` if the arrays of a shard are inconsistent; return the number of its rows."""
    own: Layout = {name: about for name, about in layout.items() if is_of_shard(about[1])}
    if VERTICES in arrays:
        own = {**own, VERTICES: ("uint32", ("vertices",))}
    n_rows = next(len(arrays[name]) if name in arrays else 0 for name, about in own.items() if about[1][0] == "rows")
    n_vertices = arrays[VERTICES].size if VERTICES in arrays else sizes["n"]
    entries = arrays.get("post_rows", np.empty(0)).size
    more = {"rows": n_rows, "vertices": n_vertices, "entries": entries}
    check_layout(arrays, own, {**sizes, **more, **{f"{name} + 1": size + 1 for name, size in more.items()}})
    patterns = (("row_ptr", "row_items", sizes["n"]), ("post_ptr", "post_rows", n_rows))
    check_rows(arrays, sizes["n"], [pattern for pattern in patterns if pattern[0] in own])
    check_ranges(arrays, {name: limits for name, limits in ranges.items() if name in own}, sizes)
    return n_rows


def check_ranges(arrays: Mapping[str, Array], ranges: Ranges, sizes: Mapping[str, int]) -> None:
    """Raise `DamageError` unless the values of arrays are in their ranges."""
    for name, (low, high) in ranges.items():
        check_values(arrays, name, low, sizes[high] if isinstance(high, str) else high)


def check_layout(arrays: Mapping[str, Array], layout: Layout, sizes: Mapping[str, int]) -> None:
    """Raise `DamageError` unless every array exists and has its type and shape."""
    for name, (dtype, shape) in layout.items():
        if name not in arrays:
            raise DamageError(f"{name}.npy is missing")
        expected = tuple(sizes[size] if isinstance(size, str) else size for size in shape)
        if arrays[name].dtype != dtype or arrays[name].shape != expected:
            raise DamageError(f"{name}.npy does not match the other arrays")


def check_order(arrays: Mapping[str, Array]) -> None:
    """Raise `DamageError` unless `numbers` and `places` are permutations and each other's inverse."""
    numbers, places = arrays["numbers"], arrays["places"]
    n = len(numbers)
    inside = n == 0 or (numbers.min() >= 0 and numbers.max() < n and places.min() >= 0 and places.max() < n)
    if not inside or not np.array_equal(places[numbers], np.arange(n)):
        raise DamageError("numbers.npy does not match the other arrays")


def check_rows(arrays: Mapping[str, Array], n_items: int, patterns: Patterns) -> None:
    """Raise `DamageError` unless rows and postings are in range and no row has a number twice."""
    vertices = arrays.get(VERTICES)
    if vertices is not None and (
        vertices.max(initial=0) >= max(n_items, 1) or not (vertices[1:] > vertices[:-1]).all()
    ):
        raise DamageError(f"{VERTICES}.npy does not match the other arrays")
    for ptr, values, limit in patterns:
        bounds = arrays[ptr]
        if bounds[0] != 0 or bounds[-1] != arrays[values].size or (np.diff(bounds) < 0).any():
            raise DamageError(f"{ptr}.npy does not match the other arrays")
        if arrays[values].max(initial=0) >= max(limit, 1):
            raise DamageError(f"{values}.npy does not match the other arrays")
    for ptr, values, _ in patterns:
        if not _rows_differ(arrays[ptr], arrays[values], n_items):  # a shard has no more rows than that
            raise DamageError(f"{values}.npy has a number twice in one row")


def _rows_differ(ptr: Array, items: Array, n_items: int) -> bool:
    from rankloom._kernels.lists import rows_differ

    scratch, repeated = Scratch(n_items), []

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as seen:
            if not rows_differ(start, stop, ptr, items, seen):
                repeated.append(start)

    run_blocks(work, len(ptr) - 1, stage="Verifying")
    return not repeated


def check_values(arrays: Mapping[str, Array], name: str, low: float, high: float) -> None:
    """Raise `DamageError` unless every number of an array is finite and in a range."""
    values = arrays[name]
    if values.size and not (values.min() >= low and values.max() <= high):  # NaN fails, too
        raise DamageError(f"{name}.npy has values out of range")


def check_scores(arrays: Mapping[str, Array], n_rankers: int, n_items: int) -> None:
    """Raise `DamageError` unless stored scores have a row for each item and do not increase along it."""
    for name in (f"scores_{ranker}" for ranker in range(n_rankers)):
        scores = arrays.get(name)
        if scores is None:
            continue
        if scores.dtype != "float32" or scores.ndim != 2 or len(scores) != n_items:
            raise DamageError(f"{name}.npy does not match the other arrays")
        if np.isnan(scores).any() or (scores[:, 1:] > scores[:, :-1]).any():
            raise DamageError(f"{name}.npy has values out of range")
