import json

import numpy as np

import rankloom as rl
from command import run, sentence
from rankloom.evaluation import correlations


def test_matrix_is_printed_and_drawn(judged):
    paths, svg = judged.paths("good", "fair", "poor"), judged.folder / "heat.svg"
    printed = json.loads(run("correlate", *paths, "-o", svg, "--json").stdout)
    expected = correlations([rl.read_run(path) for path in paths])
    np.testing.assert_allclose(printed["jaccard"], expected)
    assert printed["runs"] == ["good.run", "fair.run", "poor.run"]
    drawing = svg.read_text()
    assert drawing.startswith("<svg")
    assert f"{expected[0, 1]:.2f}" in drawing
    assert "kendall" in run("correlate", *paths[:2], "--correlation", "kendall").stdout


def test_invalid_input_is_one_sentence(judged):
    good, fair = judged.paths("good", "fair")
    assert "at least 2 runs" in sentence(run("correlate", good))
    assert "Unknown correlation" in sentence(run("correlate", good, fair, "--correlation", "pearson"))
    assert "does not exist" in sentence(run("correlate", good, fair, "-o", judged.folder / "no" / "heat.svg"))
