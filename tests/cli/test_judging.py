"""Commands for people who have run files only: compare, correlate, select."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import rankloom as rl
from command import run, sentence
from rankloom.evaluation import compare, correlations
from rankloom.evaluation.selection import select

LABELS = np.repeat(np.arange(6), 10)
NAMES = rl.Ids(f"d{i:02d}" for i in range(60))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(5)
    centers = rng.normal(size=(6, 5))
    for name, noise in (("good", 0.4), ("fair", 0.8), ("poor", 3.0)):
        vectors = centers[LABELS] + noise * rng.normal(size=(60, 5))
        ranks = rl.Ranks.from_vectors(vectors, "l2", item_ids=NAMES, query_ids=NAMES)
        rl.write_run(ranks, tmp_path / f"{name}.run")
    (tmp_path / "labels.tsv").write_text("".join(f"{n}\t{c}\n" for n, c in zip(NAMES, LABELS, strict=True)))
    lines = [f"{q} 0 {d} 1\n" for i, q in enumerate(NAMES) for j, d in enumerate(NAMES) if LABELS[i] == LABELS[j]]
    (tmp_path / "qrels").write_text("".join(lines))
    return tmp_path


def runs(folder, *names):
    return [folder / f"{name}.run" for name in names]


def values(folder, name):
    ranks = rl.read_run(folder / f"{name}.run")
    return rl.evaluate(ranks, qrels=folder / "qrels", per_query=True)["ndcg@10"]


@pytest.mark.parametrize("truth", ["qrels", "labels"])
def test_compare_gives_the_verdict_of_the_test(folder, truth):
    given = {"qrels": ("--qrels", folder / "qrels"), "labels": ("--labels", folder / "labels.tsv")}[truth]
    done = run("compare", *runs(folder, "fair", "good", "poor"), *given)
    assert done.exit_code == 0, done.output
    lines = {name: line for line in done.stdout.splitlines() for name in ("good", "poor") if f"{name}.run" in line}
    assert "▼" in lines["good"]
    assert "▲" in lines["poor"]
    assert "▲ ours is statistically better" in done.stdout
    assert "60 queries, t test, alpha 0.01." in done.stdout


def test_compare_as_json_has_the_numbers_of_the_function(folder):
    tested = ("--test", "randomization", "--seed", 3)
    done = run("compare", *runs(folder, "fair", "good"), "--qrels", folder / "qrels", *tested, "--json")
    expected = compare(values(folder, "fair"), values(folder, "good"), test="randomization", seed=3)
    row = json.loads(done.stdout)[str(folder / "good.run")]
    assert (row["p"], row["verdict"]) == (expected.p_value, "worse")


def test_compare_corrects_for_the_number_of_runs(folder):
    given = ("--qrels", folder / "qrels", "--json")
    plain, corrected = (
        json.loads(run("compare", *runs(folder, "fair", "good", "poor"), *given, "--correction", how).stdout)
        for how in ("none", "bonferroni")
    )
    name = str(folder / "good.run")
    assert corrected[name]["p"] == pytest.approx(2 * plain[name]["p"])


def test_correlate_prints_and_draws_the_matrix(folder):
    done = run("correlate", *runs(folder, "good", "fair", "poor"), "-o", folder / "heat.svg", "--json")
    printed = json.loads(done.stdout)
    expected = correlations([rl.read_run(path) for path in runs(folder, "good", "fair", "poor")])
    np.testing.assert_allclose(printed["jaccard"], expected)
    assert printed["runs"] == ["good.run", "fair.run", "poor.run"]
    drawn = (folder / "heat.svg").read_text()
    assert drawn.startswith("<svg")
    assert f"{expected[0, 1]:.2f}" in drawn
    table = run("correlate", *runs(folder, "good", "fair"), "--correlation", "kendall").stdout
    assert "kendall" in table


def test_select_with_labels_and_without(folder):
    with_labels = run("select", *runs(folder, "good", "fair", "poor"), "--qrels", folder / "qrels", "--json")
    chosen = json.loads(with_labels.stdout)
    good = {f"{name}.run": float(values(folder, name).mean()) for name in ("good", "fair", "poor")}
    matrix = correlations([rl.read_run(path) for path in runs(folder, "good", "fair", "poor")])
    assert chosen["ndcg@10"] == pytest.approx(good)
    assert tuple(chosen["chosen"]["pair"]) == select(good, matrix, kind="pair")
    without = run("select", *runs(folder, "good", "fair", "poor"), "--estimate", "reciprocal")
    assert without.exit_code == 0, without.output
    assert "reciprocal estimate" in without.stdout
    assert "best(2): good.run, fair.run" in without.stdout


def test_what_cannot_be_is_one_sentence(folder):
    good, fair = runs(folder, "good", "fair")
    assert "Give each run once" in sentence(run("compare", good, good, "--qrels", folder / "qrels"))
    assert "either --qrels or --labels" in sentence(run("compare", good, fair))
    assert "Unknown test 'z'" in sentence(run("compare", good, fair, "--qrels", folder / "qrels", "--test", "z"))
    assert "at least 2 runs" in sentence(run("correlate", good))
    assert "Unknown correlation" in sentence(run("correlate", good, fair, "--correlation", "pearson"))
    assert "does not exist" in sentence(run("correlate", good, fair, "-o", folder / "no" / "heat.svg"))
    assert "Unknown estimate" in sentence(run("select", good, fair, "--estimate", "guess"))


def half(folder):
    lists = rl.read_run(folder / "poor.run").to_dict()
    rl.write_run(rl.Ranks.from_dict({name: lists[name] for name in list(NAMES)[30:]}), folder / "half.run")
    return runs(folder, "good", "half")


@pytest.mark.parametrize("command", ["evaluate", "compare", "select"])
def test_with_labels_means_are_over_the_queries_that_all_runs_have(folder, command):
    done = run(command, *half(folder), "--labels", folder / "labels.tsv", "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr.strip() == "Note: 30 queries are in every run, and only these count; a run has up to 60."
    found = json.loads(done.stdout)
    expected = values(folder, "good")[30:].mean()
    shown = found["ndcg@10"]["good.run"] if command == "select" else found[str(folder / "good.run")]["ndcg@10"]
    assert shown == pytest.approx(expected)


@pytest.mark.parametrize("command", ["evaluate", "compare", "select"])
def test_a_measure_may_be_written_with_zeros(folder, command):
    done = run(command, *runs(folder, "good", "fair"), "--qrels", folder / "qrels", "--measure", "ndcg@010")
    assert done.exit_code == 0, done.output
    assert "ndcg@10" in done.stdout


def test_brackets_in_names_are_no_markup(folder):
    for name in ("x[bold].run", "a[/b].run", ":smile:.run"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes((folder / "good.run").read_bytes())
        done = run("evaluate", path, "--qrels", folder / "qrels")
        assert done.exit_code == 0, done.output
        assert name in done.stdout


def test_a_terminal_without_the_signs_gets_others(folder):
    code = "from rankloom.cli import main; main()"
    paths = [str(path) for path in runs(folder, "fair", "good", "poor")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", code, "compare", *paths, "--qrels", str(folder / "qrels")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("|")[-2].strip() for line in lines if "good.run" in line or "poor.run" in line] == ["-", "+"]
    assert "+ ours is statistically better" in done.stdout


def test_an_unreadable_file_is_not_called_the_output(monkeypatch, folder):
    def unreadable(*_, **__):
        raise PermissionError(13, "Permission denied", "secret.run")

    monkeypatch.setattr("rankloom.cli.evaluate.read_all", unreadable)
    found = sentence(run("evaluate", folder / "good.run", "--qrels", folder / "qrels"))
    assert found == "Cannot use secret.run: Permission denied."
