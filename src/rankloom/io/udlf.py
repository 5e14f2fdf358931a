"""Text files of UDLF, the framework of unsupervised distance learning: ranked lists and matrices.

A collection of n items has a *list file* that names them, one a line; line i of every other file belongs to item i.
Ranked lists hold item numbers from 0 (UDLF's ``RK NUM``) or names (``RK STR``), best first, parted by white space.
Matrices hold n lines of n distances (``MATRIX DIST``) or similarities (``MATRIX SIM``).

References
----------
Valem, Pedronette (2017), An Unsupervised Distance Learning Framework for Multimedia Retrieval,
doi:10.1145/3078971.3079017
"""

from array import array
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels.nearest import nearest
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.atomic_file import atomic_write
from rankloom.io.text_file import FLOAT32_MAX, FilePath, check_written, is_number, numbered_lines, shown, unknown_item
from rankloom.ranks import MAX_ITEMS, PAD, Ids, Ranks

#: How a file of ranked lists says which item it means.
ListKind = Literal["numbers", "names"]
#: What the numbers of a matrix are.
MatrixKind = Literal["distances", "similarities"]

SQUARE = "a matrix of n items has n lines of n numbers"


def read_udlf_ranks(
    path: FilePath, *, kind: ListKind = "numbers", list_file: FilePath | None = None, depth: int | None = None
) -> Ranks:
    """Read ranked lists as UDLF writes them: line i is the list of item i, best first.

    Lists may differ in length. Blank lines at the end are ignored; the file is packed if its name ends in ``.gz``.

    Parameters
    ----------
    path : str or path
    kind : {"numbers", "names"}
        Items as numbers from 0, or as names of `list_file`.
    list_file : str or path, optional
        Names of the items, one a line; needed for names. With it the ranks have `item_ids` and `query_ids`.
    depth : int, optional
        Items read of each list; what follows is not looked at.

    Returns
    -------
    Ranks
        Collection ranks without scores; a row for each line, as many items as lines.

    Raises
    ------
    InputError
        For a file that is missing, a folder, unreadable, empty or not UTF-8; for a blank line between others
        (UDLF knows no empty list), an item listed twice on a line, a number that is not whole, below 0 or
        not below the number of items, an unknown name; where the list file names more or fewer items than there
        are lines; for names without a list file. The message starts with file and line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lists.txt")
    >>> _ = path.write_text("0 1\\n1\\n")
    >>> read_udlf_ranks(path).items
    array([[ 0,  1],
           [ 1, -1]], dtype=int32)
    """
    _check_choice("kind of lists", kind, ("numbers", "names"))
    _check_depth(depth)
    if kind == "names" and list_file is None:
        raise InputError("Lists of names need list_file, the file that names the items in order.")
    ids = None if list_file is None else _read_list_file(list_file)
    known = _numbers_by_name(ids) if kind == "names" and ids is not None else None
    items, lines = _read_lists(path, known, depth)
    if ids is not None:
        _check_count(path, len(items), "lists", list_file, len(ids))
    _check_largest(path, items, lines)
    return Ranks.trusted(items, None, len(items), item_ids=ids, query_ids=ids)


