"""Whole experiments and rankings from the command line."""

import re

import pytest

import rankloom as rl
from command import run, sentence
from rankloom.experiment import Experiment

SPEC = """
name = "small"
collection = "digits(first=60)"
methods = ["fg", "rrf"]
cutoffs = [2, 10]
repeats = 1
[rankers]
pixels = "vectors(part=pixels, metric=l2)"
sums = "vectors(part=sums, metric=l1)"
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def test_an_experiment_leaves_data_and_a_report(spec, tmp_path):
    done = run("experiment", spec, "-o", tmp_path / "r", "--no-cache")
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "r").iterdir()} == {
        "cells",
        "experiment.toml",
        "plots",
        "report-files.json",
        "report.html",
        "results.jsonl",
        "tables",
    }
    assert "The report is" in done.stdout
    assert "Note: The selection" in done.stderr  # the best two are all there are
    page = (tmp_path / "r" / "report.html").read_text()
    (tmp_path / "r" / "report.html").unlink()
    (tmp_path / "r" / "tables" / "mine.md").write_text("notes")
    assert run("report", tmp_path / "r").exit_code == 0
    assert (tmp_path / "r" / "report.html").read_text() == page
    assert (tmp_path / "r" / "tables" / "mine.md").read_text() == "notes"


def test_the_specification_is_never_overwritten(tmp_path):
    own = tmp_path / "experiment.toml"
    own.write_text(SPEC)
    assert "would be overwritten" in sentence(run("experiment", own, "-o", tmp_path))
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert "would be overwritten" in sentence(run("experiment", own, "-o", link))
    assert "choose a new folder" in sentence(run("experiment", "--example", "-o", tmp_path))
    assert own.read_text() == SPEC


def test_a_method_that_fails_is_told_of_and_the_rest_reported(spec, tmp_path):
    spec.write_text(SPEC.replace('"rrf"]', '"rrf", "combsum(weights=[1, 2, 3])"]'))
    done = run("experiment", spec, "-o", tmp_path / "r", "--no-cache")
    assert done.exit_code == 1
    assert "Error: combsum(weights=[1, 2, 3]) on all failed: " in done.stderr
    assert "combsum(weights=[1, 2, 3]) on all failed" in (tmp_path / "r" / "report.html").read_text()


def test_the_example_can_be_looked_at_and_changed():
    shown = run("experiment", "--example", "--show")
    assert Experiment.from_toml(shown.stdout).name == "Handwritten digits"


def test_what_cannot_be_is_one_sentence(spec, tmp_path):
    assert "or --example" in sentence(run("experiment"))
    assert "or --example" in sentence(run("experiment", spec, "--example"))
    assert "Cannot read" in sentence(run("experiment", tmp_path / "no.toml"))
    assert "run the experiment to its end" in sentence(run("report", tmp_path))
    spec.write_text(SPEC.replace("digits(first=60)", "digit"))
    assert "Unknown collection 'digit'" in sentence(run("experiment", spec, "-o", tmp_path / "r"))
    spec.write_text(SPEC.replace("part=sums", "part=sum"))
    assert "Unknown part of digits 'sum'" in sentence(run("experiment", spec, "-o", tmp_path / "r", "--no-cache"))


def test_rank_writes_lists_and_labels(tmp_path):
    table = tmp_path / "pets.csv"
    table.write_text("id,text,label\na,a small cat,cat\nb,a big cat,cat\nc,a dog,dog\n")
    ranker = "file(path=" + str(tmp_path / "x.run") + ")"
    rl.write_run(rl.Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"], "c": ["c"]}), tmp_path / "x.run")
    done = run("rank", table, "--ranker", ranker, "-o", tmp_path / "out", "--no-cache")
    assert done.exit_code == 0, done.output
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files[-1] == "labels.tsv"
    ranks = rl.read_ranks(tmp_path / "out" / files[0])
    assert list(ranks.to_dict()["a"]) == ["a", "b"]
    assert (tmp_path / "out" / "labels.tsv").read_text() == "a\tcat\nb\tcat\nc\tdog\n"
    assert re.search(r"Ranked 3 items", done.stderr)


def test_rank_says_what_is_wrong(tmp_path):
    assert "Unknown" in sentence(run("rank", "nothing-of-that-name", "--ranker", "bic", "-o", tmp_path / "o"))
    (tmp_path / "pets.csv").write_text("id,text\na,x\n")
    given = (tmp_path / "pets.csv", "-o", tmp_path / "o", "--no-cache")
    assert "Unknown ranker 'bix'" in sentence(run("rank", *given, "--ranker", "bix"))
    assert "has no option" in sentence(run("rank", *given, "--ranker", "vectors(metrc=l2)"))
    assert not (tmp_path / "o").exists()


def test_rank_looks_at_its_output_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.rankers.rank_collection", None)  # would fail if it were called
    (tmp_path / "pets.csv").write_text("id,text,label\na,x,cat\n")
    (tmp_path / "odd.csv").write_text('id,text,label\n"a\tb",x,cat\n')
    (tmp_path / "file").write_text("")
    given = ("--ranker", "bow", "--no-cache", "-o")
    for output in ("file", "file/deep/er"):
        assert "file is a file; give a folder" in sentence(
            run("rank", tmp_path / "pets.csv", *given, tmp_path / output)
        )
    assert "has a tab" in sentence(run("rank", tmp_path / "odd.csv", *given, tmp_path / "o"))
    long = ("--ranker", f"file(path={'x' * 300})")
    assert "would be too long" in sentence(run("rank", tmp_path / "pets.csv", *long, *given, tmp_path / "o"))


def test_rank_leaves_no_labels_of_an_earlier_collection(tmp_path):
    (tmp_path / "pets.csv").write_text("id,text\na,cat\nb,dog\n")
    rl.write_run(rl.Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"]}), tmp_path / "x.run")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "labels.tsv").write_text("old\tcat\n")
    ranker = f"file(path={tmp_path / 'x.run'})"
    done = run("rank", tmp_path / "pets.csv", "--ranker", ranker, "-o", tmp_path / "out", "--no-cache")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "out" / "labels.tsv").exists()
