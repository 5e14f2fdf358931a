"""TREC run files and relevance judgments (qrels)."""

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, brief, check_type
from rankloom.io.atomic_file import atomic_write
from rankloom.io.rows import Duplicates, Rows, ranks_of
from rankloom.io.text_file import FilePath, check_field, is_float32, numbered_lines, shown, unknown_item
from rankloom.ranks import PAD, Ids, Ranks

RUN_COLUMNS = "query Q0 item rank score tag"
QREL_COLUMNS = "query iteration item grade"
UNDERSCORE = ord("_")  # Python accepts 1_000 as a number


class Numbering(dict[bytes, int]):
    """Ids numbered 0, 1, ... in order of first lookup."""

    def __missing__(self, key: bytes) -> int:
        self[key] = number = len(self)
        return number


def read_run(path: FilePath, *, item_ids: Ids | None = None, duplicates: Duplicates = "error") -> Ranks:
    """Read a TREC run file: lines of ``query Q0 item rank score tag``, separated by whitespace.

    A list is sorted by score, highest first; ties by the rank column, smallest first, then by line. (Scores are
    compared in float64, though Ranks store float32.) Queries come in order of appearance; the lines of a query need
    not be contiguous. The second and the last column are ignored.
    The file is UTF-8, compressed if its name ends in ``.gz``, and read line by line.

    Parameters
    ----------
    item_ids : Ids, optional
        The collection; by default the items of the file, in order of appearance.
    duplicates : {"error", "first"}
        How to treat an item that a query lists twice: raise an error, or use the better-ranked line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "bm25.trec")
    >>> _ = path.write_text("q1 Q0 d7 1 0.5 bm25\\nq1 Q0 d2 2 0.75 bm25\\n")
    >>> read_run(path).to_dict()
    {'q1': {'d2': 0.75, 'd7': 0.5}}
    """
    return _read_runs([path], item_ids, duplicates)[0]


def read_runs(
    paths: Sequence[FilePath], *, item_ids: Ids | None = None, duplicates: Duplicates = "error"
) -> list[Ranks]:
    """Read the run files of several rankers with a common numbering of items; each as in `read_run`.

    By default the collection is the union of the files' items, in order of appearance. Each run has the queries of
    its own file; `rankloom.ranks.align` aligns them.
    """
    if not isinstance(paths, Sequence) or isinstance(paths, str):
        raise InputError(f"Give a list of run files, one for each ranker; got {brief(paths)}.")
    if not paths:
        raise InputError("There are no run files to read; give one for each ranker.")
    return _read_runs(paths, item_ids, duplicates)


def _read_runs(paths: Sequence[FilePath], item_ids: Ids | None, duplicates: Duplicates) -> list[Ranks]:
    numbers: dict[bytes, int] = Numbering()
    if item_ids is not None:
        item_ids = item_ids if isinstance(item_ids, Ids) else Ids(item_ids)
        numbers = {item.encode(): number for number, item in enumerate(item_ids)}
    read = [_read_rows(path, numbers) for path in paths]
    ids = item_ids if item_ids is not None else Ids(map(bytes.decode, numbers))
    return [ranks_of(rows, query_ids=queries, item_ids=ids, duplicates=duplicates) for rows, queries in read]


def _read_rows(path: FilePath, item_numbers: dict[bytes, int]) -> tuple[Rows, Ids]:
    query_numbers = Numbering()
    # 32 bytes per line; lists of Python numbers would take five times as much
    queries, items, ranks, scores, lines = array("i"), array("i"), array("q"), array("d"), array("q")
    for number, (query, _, item, rank, score, _) in _columns(path, RUN_COLUMNS):
        if not rank.isdigit() or UNDERSCORE in score:
            raise _wrong_field(f"{path}:{number}", item, rank, score, item_numbers)
        try:
            items.append(item_numbers[item])
            ranks.append(int(rank))
            scores.append(float(score))
        except (KeyError, ValueError, OverflowError):
            raise _wrong_field(f"{path}:{number}", item, rank, score, item_numbers) from None
        queries.append(query_numbers[query])
        lines.append(number)
    if not lines:
        raise InputError(f"{path} is empty; a run has lines of '{RUN_COLUMNS}'.")
    q, i, s, r = map(np.asarray, (queries, items, scores, ranks))
    return Rows(q, i, s, r, lambda row: f"{path}:{lines[row]}"), Ids(map(bytes.decode, query_numbers))


