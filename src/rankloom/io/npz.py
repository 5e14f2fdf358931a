"""Ranks as a file of NumPy arrays: fast, exact, and safe to open (no pickled objects)."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from rankloom.errors import InputError
from rankloom.io.archive import Arrays, load_arrays
from rankloom.io.atomic_file import atomic_write
from rankloom.io.text_file import FilePath
from rankloom.ranks import Ids, Ranks
from rankloom.ranks.arrays import Array, Bytes, Int64s

FORMAT = 1


def pack_ids(ids: Iterable[str]) -> tuple[Bytes, Int64s]:
    """Return ids as arrays: their concatenated UTF-8 bytes, and pointers; id i is ``blob[ptr[i]:ptr[i + 1]]``."""
    return pack_bytes(map(_utf8, ids))


def pack_bytes(texts: Iterable[bytes]) -> tuple[Bytes, Int64s]:
    """Return encoded texts as `pack_ids` packs ids."""
    texts = list(texts)
    ptr = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), ptr


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"The id {text!r} cannot be written as UTF-8.") from None


def unpack_ids(blob: Array, ptr: Array) -> Ids:
    """Return the ids that `pack_ids` packed."""
    return Ids(unpacked(blob, ptr))


def unpacked(blob: Array, ptr: Array) -> list[str]:
    """Return texts that `pack_ids` packed, which need not be unique."""
    check_packed(blob, ptr)
    data, starts = blob.tobytes(), ptr.tolist()
    try:
        return [data[start:stop].decode() for start, stop in pairwise(starts)]
    except UnicodeDecodeError:
        raise InputError("Packed ids are not UTF-8.") from None


def check_packed(blob: Array, ptr: Array) -> None:
    """Raise InputError unless arrays are as `pack_bytes` makes them."""
    if (blob.dtype.str[1:], ptr.dtype.str[1:]) != ("u1", "i8") or (blob.ndim, ptr.ndim) != (1, 1):
        raise InputError(f"Packed texts must be bytes with 64-bit starts, both 1-d; got {blob.dtype} and {ptr.dtype}.")
    if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != len(blob) or (np.diff(ptr) < 0).any():
        raise InputError(f"The starts of packed texts must rise from 0 to {len(blob)}, the length of the bytes.")


def write_npz(ranks: Ranks, path: FilePath) -> None:
    """Write ranks with their scores and ids as NumPy arrays; no suffix is added to `path`.

    The arrays are ``format`` (the number 1), ``items``, ``n_items``, and if present ``scores``, ``kind``, ``recall``,
    ``item_ids``, ``item_ids_ptr``, ``query_ids``, ``query_ids_ptr`` (see `pack_ids`).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "bm25.npz")
    >>> write_npz(Ranks([[1, 0]], [[0.5, 0.25]]), path)
    >>> read_npz(path)
    Ranks(n_queries=1, depth=2, n_items=2, scores=yes)
    """
    with atomic_write(path, "wb") as file:
        np.savez(file, **pack_ranks(ranks))  # type: ignore[arg-type]  # the stub checks them against allow_pickle


def pack_ranks(ranks: Ranks) -> Arrays:
    """Return ranks as arrays."""
    arrays: Arrays = {"format": np.array(FORMAT), "items": ranks.items, "n_items": np.array(ranks.n_items)}
    for name in ("scores", "kind", "recall"):
        if getattr(ranks, name) is not None:
            arrays[name] = np.asarray(getattr(ranks, name))
    for name, ids in (("item_ids", ranks.item_ids), ("query_ids", ranks.query_ids)):
        if ids is not None:
            arrays[name], arrays[f"{name}_ptr"] = pack_ids(ids)
    return arrays


def read_npz(path: FilePath) -> Ranks:
    """Read ranks written by `write_npz`; they are validated, and nothing is unpickled.

    Lists of all items may also be the plain arrays ``items``, if there are any ``scores``, and ``ids``, the texts of
    the items, each of which is a query.
    """
    arrays = load_arrays(path)
    if "ids" in arrays:
        arrays = _packed(path, arrays)
    if "format" not in arrays or "items" not in arrays or "n_items" not in arrays:
        raise InputError(f"{path} is not a file of ranks; write one with rankloom.io.write_ranks.")
    try:
        return unpack_ranks(arrays)
    except ValueError as error:  # an InputError, or an array where a scalar is expected
        raise InputError(f"{path} contains invalid ranks: {error}") from None


def _packed(path: FilePath, arrays: Arrays) -> Arrays:
    """Return plain arrays as `pack_ranks` packs them."""
    given = arrays["ids"]
    if given.dtype.kind != "U" or given.ndim != 1:
        raise InputError(f"{path} contains invalid ranks: ids must be a list of strings; got {given.dtype}.")
    blob, ptr = pack_ids(given.tolist())
    named = {f"{side}{end}": array for side in ("item_ids", "query_ids") for end, array in (("", blob), ("_ptr", ptr))}
    return {**arrays, **named, "format": np.array(FORMAT), "n_items": np.array(given.size)}


def unpack_ranks(arrays: Arrays) -> Ranks:
    """Return the ranks that `pack_ranks` packed; raise ValueError if they are invalid."""
    if arrays["format"].item() != FORMAT:
        raise InputError(f"its format is {arrays['format']}; this version reads {FORMAT}.")
    return Ranks(
        arrays["items"],
        arrays.get("scores"),
        arrays["n_items"].item(),
        item_ids=_ids(arrays, "item_ids"),
        query_ids=_ids(arrays, "query_ids"),
        kind=arrays["kind"].item() if "kind" in arrays else None,
        recall=arrays["recall"].item() if "recall" in arrays else None,
    )


def _ids(arrays: Arrays, name: str) -> Ids | None:
    if name not in arrays:
        return None
    if f"{name}_ptr" not in arrays:
        raise InputError(f"{name}_ptr is missing.")
    return unpack_ids(arrays[name], arrays[f"{name}_ptr"])
