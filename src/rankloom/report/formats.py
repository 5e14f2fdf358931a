"""Tables as Markdown, LaTeX and CSV; the page shows the same cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rankloom.evaluation import Mark

#: The content of a cell; None if empty.
Cell = str | int | float | Mark | None
#: How the cells of a column are formatted: text, number, number with sign, p value, difference with a star.
Kind = Literal["text", "number", "signed", "p", "mark"]
#: What a row is about: the method that the others are compared with, a single ranker, or anything else.
Role = Literal["", "first", "ranker"]

EMPTY = "–"
MIN_P = 1e-4

MARKDOWN = str.maketrans({**{char: "\\" + char for char in "\\`*_{}[]<>|#~$&"}, "\n": " ", "\r": " "})
TEX = str.maketrans(
    {
        **{char: "\\" + char for char in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "*": "{*}",  # after a line break it would be part of the command
        "[": "{[}",  # and this its option
        "]": "{]}",
        "\n": " ",
        "\r": " ",
        "−": "$-$",
        "±": r"$\pm$",
        "–": "--",
        "µ": r"\textmu{}",
    }
)
NO_STAR = r"\phantom{*}"
TEX_NAME, TEX_HEAD = 15, 10  # characters on a line of a name, and of the head of a column of numbers


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and how its cells are formatted."""

    title: str
    kind: Kind = "number"
    digits: int = 4
    note: str = ""  # a name for people, which the page shows below the title
    detail: bool = False  # whether LaTeX leaves it out, whose tables have to fit a column of text


@dataclass(frozen=True, slots=True)
class Row:
    """A row: one cell per column, and what the row is about."""

    cells: tuple[Cell, ...]
    role: Role = ""
    note: str = ""  # a name for people, which the page shows below the first cell


@dataclass(frozen=True, slots=True)
class Table:
    """A table as data, the source of every format."""

    name: str  #: stem of its files: lowercase letters, digits and hyphens
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    legend: str = ""  #: explains symbols and numbers
    details: str = ""  #: explains the columns that LaTeX leaves out

    def renamed(self, names: Mapping[str, str]) -> Table:
        """Return the table with other names of methods in its cells, titles and legend."""
        rows = [
            replace(row, cells=tuple(names.get(cell, cell) if isinstance(cell, str) else cell for cell in row.cells))
            for row in self.rows
        ]
        columns = [replace(column, title=named(column.title, names)) for column in self.columns]
        caption, legend = named(self.caption, names), named(self.legend, names)
        return replace(self, caption=caption, columns=columns, rows=rows, legend=legend)

    @property
    def full_legend(self) -> str:
        """The legend of a table that has all columns."""
        return f"{self.legend} {self.details}".strip()

    @property
    def texts(self) -> list[list[str]]:
        """The formatted cells."""
        return [[format_cell(*pair) for pair in zip(row.cells, self.columns, strict=True)] for row in self.rows]


def format_cell(cell: Cell, column: Column) -> str:
    """Return a cell as displayed.

    Examples
    --------
    >>> format_cell(0.65533, Column("ndcg@10")), format_cell(-6.589, Column("gain", "signed", 2))
    ('0.6553', '−6.59')
    >>> format_cell(Mark(-0.03123, "worse"), Column("vs rrf", "mark")), format_cell(3e-9, Column("p", "p"))
    ('−0.0312*', '<0.0001')
    >>> format_cell(None, Column("p", "p"))
    '–'
    """
    if cell is None or cell != cell:  # None or NaN
        return EMPTY
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Mark):
        return str(cell).replace("-", "−")
    if column.kind == "p" and cell < MIN_P:
        return f"<{MIN_P:.4f}"
    if isinstance(cell, int):
        return f"{cell:d}"
    text = f"{cell:{'+' if column.kind == 'signed' else ''}.{column.digits}f}"
    return text.replace("-", "−")