def _columns(path: FilePath, names: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number and the columns of each line that is not blank."""
    expected = len(names.split())
    for number, line in numbered_lines(path):
        fields = line.split()
        if len(fields) == expected:
            yield number, fields
        elif fields:
            raise InputError(f"{path}:{number}: expected {expected} columns, got {len(fields)}: {shown(line)}.")


def _wrong_field(location: str, item: bytes, rank: bytes, score: bytes, known: dict[bytes, int]) -> InputError:
    """Return the error for the invalid field of a line."""
    if not rank.isdigit() or len(rank) > 18:  # 19 digits may not fit into 64 bits
        return InputError(f"{location}: the rank must be a whole number from 0; got {shown(rank)}.")
    if not is_float32(score):
        return InputError(f"{location}: the score must be a finite number; got {shown(score)}.")
    return unknown_item(location, item, known)


def write_run(ranks: Ranks, path: FilePath, *, tag: str = "rankloom") -> None:
    """Write a TREC run file, compressed if its name ends in ``.gz``.

    The rank column is the position, from 1. Scores are written with the fewest digits that read back as the same
    float32; without scores, 1 / rank is written. So `read_run` gives the same lists, in the same order. A query with an
    empty list has no line, and is lost when the file is read.

    Parameters
    ----------
    ranks : Ranks
        Items and queries without ids are written as their numbers.
    path : str or path
        Replaced only after everything is written.
    tag : str
        The last column: the name of the run. Like ids, it must not contain whitespace.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fused.trec")
    >>> write_run(Ranks([[2, 0]], [[0.75, 0.1]]), path)
    >>> print(path.read_text(), end="")
    0 Q0 2 1 0.75 rankloom
    0 Q0 0 2 0.1 rankloom
    """
    check_type(Ranks, ranks=ranks)
    check_field("tag", tag)
    for item in np.unique(ranks.items[ranks.items != PAD]).tolist():
        check_field("item id", ranks.item_id(item))
    with atomic_write(path, "w") as file:
        for query in np.flatnonzero(ranks.lengths()).tolist():
            check_field("query id", ranks.query_id(query))
            file.writelines(_run_lines(ranks, query, tag))


def _run_lines(ranks: Ranks, query: int, tag: str) -> Iterator[str]:
    query_id = ranks.query_id(query)
    items = ranks.items[query]
    items = items[items != PAD]
    if ranks.scores is None:
        scores = np.float32(1) / np.arange(1, len(items) + 1, dtype=np.float32)
    else:
        scores = ranks.scores[query, : len(items)]
    for rank, (item, score) in enumerate(zip(items.tolist(), _texts(scores), strict=True), 1):
        yield f"{query_id} Q0 {ranks.item_id(item)} {rank} {score} {tag}\n"


def _texts(scores: NDArray[np.float32]) -> list[str]:
    """Return the shortest decimals that read back as the same float32."""
    texts = scores.astype("U")
    # Readers go through float64, and double rounding can change the number, as it does for 7.038531e-26.
    wrong = texts.astype(np.float64).astype(np.float32) != scores
    texts[wrong] = scores[wrong].astype(np.float64).astype("U")
    return list(map(str, texts.tolist()))


def read_qrels(path: FilePath) -> dict[str, dict[str, int]]:
    """Read TREC relevance judgments: lines of ``query iteration item grade``, separated by whitespace.

    Returns ``{query: {item: grade}}``, in the order of the file. Grades are whole numbers; 0 and below mean not
    relevant, as in TREC. The second column is ignored.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("q1 0 d7 2\\nq1 0 d2 -1\\n")
    >>> read_qrels(path)
    {'q1': {'d7': 2, 'd2': -1}}
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, query, item, grade in _judgments(path):
        judged = qrels.setdefault(query, {})
        if item in judged:
            first = next(n for n, q, i, _ in _judgments(path) if (q, i) == (query, item))
            raise InputError(
                f"{path}:{number}: item {item!r} is judged a second time for query {query!r} "
                f"(first: {path}:{first}); remove one of the two."
            )
        judged[item] = grade
    if not qrels:
        raise InputError(f"{path} is empty; judgments are lines of '{QREL_COLUMNS}'.")
    return qrels


def _judgments(path: FilePath) -> Iterator[tuple[int, str, str, int]]:
    for number, (query, _, item, grade) in _columns(path, QREL_COLUMNS):
        try:
            yield number, query.decode(), item.decode(), int(grade.replace(b"_", b"?"))  # 1_000 is not a number
        except ValueError:
            raise InputError(f"{path}:{number}: the grade must be a whole number; got {shown(grade)}.") from None
