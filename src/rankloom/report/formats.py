"""One table, written as Markdown, LaTeX or CSV; a page shows the same texts."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Literal

from rankloom.evaluation import SYMBOLS

#: What stands in a cell; None where there is nothing to say.
Cell = str | int | float | None
#: How the cells of a column are read: plain text, a number, one with its sign, a p value, the outcome of a test.
Kind = Literal["text", "number", "signed", "p", "verdict"]
#: What a row is: the method that the others are compared with, a ranker alone, or any other.
Role = Literal["", "first", "ranker"]

NOTHING = "–"
MIN_P = 1e-4

MARKDOWN = str.maketrans({**{letter: "\\" + letter for letter in "\\`*_{}[]<>|#~$&"}, "\n": " ", "\r": " "})
TEX = str.maketrans(
    {
        **{letter: "\\" + letter for letter in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "*": "{*}",  # after a line break it would be read as part of it
        "[": "{[}",  # and this as an option
        "]": "{]}",
        "\n": " ",
        "\r": " ",
        "▲": r"$\blacktriangle$",
        "▼": r"$\blacktriangledown$",
        "•": r"$\bullet$",
        "−": "$-$",
        "±": r"$\pm$",
        "–": "--",
        "µ": r"\textmu{}",
    }
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and how its cells are read."""

    title: str
    kind: Kind = "number"
    digits: int = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A row: one cell for each column, and what it is a row of."""

    cells: tuple[Cell, ...]
    role: Role = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as data, from which every format is written.

    Attributes
    ----------
    name : str
        Of its files: small letters, digits and hyphens.
    caption : str
    columns : tuple of Column
    rows : tuple of Row
    legend : str
        What the symbols and the numbers mean.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    legend: str = ""

    @property
    def texts(self) -> list[list[str]]:
        """The cells as they are shown."""
        return [[shown(cell, column) for cell, column in self._pairs(row)] for row in self.rows]

    def _pairs(self, row: Row) -> list[tuple[Cell, Column]]:
        return list(zip(row.cells, self.columns, strict=True))


def shown(cell: Cell, column: Column) -> str:
    """Return a cell as it is shown to a reader.

    Examples
    --------
    >>> shown(0.65533, Column("ndcg@10")), shown(-6.589, Column("gain", "signed", 2)), shown(3e-9, Column("p", "p"))
    ('0.6553', '−6.59', '<0.0001')
    >>> shown("better", Column("test", "verdict")), shown(None, Column("p", "p"))
    ('▲', '–')
    """
    if cell is None or cell != cell:  # NaN is all that does not equal itself
        return NOTHING
    if isinstance(cell, str):
        return SYMBOLS[cell] if column.kind == "verdict" and cell in SYMBOLS else cell
    if column.kind == "p" and cell < MIN_P:
        return f"<{MIN_P:.4f}"
    if isinstance(cell, int):
        return f"{cell:d}"
    text = f"{cell:{'+' if column.kind == 'signed' else ''}.{column.digits}f}"
    return text.replace("-", "−")


def to_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown.

    Examples
    --------
    >>> print(to_markdown(Table("t", "Two", (Column("name", "text"), Column("x")), (Row(("a|b", 0.5), "first"),))))
    **Two**
    <BLANKLINE>
    | name | x |
    |---|---:|
    | **a\\|b** | **0.5000** |
    <BLANKLINE>
    """
    lines = [
        f"**{table.caption.translate(MARKDOWN)}**",
        "",
        _bars([c.title.translate(MARKDOWN) for c in table.columns]),
    ]
    lines += ["|" + "|".join({"text": "---", "verdict": ":---:"}.get(c.kind, "---:") for c in table.columns) + "|"]
    for row, texts in zip(table.rows, table.texts, strict=True):
        cells = [text.translate(MARKDOWN) for text in texts]
        lines.append(_bars([f"**{cell}**" for cell in cells] if row.role == "first" else cells))
    if table.legend:
        lines += ["", table.legend.translate(MARKDOWN)]
    return "\n".join(lines) + "\n"


def to_tex(table: Table) -> str:
    """Return a table in LaTeX; it needs the packages booktabs and amssymb."""
    align = "".join({"text": "l", "verdict": "c"}.get(column.kind, "r") for column in table.columns)
    lines = [
        r"% \usepackage{booktabs,amssymb}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{table.caption.translate(TEX)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        _ampersands([column.title.translate(TEX) for column in table.columns]),
        r"\midrule",
    ]
    for row, texts in zip(table.rows, table.texts, strict=True):
        cells = [text.translate(TEX) for text in texts]
        lines.append(_ampersands([rf"\textbf{{{cell}}}" for cell in cells] if row.role == "first" else cells))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {table.legend.translate(TEX)}}}"] if table.legend else []
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def to_csv(table: Table) -> str:
    """Return a table as CSV: numbers to the last digit, outcomes of tests as words.

    Names are written as they are. A spreadsheet takes one that begins with ``=``, ``+``, ``-`` or ``@`` for a formula:
    open tables of names that are not your own as text.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")  # a bare return in a name is kept so
    writer.writerow(column.title for column in table.columns)
    writer.writerows(row.cells for row in table.rows)
    return text.getvalue()


#: How a table is written, by the ending of the file.
FORMATS = {"md": to_markdown, "tex": to_tex, "csv": to_csv}


def _bars(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
