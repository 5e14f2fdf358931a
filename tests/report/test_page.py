"""The whole report: all sections, self-contained, escaped, reproducible."""

import csv
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from sample_results import ABOUT, ALL_SECTIONS, SECTIONS, method_records, other_records, ranker_records, results

from rankloom.errors import InputError, MissingExtraError
from rankloom.experiment.results import ComparatorRecord, CorrelationRecord, MethodRecord, TimeRecord
from rankloom.report import PAGE, Report
from rankloom.report import render as render_page


def render(found, folder):
    """Write the report of one experiment into the folder of its results."""
    return render_page(Report.of(found), folder / PAGE, files=folder)


VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags and attributes of a page; fails if tags are not properly nested."""

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


def test_page_has_every_section_and_links_to_it(tmp_path):
    page = page_of(results(), tmp_path)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert [one for one in ids if one in ALL_SECTIONS] == ALL_SECTIONS
    assert len(set(ids)) == len(ids)
    assert {attrs["href"] for attrs in page.all("a")} == {"#summary", *(f"#{name}" for name in ALL_SECTIONS)}


def test_published_numbers_are_beside_ours_if_there_are_any(tmp_path):
    text = "".join(page_of(results(), tmp_path).text)
    assert "doi:10.1016/j.ipm.2019.03.008 beside ours" in text
    page = page_of(results(collection="digits", name="Digits"), tmp_path)
    assert [attrs["id"] for _, attrs in page.tags if attrs.get("id") in ALL_SECTIONS] == SECTIONS
    assert not (tmp_path / "tables" / "published-fused.md").exists()


def test_page_shows_the_provenance(tmp_path):
    text = "".join(page_of(results(), tmp_path).text)
    for known in (ABOUT["collection"], ABOUT["machine"], ABOUT["command"], ABOUT["started"], *ABOUT["notes"]):
        assert known in text
    assert "numpy 2.1.0" in text
    assert results().experiment.to_toml().strip() in text


def test_page_is_self_contained(tmp_path):
    text = render(results(), tmp_path).read_text(encoding="utf-8")
    assert "http" not in text
    assert not re.search(r"url\(|@import|<script|<link|<img|<iframe|src=", text)


def test_the_same_results_give_the_same_bytes(tmp_path):
    render(results(), tmp_path / "a")
    render(results(), tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    render(results(), tmp_path / "a")  # overwrites
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_tables_and_plots_are_also_files(tmp_path):
    render(results(), tmp_path)
    names = set(files(tmp_path))
    for stem in ("rankers", "estimates", "agreement", "methods", "methods-all", "methods-best-2", "winning", "gains"):
        assert {f"tables/{stem}.{extension}" for extension in ("md", "tex", "csv")} <= names
    plots = {name for name in names if name.startswith("plots/")}
    kinds = ("jaccard", "kendall", "spearman")
    assert plots == {
        *(f"plots/correlation-{kind}.svg" for kind in kinds),
        *(f"plots/{name}.svg" for name in ("cutoffs", "winning", "wins")),
    }
    for name in plots:
        assert ET.parse(tmp_path / name).getroot().get("role") == "img"


def test_page_and_csv_have_the_same_numbers(tmp_path):
    page = page_of(results(), tmp_path)
    with (tmp_path / "tables" / "rankers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["Ranker", "ndcg@10", "map", "Seconds"]
    assert float(rows[1][1]) == results().records[0].values["ndcg@10"].mean()
    assert f"{float(rows[1][1]):.4f}" in page.text


def test_page_is_accessible(tmp_path):
    page = page_of(results(), tmp_path)
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) > 10
    assert all(attrs.get("role") == "img" and attrs.get("aria-labelledby") for attrs in page.all("svg"))
    assert page.all("html")[0]["lang"] == "en"


EVIL = '<script>alert("1")</script>&_%'


def test_names_are_escaped(tmp_path):
    evil = {EVIL: 0.6, "b": 0.5}
    chosen = {f"all({EVIL})": tuple(evil)}
    records = [*ranker_records(evil), *method_records(selections=chosen), *other_records(tuple(evil))]
    about = {**ABOUT, "collection": EVIL, "notes": [EVIL], "machine": EVIL, "versions": {EVIL: EVIL}}
    page = page_of(results(records, about, rankers=tuple(evil), selections=("all",), name=EVIL), tmp_path)
    assert page.all("script") == []
    assert page.text.count(EVIL) > 5
    assert "<script>" not in (tmp_path / "tables" / "rankers.md").read_text(encoding="utf-8")
    assert r"\&\_\%" in (tmp_path / "tables" / "rankers.tex").read_text(encoding="utf-8")


def test_report_of_a_single_ranker(tmp_path):
    records = [*ranker_records({"bic": 0.6}), *method_records({"fg": 0.7, "rrf": 0.6}, {"all": ("bic",)})]
    text = "".join(page_of(results(records, rankers=("bic",), selections=("all",)), tmp_path).text)
    assert "Correlations need at least two rankers with lists for the same queries." in text
    assert not (tmp_path / "tables" / "agreement.csv").exists()


def test_recall_of_approximate_rankers_is_shown(tmp_path):
    exact, near, *others = ranker_records()
    text = "".join(page_of(results([exact, replace(near, recall=0.9876), *others]), tmp_path).text)
    assert f"Approximate lists have this share of the 20 nearest items: {near.ranker} 98.8%." in text
    assert "Approximate" not in "".join(page_of(results(ranker_records()), tmp_path / "exact").text)


def test_missing_measurements_are_explained(tmp_path):
    left_out = (ComparatorRecord, TimeRecord, CorrelationRecord)
    others = [one for one in other_records() if not isinstance(one, left_out)]
    records = [*ranker_records(estimates=False), *method_records({"rrf": 0.6, "borda": 0.5}), *others]
    text = "".join(page_of(results(records), tmp_path).text)
    assert "Comparators were not measured: fusion graphs need the lists of all items." in text
    assert "There are no label-free estimates" in text
    assert "Fusion graphs were not timed separately." in text
    assert "fg, the first method of the specification, was not run" in text


def test_page_without_any_records(tmp_path):
    text = "".join(page_of(results([], about={}), tmp_path).text)
    for sentence in ("No ranker was evaluated.", "No method was run.", "The effect of the cutoff was not measured."):
        assert sentence in text


def test_error_without_jinja_says_what_to_install_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'rankloom[report]'")):
        render(results(), tmp_path)
    assert files(tmp_path) == {}


def test_output_folder_must_not_be_a_file(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="Cannot create the folder"):
        render(results(), tmp_path / "taken")


def test_only_files_of_an_earlier_report_are_removed(tmp_path):
    render(results(), tmp_path)
    (tmp_path / "tables" / "mine.md").write_text("my notes")
    (tmp_path / "plots" / "mine.svg").write_text("<svg/>")
    render(results([*ranker_records(), *method_records(selections={"all": ("bic", "acc")})]), tmp_path)
    left = files(tmp_path)
    assert {"tables/mine.md", "plots/mine.svg"} <= left.keys()
    assert "tables/methods-best-2.md" not in left
    assert "plots/cutoffs.svg" not in left


def test_tampered_file_list_removes_nothing_else(tmp_path):
    (tmp_path / "thesis.md").write_text("x")
    for listed in ('["../thesis.md", "tables/../thesis.md"]', '{"a": 1}', "[1]", "no json"):
        (tmp_path / "report-files.json").write_text(listed)
        render(results(), tmp_path)
        assert (tmp_path / "thesis.md").exists()


def test_sections_name_the_first_selection_that_was_made(tmp_path):
    records = [*ranker_records(), *method_records(selections={"best(2)": ("bic", "acc")}), *other_records()]
    text = " ".join(page_of(results(records, selections=("pair(authority)", "best(2)")), tmp_path).text)
    assert "that are fused (L in the paper) on the selection best two." in text
    assert "Fusion graphs of bic + acc with each comparator." in text


def test_facts_count_the_methods_that_were_run(tmp_path):
    records = [*ranker_records(), *method_records({"fg": 0.6, "rrf": 0.5}, {"all": ("bic", "acc")})]
    text = re.sub(r"\s+", " ", " ".join(page_of(results(records), tmp_path).text))
    assert "Methods 2 of 4" in text
    assert "Selections 1" in text


def test_environments_are_shown_if_they_differ(tmp_path):
    about = {**ABOUT, "made": "this machine"}
    records = [replace(one, made="this machine") for one in method_records() if isinstance(one, MethodRecord)]
    shown = " ".join(page_of(results([*ranker_records(), *records], about), tmp_path).text)
    assert "Timed steps" not in shown
    records[0] = replace(records[0], made="that machine")
    shown = " ".join(page_of(results([*ranker_records(), *records], about), tmp_path).text)
    assert "Timed steps: 1" in shown
    assert "that machine" in shown
    assert "measured in the different environments named below" in shown


def test_tables_warn_about_measures_deeper_than_the_cutoff(tmp_path):
    render(results(measures=["map", "ndcg@10"]), tmp_path)
    for name in ("methods", "methods-all", "gains", "cutoffs", "winning"):
        assert "map looks deeper than the cutoff 10" in (tmp_path / "tables" / f"{name}.md").read_text("utf-8")
