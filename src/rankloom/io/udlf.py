"""Text files of UDLF, the Unsupervised Distance Learning Framework: ranked lists and matrices.

A collection of n items has a *list file* of their ids, one per line; line i of every other file belongs to item i.
Ranked lists hold item numbers from 0 (UDLF's ``RK NUM``) or ids (``RK STR``), best first, separated by whitespace.
Matrices hold n lines of n distances (``MATRIX DIST``) or similarities (``MATRIX SIM``).

References
----------
Valem, Pedronette (2017), An Unsupervised Distance Learning Framework for Multimedia Retrieval,
doi:10.1145/3078971.3079017
"""

from array import array
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, check_choice, check_whole
from rankloom.io.atomic_file import atomic_write
from rankloom.io.labels import read_ids
from rankloom.io.matrix import text_rows
from rankloom.io.rows import Duplicates, check_duplicates_policy
from rankloom.io.text_file import FilePath, check_field, numbered_lines, shown, unknown_item
from rankloom.ranks import MAX_ITEMS, PAD, Ids, Ranks
from rankloom.ranks.nearest import Search, nearest

#: How a file of ranked lists identifies items.
ListKind = Literal["numbers", "names"]
#: What a matrix contains.
MatrixKind = Literal["distances", "similarities"]

SQUARE = "a matrix of n items has n lines of n numbers"


def read_udlf_ranks(
    path: FilePath,
    *,
    kind: ListKind = "numbers",
    list_file: FilePath | None = None,
    depth: int | None = None,
    duplicates: Duplicates = "error",
) -> Ranks:
    """Read ranked lists as UDLF writes them: line i is the list of item i, best first; return collection ranks.

    Lists may differ in length. Blank lines at the end are ignored; the file is compressed if its name ends in ``.gz``.

    Parameters
    ----------
    kind : {"numbers", "names"}
        Items as numbers from 0, or as the ids of `list_file`.
    list_file : str or path, optional
        Ids of the items, one per line; required for names. With it the ranks have `item_ids` and `query_ids`.
    depth : int, optional
        Number of items to read of each list; the rest is not checked.
    duplicates : {"error", "first"}
        How to treat an item that a list has twice: raise an error, or use the first.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lists.txt")
    >>> _ = path.write_text("0 1\\n1\\n")
    >>> read_udlf_ranks(path).items
    array([[ 0,  1],
           [ 1, -1]], dtype=int32)
    """
    check_choice("kind of lists", kind, get_args(ListKind))
    check_duplicates_policy(duplicates)
    if depth is not None:
        check_whole(depth=depth)
    if kind == "names" and list_file is None:
        raise InputError("Lists of names need list_file, the file of the item ids.")
    ids = None if list_file is None else read_ids(list_file)
    known = None if kind == "numbers" or list_file is None or ids is None else _numbers_by_id(ids, list_file)
    items, lines = _read_lists(path, known, depth, duplicates)
    if ids is not None:
        _check_count(path, len(items), "lists", list_file, len(ids))
    _check_item_numbers(path, items, lines)
    return Ranks.trusted(items, None, len(items), item_ids=ids, query_ids=ids, kind="collection")


def _check_count(path: FilePath, count: int, what: str, list_file: FilePath | None, n_items: int) -> None:
    if count != n_items:
        raise InputError(
            f"{path} has {count} {what}, but {list_file} has {n_items} items; both must belong to the same collection."
        )


def _numbers_by_id(ids: Ids, list_file: FilePath) -> dict[bytes, int]:
    spaced = next((id for id in ids if len(id.encode().split()) > 1), None)
    if spaced is not None:
        raise InputError(f"{list_file}: {spaced!r} has whitespace, which separates the names of a list.")
    return {item.encode(): number for number, item in enumerate(ids)}


def _read_lists(
    path: FilePath, known: dict[bytes, int] | None, depth: int | None, duplicates: Duplicates
) -> tuple[NDArray[np.int32], list[int]]:
    """Return the padded lists and the line number of each."""
    flat, lengths, lines = array("i"), [], []
    for number, line in _list_lines(path):
        location = f"{path}:{number}"
        row = _parse_numbers(location, line, depth) if known is None else _parse_ids(location, line, depth, known)
        if len(set(row)) < len(row):
            if duplicates == "error":
                raise _listed_twice(location, line, row)
            row = list(dict.fromkeys(row))
        flat.extend(row)
        lengths.append(len(row))
        lines.append(number)
    if not lines:
        raise InputError(f"{path} is empty; it must have a ranked list for each item, one per line.")
    items = np.full((len(lengths), max(lengths)), PAD, np.int32)
    items[np.arange(items.shape[1]) < np.array(lengths)[:, None]] = flat
    return items, lines


def _list_lines(path: FilePath) -> Iterator[tuple[int, bytes]]:
    """Yield the numbered lines without trailing blank ones; raise InputError if any other is blank."""
    blank = 0
    for number, line in numbered_lines(path):
        if not line.strip():
            blank = blank or number
        elif blank:
            raise InputError(f"{path}:{blank}: the list is empty; every item must list at least itself.")
        else:
            yield number, line


def _parse_numbers(location: str, line: bytes, depth: int | None) -> list[int]:
    fields = line.split()[:depth]
    try:
        row = list(map(int, fields))
    except ValueError:
        row = [PAD]
    if b"_" in line or min(row) < 0 or max(row) >= MAX_ITEMS:  # Python accepts 1_000 as a number
        wrong = next(field for field in line.split() if not field.isdigit() or len(field) > 9)
        raise InputError(f"{location}: expected item numbers from 0, got {shown(wrong)}.")
    return row