def named(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names of methods.

    Examples
    --------
    >>> named("weft vs fg, fg(cutoff=20)", {"fg": "FG"})
    'weft vs FG, fg(cutoff=20)'
    """
    for spelled, name in names.items():
        text = re.sub(rf"(?<![\w(]){re.escape(spelled)}(?![\w(=-])", name.replace("\\", r"\\"), text)
    return text


def p_text(p_value: float) -> str:
    """Return a p-value in a sentence: ``p = 0.0312`` or ``p < 0.0001``."""
    shown = format_cell(p_value, Column("p", "p"))
    return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def to_markdown(table: Table) -> str:
    """Return a table as GitHub Markdown.

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
    titles = [column.title.translate(MARKDOWN) for column in table.columns]
    lines = [f"**{table.caption.translate(MARKDOWN)}**", "", _markdown_row(titles)]
    lines += ["|" + "|".join("---" if c.kind == "text" else "---:" for c in table.columns) + "|"]
    for row, texts in zip(table.rows, table.texts, strict=True):
        cells = [text.translate(MARKDOWN) for text in texts]
        lines.append(_markdown_row([f"**{cell}**" for cell in cells] if row.role == "first" else cells))
    if table.full_legend:
        lines += ["", table.full_legend.translate(MARKDOWN)]
    return "\n".join(lines) + "\n"


def to_tex(table: Table) -> str:
    """Return a table as LaTeX, which needs the package booktabs.

    To be narrow, a mark is small beside the number that it belongs to, details are left out, and long names and heads
    are stacked.
    """
    shown = _tex_columns(table.columns)
    align = "".join("l" if table.columns[number].kind == "text" else "r" for number, _ in shown)
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{table.caption.translate(TEX)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\footnotesize\setlength{\tabcolsep}{2pt}",
        rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}",
        r"\toprule",
        _tex_row([_tex_head(table.columns[number]) for number, _ in shown]),
        r"\midrule",
    ]
    for row, texts in zip(table.rows, table.texts, strict=True):
        lines.append(_tex_row([_tex_cell(texts, row.role == "first", number, mark) for number, mark in shown]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {table.legend.translate(TEX)}}}"] if table.legend else []
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def to_csv(table: Table) -> str:
    """Return a table as CSV: numbers in full precision, a mark as two columns, the difference and the verdict.

    Names are not escaped. A spreadsheet takes a name that starts with ``=``, ``+``, ``-`` or ``@`` for a formula: open
    tables with untrusted names as text.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")  # quotes keep a bare \r
    writer.writerow(title for column in table.columns for title in _csv_titles(column))
    for row in table.rows:
        writer.writerow(cell for pair in zip(row.cells, table.columns, strict=True) for cell in _csv_cells(*pair))
    return text.getvalue()


#: Writers by file extension.
FORMATS = {"md": to_markdown, "tex": to_tex, "csv": to_csv}


def _csv_titles(column: Column) -> list[str]:
    return [column.title, f"{column.title}, verdict"] if column.kind == "mark" else [column.title]


def _csv_cells(cell: Cell, column: Column) -> list[Cell]:
    if column.kind != "mark":
        return [cell]
    return [cell.difference, cell.verdict] if isinstance(cell, Mark) else [None, None]


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tex_columns(columns: Sequence[Column]) -> list[tuple[int, int | None]]:
    """Return the columns to show, each with the column of its marks: they belong to the number before, else after."""
    marks: dict[int, int] = {}
    for number, column in enumerate(columns):
        if column.kind == "mark":
            marks[number - 1 if columns[number - 1].kind == "number" else number + 1] = number
    shown = [i for i, column in enumerate(columns) if column.kind != "mark" and not column.detail]
    return [(number, marks.get(number)) for number in shown]


def _tex_cell(texts: list[str], bold: bool, number: int, mark: int | None) -> str:
    cell = _stacked(texts[number], TEX_NAME, "l", bold)
    if mark is None:
        return cell
    shown = rf"\phantom{{$-$0.0000}}{NO_STAR}" if texts[mark] == EMPTY else texts[mark].translate(TEX)
    shown += "" if shown.endswith(("{*}", NO_STAR)) else NO_STAR  # so that the numbers stay aligned
    return rf"{cell} {{\scriptsize {shown}}}"


def _tex_head(column: Column) -> str:
    if column.kind == "text":
        return _stacked(column.title, TEX_NAME, "l")
    head = _stacked(column.title, TEX_HEAD, "r")
    return rf"\scriptsize{head}" if head.startswith(r"\shortstack") else head  # wider than its numbers


def _stacked(text: str, width: int, side: str, bold: bool = False) -> str:
    r"""Return a text as LaTeX, on several lines if it is long: broken at spaces, and before parentheses.

    Examples
    --------
    >>> print(_stacked("sca(neighbors=20) (best of sweep)", 15, "l"))
    \shortstack[l]{sca\\(neighbors=20)\\(best of sweep)}
    """
    lines = [""]
    for piece in re.findall(r"\s*(?:\([^()]*\)|[^\s(]+|\()", text):
        if len(lines[-1] + piece.rstrip()) <= width or not lines[-1]:
            lines[-1] += piece if lines[-1] else piece.lstrip()
        else:
            lines.append(piece.lstrip())
    shown = [rf"\textbf{{{line.translate(TEX)}}}" if bold else line.translate(TEX) for line in lines]
    stack = r"\\".join(shown)
    return stack if len(shown) == 1 else rf"\shortstack[{side}]{{{stack}}}"


def _tex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
