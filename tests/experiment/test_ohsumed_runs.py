"""The OHSUMED runs: single runs match the reported MAP, methods match the table in docs/experiments.md."""

from pathlib import Path

import pytest

from rankloom.experiment import Experiment, run
from rankloom.experiment.results import RankerRecord
from rankloom.io.cache import Cache
from rankloom.report import PAGE, Report, render

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(shared, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKLOOM_DATA", str(shared / "data"))
        found = tmp_path_factory.mktemp("ohsumed") / "results"
        results = run(Experiment.read(ROOT / "experiments" / "ohsumed-runs.toml"), found, cache=Cache(None))
        render(Report.of(results), found / PAGE, files=found)
    return found, results


def test_single_runs_have_the_reported_map(folder, shared):
    alone = {one.ranker: one.values["map"].mean() for one in folder[1].of(RankerRecord)}
    for name, value in {"a-bm25": 0.0882, "a-bool": 0.0230, "a-prf": 0.1271, "a-se": 0.2532}.items():
        assert alone[name] == pytest.approx(value, abs=5e-5)  # data/README.md, by trec_eval


def test_methods_match_the_documentation(folder):
    page = (ROOT / "docs" / "experiments.md").read_text()
    rows = [line for line in (folder[0] / "tables" / "methods.md").read_text().splitlines() if line.startswith("|")]
    assert len(rows) == 27  # 12 rankers, 13 methods
    assert [row for row in rows if row not in page and "(ranker)" not in row] == []
