"""Tables as HTML, for notebooks; every cell is escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Return a table, with a note below it.

    Examples
    --------
    >>> html_table(["id"], [["a<b"]])
    '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>a&lt;b</td></tr></tbody></table>'
    """
    body = "".join(_row("td", row) for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead>{_row('th', head)}</thead><tbody>{body}</tbody></table>{below}"


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
