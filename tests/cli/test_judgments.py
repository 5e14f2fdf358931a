"""What `evaluate`, `compare` and `select` share."""

import json

import pytest

import rankloom as rl
from command import run

pytestmark = pytest.mark.parametrize("command", ["evaluate", "compare", "select"])


def test_with_labels_means_are_over_the_common_queries(judged, command):
    lists = rl.read_run(judged.path("poor")).to_dict()
    rl.write_run(rl.Ranks.from_dict({query: lists[query] for query in list(judged.IDS)[30:]}), judged.path("half"))
    done = run(command, *judged.paths("good", "half"), "--labels", judged.labels, "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr.strip() == "Note: only the 30 queries that every run has are used; a run has up to 60."
    found = json.loads(done.stdout)
    shown = found["ndcg@10"]["good.run"] if command == "select" else found[str(judged.path("good"))]["ndcg@10"]
    assert shown == pytest.approx(judged.values("good")[30:].mean())


def test_measure_may_have_leading_zeros(judged, command):
    done = run(command, *judged.paths("good", "fair"), "--qrels", judged.qrels, "--measure", "ndcg@010")
    assert done.exit_code == 0, done.output
    assert "ndcg@10" in done.stdout
