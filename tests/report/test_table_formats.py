import csv
import io
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.evaluation import Mark
from rankloom.report.formats import Column, Row, Table, format_cell, to_csv, to_markdown, to_tex

NASTY = r"a|b & 50% of_x\y <script>alert(1)</script> #1 $2 {c} ~d ^e [f] *g* `h`"
TABLE = Table(
    "t",
    f"Caption {NASTY}",
    (Column("Method", "text"), Column("vs fg", "mark"), Column("ndcg@10"), Column("p", "p")),
    (
        Row(("fg", None, 2 / 3, None), "first"),
        Row((NASTY, Mark(-1 / 6, "worse"), 0.5, 1e-9)),
        Row(("rrf", Mark(-0.0001, "tie"), 0.6666, 0.25)),
        Row(("mra", Mark(1 / 30, "better"), 0.7, 0.001), "ranker"),
    ),
    "Signed: *",
)


@pytest.mark.parametrize(
    ("cell", "column", "text"),
    [
        (2 / 3, Column("x"), "0.6667"),
        (-1.5, Column("x", "signed", 2), "−1.50"),
        (0.0, Column("x", "signed", 2), "+0.00"),
        (7, Column("x"), "7"),
        (0.00009, Column("p", "p"), "<0.0001"),
        (0.0001, Column("p", "p"), "0.0001"),
        (Mark(-0.25, "worse"), Column("t", "mark"), "−0.2500*"),
        (Mark(0.25, "better"), Column("t", "mark"), "+0.2500*"),
        (Mark(0.25, "tie"), Column("t", "mark"), "+0.2500"),
        (None, Column("x"), "–"),
        (math.nan, Column("x"), "–"),
    ],
)
def test_cells_are_formatted_by_the_kind_of_their_column(cell, column, text):
    assert format_cell(cell, column) == text


def markdown_rows(text):
    """Return the cells of a Markdown table: split at unescaped bars, then unescape."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1] for line in lines]
    return [[re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell.strip()) for cell in row] for row in split]


def test_markdown_round_trip():
    head, align, first, nasty, *_ = markdown_rows(to_markdown(TABLE))
    assert head == ["Method", "vs fg", "ndcg@10", "p"]
    assert align == ["---", "---:", "---:", "---:"]
    assert first == ["**fg**", "**–**", "**0.6667**", "**–**"]
    assert nasty == [NASTY, "−0.1667*", "0.5000", "<0.0001"]


def test_markdown_escapes_html():
    assert "<script>" not in to_markdown(TABLE)


def test_tex_escapes_special_characters():
    lines = to_tex(TABLE).splitlines()
    nasty = next(line for line in lines if "alert" in line and line.endswith(r"\\"))
    name = nasty.replace(r"\\", " ")  # stacked lines as one
    assert r"a$|$b \& 50\% of\_x\textbackslash{}y $<$script$>$" in name
    assert r"\#1 \$2 \{c\} \textasciitilde{}d \textasciicircum{}e {[}f{]}" in name
    assert len(re.findall(r"(?<!\\)&", nasty)) == 2  # three cells: a mark is in that of its number


def test_tex_has_small_marks_and_booktabs():
    text = to_tex(TABLE)
    for part in (
        r"0.5000 {\scriptsize $-$0.1667{*}}",
        r"0.7000 {\scriptsize +0.0333{*}}",
        r"0.6666 {\scriptsize $-$0.0001\phantom{*}}",
        r"\textbf{0.6667} {\scriptsize \phantom{$-$0.0000}\phantom{*}}",
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
    ):
        assert part in text
    assert r"\begin{tabular}{@{}lrr@{}}" in text
    assert r"\textbf{fg}" in text


def test_tex_marks_the_number_before_the_mark_and_leaves_out_details():
    columns = (Column("Method", "text"), Column("all"), Column("vs fg", "mark"), Column("p", "p", detail=True))
    text = to_tex(Table("t", "c", columns, (Row(("rrf", 0.5, Mark(-0.1, "worse"), 0.25)),)))
    assert r"rrf & 0.5000 {\scriptsize $-$0.1000{*}} \\" in text
    assert r"Method & all \\" in text


def test_tex_stacks_long_names_and_heads_to_fit_a_column():
    columns = (Column("Method", "text"), Column("fg on pair(authority) (%)"))
    text = to_tex(Table("t", "c", columns, (Row(("recknngraphccs(neighbors=30) (best of sweep)", 0.5), "first"),)))
    assert r"Method & \scriptsize\shortstack[r]{fg on pair\\(authority)\\(\%)} \\" in text
    bold = (r"\textbf{recknngraphccs}", r"\textbf{(neighbors=30)}", r"\textbf{(best of sweep)}")
    assert rf"\shortstack[l]{{{bold[0]}\\{bold[1]}\\{bold[2]}}} & \textbf{{0.5000}} \\" in text


def test_tex_braces_are_balanced():
    bare = re.sub(r"\\\\|\\[{}]", "", to_tex(TABLE))
    assert bare.count("{") == bare.count("}")


def test_csv_has_full_precision_and_marks_as_difference_and_verdict():
    head, first, nasty, *_ = csv.reader(io.StringIO(to_csv(TABLE)))
    assert head == ["Method", "vs fg", "vs fg, verdict", "ndcg@10", "p"]
    assert first == ["fg", "", "", repr(2 / 3), ""]
    assert nasty == [NASTY, repr(-1 / 6), "worse", "0.5", "1e-09"]


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), st.floats()), min_size=1))
def test_csv_round_trip_with_any_name(rows):
    table = Table("t", "", (Column("name", "text"), Column("x")), tuple(map(Row, rows)))
    _, *found = csv.reader(io.StringIO(to_csv(table), newline=""))
    assert [(name, repr(float(x))) for name, x in found] == [(name, repr(x)) for name, x in rows]


def test_a_tex_row_may_start_with_an_asterisk():
    table = Table("t", "c", (Column("name", "text"),), (Row(("a",)), Row(("*b",))))
    assert "\\\\\n{*}b" in to_tex(table)
