"""The built-in experiment, from the command line to the page in a browser."""

import json
import shutil

import pytest
from sample_results import SECTIONS

from browser import artifacts, visit
from command import run
from rankloom.experiment import Results
from rankloom.experiment.results import MethodRecord
from rankloom.experiment.spec import PAPER_METHODS

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("example") / "results"
    done = run("experiment", "--example", "-o", found, "--no-cache")
    assert done.exit_code == 0, done.output
    return found


def test_every_method_of_the_paper_runs_on_every_selection(folder):
    found = Results.read(folder)
    records = found.of(MethodRecord)
    methods = {one.method for one in records}
    assert {str(one) for one in PAPER_METHODS} <= methods
    assert len(records) == len(methods) * len({one.selection for one in records})
    assert json.loads((folder / "results.jsonl").read_text().splitlines()[0])["about"]["n_items"] == 1797


def test_page_shows_every_section_in_a_browser(folder, browser, tmp_path):
    with visit(browser, (folder / "report.html").as_uri()) as seen:
        for name in SECTIONS:
            assert seen.page.locator(f"#{name}").is_visible()
        tables = seen.page.locator("section[aria-labelledby=methods] table")
        assert tables.count() == 5  # the overview, and one for each of the four selections
        assert seen.page.locator("svg:visible").count() == 6  # three heat maps, wins, cutoffs, winning numbers
        assert seen.page.locator("article.example").count() == 6
        assert seen.page.locator("article.example img").count() > 50
        assert (seen.requests, seen.complaints) == ([(folder / "report.html").as_uri()], [])
        seen.keep("example-desktop", tmp_path)
    shutil.copy(folder / "report.html", artifacts(tmp_path) / "example.html")
