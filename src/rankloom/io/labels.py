"""Text files about the items of a collection: their ids, one per line, and their classes."""

from rankloom.errors import InputError
from rankloom.io.text_file import FilePath, numbered_lines, shown
from rankloom.ranks import Ids


def read_labels(path: FilePath) -> dict[str, str]:
    """Read the class of each item: two columns, separated by a tab, a colon (as in UDLF) or whitespace.

    Without a tab, a line with both a colon and whitespace is an error: it could be split at either.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.tsv")
    >>> _ = path.write_text("d7\\tcat\\nd2\\tsea lion\\n")
    >>> read_labels(path)
    {'d7': 'cat', 'd2': 'sea lion'}
    >>> _ = path.write_text("d7.png:cat\\nd2.png:dog\\n")
    >>> read_labels(path)
    {'d7.png': 'cat', 'd2.png': 'dog'}
    """
    labels: dict[str, str] = {}
    for number, line in numbered_lines(path):
        fields = [field.strip().decode() for field in _columns(f"{path}:{number}", line)]
        if not any(fields):
            continue
        if len(fields) != 2 or not all(fields):
            raise InputError(f"{path}:{number}: expected 2 columns 'item<TAB>class', got {len(fields)}: {shown(line)}.")
        if fields[0] in labels:
            raise InputError(f"{path}:{number}: item {fields[0]!r} already has a class; remove one of the two lines.")
        labels[fields[0]] = fields[1]
    if not labels:
        raise InputError(f"{path} is empty; labels are lines of 'item<TAB>class' or 'item:class'.")
    return labels


def _columns(location: str, line: bytes) -> list[bytes]:
    if b"\t" in line:
        return line.split(b"\t")
    words = line.split()
    if b":" not in line:
        return words
    if len(words) > 1:
        raise InputError(
            f"{location}: both a colon and whitespace could end the item in {shown(line)}; put a tab before the class."
        )
    return line.rsplit(b":", 1)


def read_ids(path: FilePath) -> Ids:
    """Read the ids of items in the order of their numbers, one per line (UDLF's list file); blank lines are skipped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "list.txt")
    >>> _ = path.write_text("d7.png\\nd2.png\\n")
    >>> list(read_ids(path))
    ['d7.png', 'd2.png']
    """
    lines: dict[str, int] = {}
    for number, line in numbered_lines(path):
        item = line.strip().decode()
        if not item:
            continue
        if item in lines:
            raise InputError(f"{path}:{number}: {item!r} occurs a second time (first: {path}:{lines[item]}).")
        lines[item] = number
    if not lines:
        raise InputError(f"{path} is empty; it must have the ids of the items, one per line.")
    return Ids(lines)
