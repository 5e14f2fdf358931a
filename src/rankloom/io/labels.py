"""Class labels of items: lines of ``item<TAB>class``."""

from rankloom.errors import InputError
from rankloom.io.text_file import FilePath, numbered_lines, shown


def read_labels(path: FilePath) -> dict[str, str]:
    """Read the class of each item: two columns separated by a tab, or by whitespace if a line has no tab.

    Raises
    ------
    InputError
        If the file is missing, unreadable, empty or not UTF-8, a line does not have 2 columns, or an item occurs
        twice. The message starts with file and line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.tsv")
    >>> _ = path.write_text("d7\\tcat\\nd2\\tsea lion\\n")
    >>> read_labels(path)
    {'d7': 'cat', 'd2': 'sea lion'}
    """
    labels: dict[str, str] = {}
    for number, line in numbered_lines(path):
        fields = [field.strip().decode() for field in (line.split(b"\t") if b"\t" in line else line.split())]
        if not any(fields):
            continue
        if len(fields) != 2 or not all(fields):
            raise InputError(f"{path}:{number}: expected 2 columns 'item<TAB>class', got {len(fields)}: {shown(line)}.")
        if fields[0] in labels:
            raise InputError(f"{path}:{number}: item {fields[0]!r} already has a class; remove one of the two lines.")
        labels[fields[0]] = fields[1]
    if not labels:
        raise InputError(f"{path} is empty; labels are lines of 'item<TAB>class'.")
    return labels
