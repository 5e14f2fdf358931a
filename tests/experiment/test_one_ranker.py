"""experiments/one_ranker.py: its section is on the page, with the figures that it measures."""

import numpy as np
import one_ranker as script
import pytest

import rankloom as rl
from rankloom.io.cache import Cache


def test_the_page_has_the_section():
    section, page = (path.read_text("utf-8") for path in (script.SECTION, script.PAGE))
    assert section in page
    assert script.insert(section, page, "Against supervised fusion") == page


def test_a_section_that_is_missing_is_put_before_another():
    page = script.insert("## New\n\nx\n", "# Page\n\n## Last\n\ntwo\n", "Last")
    assert page == "# Page\n\n## New\n\nx\n\n## Last\n\ntwo\n"


def test_significant_differences_are_marked_and_named():
    steady, noisy = np.linspace(0.1, 0.12, 20), np.tile([0.3, -0.29], 10)
    alone = np.full(20, 0.4)
    values = {"up": steady, "down": -steady, "level": noisy}
    text = script.section({name: dict.fromkeys(script.MEASURES, (alone, alone + d)) for name, d in values.items()})
    assert "NDCG@10 is better on up, worse on down." in " ".join(text.split())
    assert "| up | 0.4000 | 0.5100 +0.1100* | 0.4000" in text
    assert "| down | 0.4000 | 0.2900 -0.1100* | 0.4000" in text
    assert "| level | 0.4000 | 0.4050 +0.0050 | 0.4000" in text


def test_med_has_the_figures_of_the_page(shared):
    pytest.importorskip("Stemmer")
    measured = script.measure(rl.open_collection(f'texts(path="{shared / "data" / "texts" / "med"}")'), Cache(None))
    row = next(line for line in script.section({"MED": measured}).splitlines() if line.startswith("| MED"))
    assert row in script.SECTION.read_text("utf-8")
