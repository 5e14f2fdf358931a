"""The whole report: every section, nothing fetched, nothing that could be read as markup, the same bytes twice."""

import csv
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from results_maker import ABOUT, method_records, other_records, ranker_records, results

from rankloom.errors import InputError, MissingExtraError
from rankloom.experiment.results import ComparatorRecord, CorrelationRecord, MethodRecord, TimeRecord
from rankloom.report import render

ANCHORS = ["rankers", "correlations", "methods", "cutoffs", "comparators", "winning", "gains", "times", "made"]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags and attributes of a page; fails where tags are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def page_of(found, folder):
    return Page(render(found, folder).read_text(encoding="utf-8"))


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_section_is_there_and_in_the_contents(tmp_path):
    page = page_of(results(), tmp_path)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert [one for one in ids if one in ANCHORS] == ANCHORS
    assert len(set(ids)) == len(ids)
    assert {attrs["href"] for attrs in page.all("a")} == {"#summary", *(f"#{name}" for name in ANCHORS)}


def test_the_page_says_how_it_was_made(tmp_path):
    text = "".join(page_of(results(), tmp_path).text)
    for known in (ABOUT["collection"], ABOUT["machine"], ABOUT["command"], ABOUT["started"], *ABOUT["notes"]):
        assert known in text
    assert "numpy 2.1.0" in text
    assert results().experiment.to_toml().strip() in text


def test_the_page_asks_for_nothing_from_anywhere(tmp_path):
    text = render(results(), tmp_path).read_text(encoding="utf-8")
    assert "http" not in text
    assert not re.search(r"url\(|@import|<script|<link|<img|<iframe|src=", text)


def test_the_same_results_give_the_same_bytes(tmp_path):
    render(results(), tmp_path / "a")
    render(results(), tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    render(results(), tmp_path / "a")  # once more over it
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_tables_and_plots_are_files_too(tmp_path):
    render(results(), tmp_path)
    names = set(files(tmp_path))
    for stem in ("rankers", "estimates", "agreement", "methods", "methods-all", "methods-best-2", "winning", "gains"):
        assert {f"tables/{stem}.{ending}" for ending in ("md", "tex", "csv")} <= names
    plots = {name for name in names if name.startswith("plots/")}
    kinds = ("jaccard", "kendall", "spearman")
    assert plots == {*(f"plots/correlation-{kind}.svg" for kind in kinds), "plots/cutoffs.svg", "plots/winning.svg"}
    for name in plots:
        assert ET.parse(tmp_path / name).getroot().get("role") == "img"


def test_a_table_of_the_page_has_the_rows_of_its_file(tmp_path):
    page = page_of(results(), tmp_path)
    with (tmp_path / "tables" / "rankers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["Ranker", "ndcg@10", "map", "Seconds"]
    assert float(rows[1][1]) == results().records[0].values["ndcg@10"].mean()
    assert f"{float(rows[1][1]):.4f}" in page.text


def test_tables_say_what_their_heads_are_heads_of(tmp_path):
    page = page_of(results(), tmp_path)
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) > 10
    assert all(attrs.get("role") == "img" and attrs.get("aria-labelledby") for attrs in page.all("svg"))
    assert page.all("html")[0]["lang"] == "en"


EVIL = '<script>alert("1")</script>&_%'


def test_names_are_text_and_never_markup(tmp_path):
    evil = {EVIL: 0.6, "b": 0.5}
    chosen = {f"all({EVIL})": tuple(evil)}
    records = [*ranker_records(evil), *method_records(selections=chosen), *other_records(tuple(evil))]
    about = {**ABOUT, "collection": EVIL, "notes": EVIL, "machine": {"cpu": EVIL}}
    page = page_of(results(records, about, rankers=tuple(evil), selections=("all",), name=EVIL), tmp_path)
    assert page.all("script") == []
    assert page.text.count(EVIL) > 5
    assert "<script>" not in (tmp_path / "tables" / "rankers.md").read_text(encoding="utf-8")
    assert r"\&\_\%" in (tmp_path / "tables" / "rankers.tex").read_text(encoding="utf-8")


def test_one_ranker_alone_makes_a_report(tmp_path):
    records = [*ranker_records({"bic": 0.6}), *method_records({"fg": 0.7, "rrf": 0.6}, {"all": ("bic",)})]
    text = "".join(page_of(results(records, rankers=("bic",), selections=("all",)), tmp_path).text)
    assert "There are no two rankers whose lists could be compared." in text
    assert not (tmp_path / "tables" / "agreement.csv").exists()


def test_what_was_not_measured_is_said_in_a_sentence(tmp_path):
    left_out = (ComparatorRecord, TimeRecord, CorrelationRecord)
    kept = [one for one in other_records() if not isinstance(one, left_out)]
    records = [*ranker_records(estimates=False), *method_records({"rrf": 0.6, "borda": 0.5}), *kept]
    text = "".join(page_of(results(records), tmp_path).text)
    assert "Comparators were not measured: fusion graphs need each item as a query." in text
    assert "No estimate without labels was made" in text
    assert "Fusion graphs were not timed on their own." in text
    assert "fg, the first method of the specification, was not run" in text


def test_no_records_at_all_still_make_a_page(tmp_path):
    text = "".join(page_of(results([], about={}), tmp_path).text)
    for sentence in ("No ranker was evaluated.", "No method was run.", "The effect of L was not measured."):
        assert sentence in text


def test_without_jinja_the_error_says_what_to_install_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'rankloom[report]'")):
        render(results(), tmp_path)
    assert files(tmp_path) == {}


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="Cannot make the folder"):
        render(results(), tmp_path / "taken")


