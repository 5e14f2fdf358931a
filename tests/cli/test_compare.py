import json

import pytest

from command import run, sentence
from rankloom.evaluation import compare


@pytest.mark.parametrize("truth", ["qrels", "labels"])
def test_verdict_of_each_run_is_printed(judged, truth):
    done = run("compare", *judged.paths("fair", "good", "poor"), f"--{truth}", getattr(judged, truth))
    assert done.exit_code == 0, done.output
    lines = {name: line for line in done.stdout.splitlines() for name in ("good", "poor") if f"{name}.run" in line}
    assert "▼" in lines["good"]
    assert "▲" in lines["poor"]
    assert "▲ ours is statistically better" in done.stdout
    assert "60 queries, t test, alpha 0.01." in done.stdout


def test_json_agrees_with_the_function(judged):
    options = ("--qrels", judged.qrels, "--test", "randomization", "--seed", 3, "--json")
    done = run("compare", *judged.paths("fair", "good"), *options)
    expected = compare(judged.values("fair"), judged.values("good"), test="randomization", seed=3)
    row = json.loads(done.stdout)[str(judged.path("good"))]
    assert (row["p"], row["verdict"]) == (expected.p_value, "worse")


def test_p_is_corrected_for_the_number_of_runs(judged):
    plain, corrected = (
        json.loads(
            run(
                "compare", *judged.paths("fair", "good", "poor"), "--qrels", judged.qrels, "--json", "--correction", how
            ).stdout
        )
        for how in ("none", "bonferroni")
    )
    name = str(judged.path("good"))
    assert corrected[name]["p"] == pytest.approx(2 * plain[name]["p"])


def test_invalid_input_is_one_sentence(judged):
    good, fair = judged.paths("good", "fair")
    assert "Give each run once" in sentence(run("compare", good, good, "--qrels", judged.qrels))
    assert "either --qrels or --labels" in sentence(run("compare", good, fair))
    assert "Unknown test 'z'" in sentence(run("compare", good, fair, "--qrels", judged.qrels, "--test", "z"))
