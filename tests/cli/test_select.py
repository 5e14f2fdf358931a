import json

import pytest

import rankloom as rl
from command import run, sentence
from rankloom.evaluation import correlations
from rankloom.evaluation.selection import select

NAMES = ("good", "fair", "poor")


def test_rankers_are_selected_by_judgments(judged):
    chosen = json.loads(run("select", *judged.paths(*NAMES), "--qrels", judged.qrels, "--json").stdout)
    quality = {f"{name}.run": float(judged.values(name).mean()) for name in NAMES}
    matrix = correlations([rl.read_run(path) for path in judged.paths(*NAMES)])
    assert chosen["ndcg@10"] == pytest.approx(quality)
    assert tuple(chosen["chosen"]["pair"]) == select(quality, matrix, kind="pair")


def test_rankers_are_selected_by_an_estimate(judged):
    done = run("select", *judged.paths(*NAMES), "--estimate", "reciprocal")
    assert done.exit_code == 0, done.output
    assert "reciprocal estimate" in done.stdout
    assert "best(2): good.run, fair.run" in done.stdout


def test_invalid_input_is_one_sentence(judged):
    assert "Unknown estimate" in sentence(run("select", *judged.paths("good", "fair"), "--estimate", "guess"))