def test_only_files_of_an_earlier_report_are_removed(tmp_path):
    render(results(), tmp_path)
    (tmp_path / "tables" / "mine.md").write_text("notes of my own")
    (tmp_path / "plots" / "mine.svg").write_text("<svg/>")
    render(results([*ranker_records(), *method_records(selections={"all": ("bic", "acc")})]), tmp_path)
    left = files(tmp_path)
    assert {"tables/mine.md", "plots/mine.svg"} <= left.keys()
    assert "tables/methods-best-2.md" not in left
    assert "plots/cutoffs.svg" not in left


def test_a_list_of_files_that_was_tampered_with_removes_nothing_else(tmp_path):
    (tmp_path / "thesis.md").write_text("x")
    for listed in ('["../thesis.md", "tables/../thesis.md"]', '{"a": 1}', "[1]", "no json"):
        (tmp_path / "report-files.json").write_text(listed)
        render(results(), tmp_path)
        assert (tmp_path / "thesis.md").exists()


def test_the_selection_named_is_the_first_that_was_made(tmp_path):
    records = [*ranker_records(), *method_records(selections={"best(2)": ("bic", "acc")}), *other_records()]
    text = " ".join(page_of(results(records, selections=("pair(authority)", "best(2)")), tmp_path).text)
    assert "the part of each list that is fused; selection best(2)." in text
    assert "Fusion graphs of bic + acc, compared" in text


def test_facts_count_what_was_run(tmp_path):
    records = [*ranker_records(), *method_records({"fg": 0.6, "rrf": 0.5}, {"all": ("bic", "acc")})]
    text = re.sub(r"\s+", " ", " ".join(page_of(results(records), tmp_path).text))
    assert "Methods 2 of 4" in text
    assert "Selections 1" in text


def test_settings_of_times_are_shown_where_they_differ(tmp_path):
    about = {**ABOUT, "made": "this machine"}
    records = [replace(one, made="this machine") for one in method_records() if isinstance(one, MethodRecord)]
    shown = " ".join(page_of(results([*ranker_records(), *records], about), tmp_path).text)
    assert "steps timed with" not in shown
    records[0] = replace(records[0], made="that machine")
    shown = " ".join(page_of(results([*ranker_records(), *records], about), tmp_path).text)
    assert "1 steps timed with" in shown
    assert "that machine" in shown
    assert "Not all of it was taken in one setting" in shown


def test_tables_say_where_a_measure_looks_deeper_than_the_cutoff(tmp_path):
    render(results(measures=["map", "ndcg@10"]), tmp_path)
    for name in ("methods", "methods-all", "gains", "cutoffs", "winning"):
        assert "map looks deeper than the cutoff 10" in (tmp_path / "tables" / f"{name}.md").read_text("utf-8")