def _parse_ids(location: str, line: bytes, depth: int | None, known: dict[bytes, int]) -> list[int]:
    try:
        return [known[item] for item in line.split()[:depth]]
    except KeyError as error:
        raise unknown_item(location, error.args[0], known) from None


def _listed_twice(location: str, line: bytes, row: list[int]) -> InputError:
    twice = next(i for i, item in enumerate(row) if item in row[:i])
    return InputError(
        f"{location}: item {shown(line.split()[twice])} is listed twice; give each item once, "
        "or use duplicates='first' to keep the first."
    )


def _check_item_numbers(path: FilePath, items: NDArray[np.int32], lines: list[int]) -> None:
    too_large = items.max(axis=1) >= len(items)
    if too_large.any():
        row = int(too_large.argmax())
        raise InputError(
            f"{path}:{lines[row]}: there is no item {items[row].max()}; "
            f"{len(items)} lines are the lists of items 0 to {len(items) - 1}."
        )


def write_udlf_ranks(
    ranks: Ranks, path: FilePath, *, kind: ListKind = "numbers", list_file: FilePath | None = None
) -> None:
    """Write ranked lists for UDLF: line i is the list of item i, best first; scores are not written.

    UDLF reads the same number of items from every line, so its list length L must not exceed the shortest list.

    Parameters
    ----------
    ranks : Ranks
        Collection ranks; with ids, rows are first brought to the order of the items.
    path : str or path
        Compressed if the name ends in ``.gz``.
    kind : {"numbers", "names"}
        Items as numbers from 0, or as ids.
    list_file : str or path, optional
        Where to write the ids of the items, one per line, which UDLF also needs.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lists.txt")
    >>> write_udlf_ranks(Ranks([[0, 1], [1, -1]]), path)
    >>> path.read_text()
    '0 1\\n1\\n'
    """
    check_choice("kind of lists", kind, get_args(ListKind))
    ranks = ranks.as_collection()
    empty = np.flatnonzero(ranks.lengths() == 0)
    if len(empty):
        raise InputError(
            f"Item {ranks.item_id(int(empty[0]))!r} has an empty list, which UDLF files cannot hold; "
            "every item must list at least itself."
        )
    show = str if kind == "numbers" else ranks.item_id
    if kind == "names" or list_file is not None:
        ids = [ranks.item_id(item) for item in range(ranks.n_items)]
        for id in ids:
            check_field("item id", id)
    if list_file is not None:
        with atomic_write(list_file, "w") as file:
            file.writelines(f"{id}\n" for id in ids)
    with atomic_write(path, "w") as file:
        for row in ranks.items:
            file.write(" ".join(map(show, row[row != PAD].tolist())) + "\n")


def read_udlf_matrix(
    path: FilePath,
    *,
    kind: MatrixKind = "distances",
    list_file: FilePath | None = None,
    depth: int = 1000,
) -> Ranks:
    """Rank a collection by a UDLF matrix: n lines of n numbers, line i for item i; distances are negated as scores.

    Ties are broken by item number, but item i wins ties in row i. (UDLF puts it first whatever its distance.) Blank
    lines are ignored; the file is compressed if its name ends in ``.gz``. It is read in blocks of lines, never as a
    whole. To write one, use ``numpy.savetxt(path, matrix)``.

    Parameters
    ----------
    kind : {"distances", "similarities"}
        Whether the smallest or the largest number of a line is best.
    list_file : str or path, optional
        Ids of the items, one per line; with it the ranks have `item_ids` and `query_ids`.
    depth : int
        Length of the lists, at most the size of the collection.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "distances.txt")
    >>> _ = path.write_text("0 2 1\\n2 0 4\\n1 4 0\\n")
    >>> read_udlf_matrix(path, depth=2).items
    array([[0, 2],
           [1, 0],
           [2, 0]], dtype=int32)
    """
    check_choice("kind of matrix", kind, get_args(MatrixKind))
    check_whole(depth=depth)
    ids = None if list_file is None else read_ids(list_file)
    n_items = _width(path)
    if ids is not None:
        _check_count(path, n_items, "columns", list_file, len(ids))
    sign = 1.0 if kind == "distances" else -1.0
    rows = _matrix_rows(path, n_items)

    def costs(start: int, stop: int, out: NDArray[np.float64]) -> None:
        for row in out:
            np.multiply(next(rows), sign, out=row)

    items, best = nearest(n_items, n_items, depth, Search(costs), own=np.arange(n_items))
    next(rows, None)  # raises if anything follows the last row
    return Ranks.trusted(items, 0 - best, n_items, item_ids=ids, query_ids=ids, kind="collection")


def _width(path: FilePath) -> int:
    width = next((len(row) for _, row in text_rows(path)), 0)
    if not width:
        raise InputError(f"{path} is empty; {SQUARE}.")
    return width


def _matrix_rows(path: FilePath, n_items: int) -> Iterator[NDArray[np.float64]]:
    """Yield the rows of a matrix; raise InputError if it is not square."""
    count = 0
    for count, (number, row) in enumerate(text_rows(path), 1):
        if count > n_items:
            raise InputError(f"{path}:{number}: there are more lines than the {n_items} numbers on each; {SQUARE}.")
        yield row
    if count < n_items:
        raise InputError(f"{path} has {count} lines of {n_items} numbers; {SQUARE}.")
