"""The page over several experiments: all sections, self-contained, reproducible, with its files beside it."""

import re
import sys

import pytest
from sample_experiments import SOCCER, experiment, soccer, ukbench
from test_page import EVIL, Page, files

from browser import WINDOWS, visit
from rankloom.errors import InputError, MissingExtraError
from rankloom.report import Published, Report, render

SECTIONS = [
    "experiments",
    "over",
    "winning",
    "gains",
    "methods",
    "cutoffs",
    "correlations",
    "published",
    "published-methods",
]


def several():
    left_out = ("results/x is left out: it has no results.jsonl.",)
    return Report({"Soccer": soccer(), "UKBench": ukbench()}, left_out)


def page_of(found, folder):
    return Page(render(found, folder / "all.html").read_text(encoding="utf-8"))


def test_page_has_every_section_after_the_summary(tmp_path):
    page = page_of(several(), tmp_path)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    anchors = ["summary", *SECTIONS, "provenance"]
    assert [one for one in ids if one in anchors] == anchors
    assert [attrs["href"] for attrs in page.all("a")] == [f"#{name}" for name in anchors]


def test_page_names_what_is_left_out_and_where_numbers_are_from(tmp_path):
    text = "".join(page_of(several(), tmp_path).text)
    for known in (
        "results/x is left out: it has no results.jsonl.",
        "doi:10.1016/j.ipm.2019.03.008",
        "Ours: soccer: a description; ukbench: a description.",
        "Each experiment is judged by its own main measure: Soccer by ndcg@10; UKBench by ns.",
        "all-files",
    ):
        assert known in text


def test_page_is_self_contained(tmp_path):
    text = render(several(), tmp_path / "all.html").read_text(encoding="utf-8")
    assert "http" not in text
    assert not re.search(r"url\(|@import|<script|<link|<img|<iframe|src=", text)


def test_the_same_results_give_the_same_bytes(tmp_path):
    for name in ("a", "b", "a"):
        render(several(), tmp_path / name / "all.html")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_tables_and_plots_are_also_files(tmp_path):
    render(several(), tmp_path / "all.html")
    names = set(files(tmp_path / "all-files"))
    stems = [
        "experiments",
        "mean-ranks",
        "winning",
        "gains",
        "methods",
        "cutoffs-fg",
        "cutoffs-rrf",
        "correlations",
        "pairs",
    ]
    stems += ["published-fused", "published-rankers", "published-winning", "published-soccer", "published-ukbench"]
    assert names == {
        "report-files.json",
        *(f"tables/{stem}.{extension}" for stem in stems for extension in ("md", "tex", "csv")),
        *(f"plots/{stem}.svg" for stem in ("over", "winning", "cutoffs-fg", "cutoffs-rrf")),
    }


def test_files_of_an_earlier_report_are_removed(tmp_path):
    render(several(), tmp_path / "all.html")
    render(Report({"Soccer": soccer()}), tmp_path / "all.html")
    assert not (tmp_path / "all-files" / "tables" / "published-ukbench.md").exists()


def test_names_are_escaped(tmp_path):
    found = Report({EVIL: soccer(EVIL), "UKBench": ukbench()}, (EVIL,))
    page = page_of(found, tmp_path)
    assert page.all("script") == []
    assert page.text.count(EVIL) > 5


def test_missing_measurements_are_explained(tmp_path):
    found = experiment("Boxes", "boxes(size=2)", "map", SOCCER, {"fg": 1.1}, curve=[])
    bare = type(found)(found.experiment, {}, ())
    text = "".join(page_of(Report({"Boxes": bare, "More": bare}), tmp_path).text)
    for sentence in (
        "Winning numbers need at least two methods",
        "Gains need a method",
        "No method was run.",
        "The effect of the cutoff was not measured.",
        "run the experiments again; finished steps are kept.",
        "has none of these collections.",
        "inconclusive on Boxes, More",
    ):
        assert sentence in text


def test_a_page_of_one_is_that_of_the_experiment_and_names_what_is_left_out(tmp_path):
    found = Report({"Soccer": soccer()}, several().failed)
    one, other = render(found, tmp_path / "all.html"), render(found, tmp_path / "report.html", files=tmp_path)
    page, own = one.read_text(encoding="utf-8"), other.read_text(encoding="utf-8")
    assert several().failed[0] in page
    assert page.partition('<h2 id="provenance">')[0] == own.partition('<h2 id="provenance">')[0]
    assert (tmp_path / "all-files" / "tables" / "rankers.md").read_bytes() == (
        tmp_path / "tables" / "rankers.md"
    ).read_bytes()


def test_a_collection_measured_in_another_way_is_not_set_beside_the_paper(tmp_path):
    found = experiment("Soccer", "soccer", "map", SOCCER)
    text = "".join(page_of(Report({"Soccer": found}), tmp_path).text)
    assert "Soccer was not measured by ndcg@10." in text


def test_other_publications_can_be_set_beside(tmp_path):
    published = Published("We (2026)", {"soccer": Published.read().collections["soccer"]})
    page = render(several(), tmp_path / "all.html", published)
    assert "We (2026) beside ours" in page.read_text(encoding="utf-8")
    assert not (tmp_path / "all-files" / "tables" / "published-ukbench.md").exists()


def test_page_must_be_an_html_file(tmp_path):
    with pytest.raises(InputError, match=r"is an \.html file; got .*results\.jsonl"):
        render(several(), tmp_path / "results.jsonl")


def test_error_without_jinja_says_what_to_install_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'rankloom[report]'")):
        render(several(), tmp_path / "all.html")
    assert files(tmp_path) == {}


@pytest.mark.parametrize("window", WINDOWS)
def test_page_and_charts_fit_the_window(browser, tmp_path, window):
    address = render(several(), tmp_path / "all.html").as_uri()
    with visit(browser, address, **WINDOWS[window]) as seen:
        seen.page.locator("summary").first.click()
        seen.keep(f"joint-{window}", tmp_path)
        assert seen.violations() == []
        assert (seen.requests, seen.complaints, seen.overflow) == ([address], [], 0)
        assert seen.page.locator("svg:visible").count() == 4
        scrolled = "[...document.querySelectorAll('figure')].filter(one => one.scrollWidth > one.clientWidth).length"
        assert seen.page.evaluate(scrolled) == 0
        smallest = "Math.min(...[...document.querySelectorAll('svg')].filter(one => one.checkVisibility()).map(one => "
        smallest += "one.getBoundingClientRect().width / one.viewBox.baseVal.width))"
        assert seen.page.evaluate(smallest) > 0.9  # labels are not shrunk