def _check_choice(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UnknownNameError(kind, name, known)


def _check_depth(depth: int | None) -> None:
    if depth is not None and depth < 1:
        raise InputError(f"depth must be at least 1; got {depth}.")


def _check_count(path: FilePath, count: int, what: str, list_file: FilePath | None, n_items: int) -> None:
    if count != n_items:
        raise InputError(f"{path} has {count} {what}, but {list_file} names {n_items} items; they must be of one set.")


def _read_list_file(path: FilePath) -> Ids:
    lines: dict[str, int] = {}
    for number, line in numbered_lines(path):
        fields = line.split()
        if len(fields) > 1:
            raise InputError(f"{path}:{number}: expected one name without white space, got {shown(line)}.")
        for name in map(bytes.decode, fields):
            if name in lines:
                raise InputError(f"{path}:{number}: {name!r} is named a second time (first: {path}:{lines[name]}).")
            lines[name] = number
    if not lines:
        raise InputError(f"{path} is empty; it names the items, one a line.")
    return Ids(lines)


def _numbers_by_name(ids: Ids) -> dict[bytes, int]:
    return {name.encode(): number for number, name in enumerate(ids)}


def _read_lists(
    path: FilePath, known: dict[bytes, int] | None, depth: int | None
) -> tuple[NDArray[np.int32], list[int]]:
    """Return padded lists and the line of each."""
    flat, lengths, lines = array("i"), [], []
    for number, line in _lines_before_the_end(path):
        place = f"{path}:{number}"
        row = _numbers(place, line, depth) if known is None else _named(place, line, depth, known)
        if len(set(row)) < len(row):
            raise _listed_twice(place, line, row)
        flat.extend(row)
        lengths.append(len(row))
        lines.append(number)
    if not lines:
        raise InputError(f"{path} is empty; it must have a ranked list for each item, one a line.")
    items = np.full((len(lengths), max(lengths)), PAD, np.int32)
    items[np.arange(items.shape[1]) < np.array(lengths)[:, None]] = flat
    return items, lines


def _lines_before_the_end(path: FilePath) -> Iterator[tuple[int, bytes]]:
    """Yield lines up to the last that is not blank; a blank one before it is an error."""
    blank = 0
    for number, line in numbered_lines(path):
        if not line.strip():
            blank = blank or number
        elif blank:
            raise InputError(f"{path}:{blank}: the list is empty; every item needs a list, at least itself.")
        else:
            yield number, line


def _numbers(place: str, line: bytes, depth: int | None) -> list[int]:
    fields = line.split()[:depth]
    try:
        row = list(map(int, fields))
    except ValueError:
        row = [PAD]
    if b"_" in line or min(row) < 0 or max(row) >= MAX_ITEMS:  # Python takes 1_000 for a number
        wrong = next(field for field in line.split() if not field.isdigit() or len(field) > 9)
        raise InputError(f"{place}: expected item numbers from 0, got {shown(wrong)}.")
    return row


def _named(place: str, line: bytes, depth: int | None, known: dict[bytes, int]) -> list[int]:
    try:
        return [known[name] for name in line.split()[:depth]]
    except KeyError as error:
        raise unknown_item(place, error.args[0], known) from None


def _listed_twice(place: str, line: bytes, row: list[int]) -> InputError:
    twice = next(i for i, item in enumerate(row) if item in row[:i])
    return InputError(f"{place}: item {shown(line.split()[twice])} is listed twice; give each item once.")


def _check_largest(path: FilePath, items: NDArray[np.int32], lines: list[int]) -> None:
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

    UDLF reads the same number of items from every line, so set its list length L to no more than the shortest.

    Parameters
    ----------
    ranks : Ranks
        Collection ranks; with names, rows are brought to the order of the items first.
    path : str or path
        Packed if the name ends in ``.gz``.
    kind : {"numbers", "names"}
        Items as numbers from 0, or as names.
    list_file : str or path, optional
        Where to write the names of the items, one a line, as UDLF wants them too.

    Raises
    ------
    InputError
        Where there is not a list for each item or one is empty, for a name that is empty or has white space,
        and where a file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lists.txt")
    >>> write_udlf_ranks(Ranks([[0, 1], [1, -1]]), path)
    >>> path.read_text()
    '0 1\\n1\\n'
    """
    _check_choice("kind of lists", kind, ("numbers", "names"))
    ranks = ranks.as_collection()
    _check_no_empty_list(ranks)
    name = str if kind == "numbers" else ranks.item_id
    if kind == "names" or list_file is not None:
        names = [ranks.item_id(item) for item in range(ranks.n_items)]
        for one in names:
            check_written("item id", one)
    if list_file is not None:
        with atomic_write(list_file, "w") as file:
            file.writelines(f"{one}\n" for one in names)
    with atomic_write(path, "w") as file:
        for row in ranks.items:
            file.write(" ".join(map(name, row[row != PAD].tolist())) + "\n")


def _check_no_empty_list(ranks: Ranks) -> None:
    empty = np.flatnonzero(ranks.lengths() == 0)
    if len(empty):
        raise InputError(
            f"Item {ranks.item_id(int(empty[0]))!r} has an empty list, which UDLF files cannot hold; "
            "give every item a list, at least itself."
        )


def read_udlf_matrix(
    path: FilePath,
    *,
    kind: MatrixKind = "distances",
    list_file: FilePath | None = None,
    depth: int = 1000,
) -> Ranks:
    """Rank a collection by a matrix as UDLF reads it: n lines of n numbers, line i for item i.

    Equal numbers come in the order of items, item i itself before the others in row i. (UDLF puts it first
    whatever its number.) Blank lines are ignored; the file is packed if its name ends in ``.gz``. It is read
    by blocks of lines, never held whole. For writing one, ``numpy.savetxt(path, matrix)`` does.

    Parameters
    ----------
    path : str or path
    kind : {"distances", "similarities"}
        Whether the smallest or the largest number of a line is best.
    list_file : str or path, optional
        Names of the items, one a line; with it the ranks have `item_ids` and `query_ids`.
    depth : int
        Length of the lists; shorter where the collection is smaller.

    Returns
    -------
    Ranks
        Collection ranks; the scores are the similarities, or the distances turned round.

    Raises
    ------
    InputError
        For a file that is missing, a folder, unreadable, empty or not UTF-8; for a line that has more or
        fewer numbers than the first, a number that is NaN, infinite or beyond float32; where there are more or
        fewer lines than numbers on a line, or the list file names more or fewer items.

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
    _check_choice("kind of matrix", kind, ("distances", "similarities"))
    _check_depth(depth)
    ids = None if list_file is None else _read_list_file(list_file)
    n_items = _width(path)
    if ids is not None:
        _check_count(path, n_items, "columns", list_file, len(ids))
    sign = 1.0 if kind == "distances" else -1.0
    rows = _matrix_rows(path, n_items)

    def costs(start: int, stop: int, out: NDArray[np.float64]) -> None:
        for row in out:
            np.multiply(next(rows), sign, out=row)

    items, best = nearest(n_items, n_items, depth, costs, own=True)
    next(rows, None)  # raises if anything follows the last row
    return Ranks.trusted(items, 0 - best, n_items, item_ids=ids, query_ids=ids)


def _width(path: FilePath) -> int:
    width = next((len(line.split()) for _, line in numbered_lines(path) if line.strip()), 0)
    if not width:
        raise InputError(f"{path} is empty; {SQUARE}.")
    return width


def _matrix_rows(path: FilePath, n_items: int) -> Iterator[NDArray[np.float64]]:
    """Yield the rows of a square matrix, or raise where it is not one."""
    count = 0
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        count += 1
        if count > n_items:
            raise InputError(f"{path}:{number}: there are more lines than the {n_items} numbers on each; {SQUARE}.")
        yield _floats(f"{path}:{number}", line, n_items)
    if count < n_items:
        raise InputError(f"{path} has {count} lines of {n_items} numbers; {SQUARE}.")


def _floats(place: str, line: bytes, n_items: int) -> NDArray[np.float64]:
    fields = line.split()
    if len(fields) != n_items:
        raise InputError(f"{place}: expected {n_items} numbers, as on the first line, got {len(fields)}.")
    try:
        row = np.fromiter(map(float, fields), np.float64, n_items)
    except ValueError:
        row = np.full(n_items, np.nan)
    if b"_" in line or not (np.abs(row) <= FLOAT32_MAX).all():  # also where a NaN is
        column, wrong = next((i, field) for i, field in enumerate(fields, 1) if not is_number(field))
        raise InputError(f"{place}: column {column} must be a finite number; got {shown(wrong)}.")
    return row
