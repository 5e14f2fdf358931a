"""Tables as HTML, for notebooks; every cell is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from rankloom.ranks.arrays import PAD

if TYPE_CHECKING:
    from rankloom.ranks.ranks import Ranks

MAX_ROWS, MAX_POSITIONS = 5, 8  # of ranks


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Return a table, with a note below it."""
    body = "".join(_row("td", row) for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead>{_row('th', head)}</thead><tbody>{body}</tbody></table>{below}"


def ranks_table(ranks: "Ranks") -> str:
    """Return the first items of the first lists as a table."""
    rows = [
        [ranks.query_id(query), *("" if item == PAD else ranks.item_id(item) for item in items)]
        for query, items in enumerate(ranks.items[:MAX_ROWS, :MAX_POSITIONS].tolist())
    ]
    return html_table(["query", *map(str, range(1, min(ranks.depth, MAX_POSITIONS) + 1))], rows, repr(ranks))


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
