import json

import pytest

from command import run, sentence
from rankloom.evaluation import compare


@pytest.mark.parametrize("truth", ["qrels", "labels"])
def test_verdict_of_each_run_is_printed(judged, truth):
    done = run("compare", *judged.paths("fair", "good", "poor"), f"--{truth}", getattr(judged, truth))
    assert done.exit_code == 0, done.output
    lines = {name: line for line in done.stdout.splitlines() for name in ("good", "poor") if f"{name}.run" in line}
    for name, line in lines.items():
        mark = compare(judged.values(name), judged.values("fair")).mark
        assert mark.verdict == {"good": "better", "poor": "worse"}[name]
        assert str(mark) in line
    reference = judged.path("fair")
    assert (
        f"difference from {reference}; *: significant (paired t test over queries, p < 0.01). 60 queries."
        in done.stdout
    )


def test_json_agrees_with_the_function(judged):
    options = ("--qrels", judged.qrels, "--test", "randomization", "--seed", 3, "--json")
    done = run("compare", *judged.paths("fair", "good"), *options)
    expected = compare(judged.values("good"), judged.values("fair"), test="randomization", seed=3)
    row = json.loads(done.stdout)[str(judged.path("good"))]
    assert (row["p"], row["verdict"]) == (expected.p_value, "better")


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


def test_every_comparison_has_an_effect_size_an_interval_and_wins(judged):
    done = run("compare", *judged.paths("fair", "good"), "--qrels", judged.qrels, "--json")
    expected = compare(judged.values("good"), judged.values("fair"))
    row = json.loads(done.stdout)[str(judged.path("good"))]
    for name in ("difference", "effect", "wins", "losses"):
        assert row[name] == getattr(expected, name)
    assert (row["low"], row["high"]) == expected.interval()
    printed = run("compare", *judged.paths("fair", "good"), "--qrels", judged.qrels).stdout
    assert f"{expected.wins}/{expected.losses}" in printed
    assert f"{expected.effect:+.2f}" in printed


@pytest.mark.parametrize("truth", ["qrels", "labels"])
def test_values_and_differences_of_each_query_are_printed(judged, truth):
    done = run("compare", *judged.paths("fair", "good"), f"--{truth}", getattr(judged, truth), "--per-query")
    reference, one = judged.values("fair")[3], judged.values("good")[3]
    line = next(line for line in done.stdout.splitlines() if "d03" in line)
    assert f"{reference:.4f}" in line
    assert f"{one - reference:+.4f}" in line
    found = json.loads(
        run(
            "compare", *judged.paths("fair", "good"), f"--{truth}", getattr(judged, truth), "--per-query", "--json"
        ).stdout
    )
    assert found[str(judged.path("good"))]["queries"]["d03"] == pytest.approx(one)


@pytest.mark.parametrize("test", ["tukey", "tukey_paired"])
def test_joint_tests(judged, test):
    done = run("compare", *judged.paths("fair", "good", "poor"), "--qrels", judged.qrels, "--test", test)
    assert f"{test} test" in done.stdout


@pytest.mark.filterwarnings("always::rankloom.errors.RankloomWarning")
@pytest.mark.parametrize("command", ["compare", "evaluate"])
def test_unequal_depths_and_missing_queries_are_warned_about(judged, tmp_path, command):
    short = tmp_path / "short.run"
    lines = judged.path("good").read_text().splitlines()
    kept = [line for line in lines if int(line.split()[3]) <= 5 and line.split()[0] not in ("d00", "d01")]
    short.write_text("\n".join(kept) + "\n")
    done = run(command, judged.path("fair"), short, "--qrels", judged.qrels)
    assert done.exit_code == 0
    assert "Warning: The runs have different depths" in done.stderr
    assert f"{short} 5" in done.stderr.replace("\n", " ")
    assert f"Warning: {short} lacks 2 of the 60 judged queries, such as 'd00'; they count as 0." in done.stderr
    assert "lack" not in run(command, judged.path("fair"), judged.path("good"), "--qrels", judged.qrels).stderr


def test_invalid_input_is_one_sentence(judged):
    good, fair = judged.paths("good", "fair")
    assert "Give each run once" in sentence(run("compare", good, good, "--qrels", judged.qrels))
    assert "either --qrels or --labels" in sentence(run("compare", good, fair))
    assert "Unknown test 'z'" in sentence(run("compare", good, fair, "--qrels", judged.qrels, "--test", "z"))


def test_classes_are_a_unit_and_verdicts_that_differ_are_named(judged):
    args = (*judged.paths("fair", "good"), "--labels", judged.labels)
    classes = [line.split("\t")[1] for line in judged.labels.read_text().splitlines()]
    expected = compare(judged.values("good"), judged.values("fair"), units="classes", classes=classes)
    done = run("compare", *args, "--units", "classes")
    assert "(paired t test over class means, p < 0.01)" in done.stdout
    assert str(expected.mark) in done.stdout
    assert ("Over queries instead" in done.stdout) == (expected.verdict == "tie")
    row = json.loads(run("compare", *args, "--units", "classes", "--json").stdout)[str(judged.path("good"))]
    assert row["p"] == pytest.approx(expected.p_value)
    assert "needs --labels" in sentence(run("compare", *args[:2], "--qrels", judged.qrels, "--units", "classes"))
    assert "over class means" in run("evaluate", *args, "--units", "classes").stdout


def test_intervals_that_are_not_corrected_are_said_to_be(judged):
    args = ("compare", *judged.paths("fair", "good"), "--qrels", judged.qrels)
    assert "The intervals are not corrected." in run(*args, "--correction", "holm").stdout
    assert "not corrected" not in run(*args).stdout
