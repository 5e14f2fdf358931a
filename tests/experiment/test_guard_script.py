"""experiments/guard.py: its section is on the page, and its tables say what was found."""

import guard as script
import numpy as np


def values(title, **means):
    """Return {system: values} whose means are these; others are 0."""
    steady = np.linspace(-0.01, 0.01, 20)
    systems = (*script.SETS[title], *script.SYSTEMS)
    return {name: means.get(name, 0.0) + (steady if name == "guarded" else 0 * steady) for name in systems}


def test_the_page_has_the_section():
    section, page = (path.read_text("utf-8") for path in (script.SECTION, script.PAGE))
    assert section in page
    assert script.insert(section, page, "Nine collections in one") == page


def test_differences_are_from_the_guard_and_verdicts_that_judgments_contradict_are_bold():
    found = {title: values(title, okapi=0.5, minilm=0.4, vote=0.3, guarded=0.6) for title in script.SETS}
    verdicts = dict(zip(script.TRIED, ("yes", "no", "cannot tell"), strict=True))
    text = script.section({"med": script.Row(found, verdicts)}, {"scifact": found})
    assert "| MED | 0.5000 -0.1000* | 0.0000 -0.6000* | 0.0000 -0.6000* | 0.3000 -0.3000* | **0.6000** |" in text
    good = "0.6000 +0.3000* | 0.6000 +0.3000* | 0.6000 +0.3000* |"
    assert f"| MED | {good}" in text
    assert f"| SciFact | 0.6000 +0.1000* | 0.6000 +0.2000* | {good}" in text
    assert "| MED | yes (+0.1000*) | **no** (+0.1000*) | cannot tell (+0.1000*) |" in text
    assert (
        "Of 1 verdicts yes, judgments confirm 1 and contradict 0; of 1 no, they confirm 0 and contradict 1;"
        in " ".join(text.split())
    )
