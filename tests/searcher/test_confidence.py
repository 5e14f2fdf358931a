"""Confidence: a logistic regression on top scores and overlaps."""

import numpy as np
import pytest
from sample_texts import TOPICS, documents, encode
from scipy.optimize import minimize

import rankloom as rl
from rankloom.errors import InputError
from rankloom.ranks import Ranks
from rankloom.searcher.confidence import Calibration, features, fitted_calibration


def lists(rng, n, top):
    items = np.array([rng.permutation(30)[:12] for _ in range(n)])
    scores = -np.sort(-rng.random((n, 12)), axis=1) + top
    return Ranks(items, scores, n_items=30)


def test_features_are_top_scores_and_the_overlap_of_the_first_ten():
    rng = np.random.default_rng(0)
    given = {name: lists(rng, 5, 1) for name in "abc"}
    rows = features(given)
    for row in range(5):
        tens = {name: set(ranks.items[row, :10].tolist()) for name, ranks in given.items()}
        overlaps = [len(tens[a] & tens[b]) / 10 for a, b in ("ab", "ac", "bc")]
        expected = [*(ranks.scores[row, 0] for ranks in given.values()), sum(overlaps) / 3]
        assert rows[row] == pytest.approx(expected)


def test_lists_without_items_have_top_score_and_overlap_0():
    empty = Ranks([[-1, -1]], [[0.0, 0.0]], n_items=4)
    assert features({"a": empty, "b": empty}).tolist() == [[0, 0, 0]]


def test_the_fit_is_the_penalized_maximum_of_the_likelihood():
    rng = np.random.default_rng(1)
    real, junk = ({name: lists(rng, n, top) for name in "ab"} for n, top in ((40, 0.4), (70, 0)))
    fitted = Calibration.fit(real, junk)
    rows = np.vstack([features(real), features(junk)])
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    columns = np.column_stack([np.ones(110), (rows - mean) / deviation])
    signs, shares = np.repeat([1, -1], [40, 70]), np.repeat([0.5 / 40, 0.5 / 70], [40, 70])

    def loss(weights):
        return shares @ np.log1p(np.exp(-signs * (columns @ weights))) + 1e-3 / 2 * weights @ weights

    best = minimize(loss, np.zeros(4), tol=1e-12).x
    expected = 1 / (1 + np.exp(-columns[:40] @ best))
    assert fitted.confidences(real) == pytest.approx(expected, abs=1e-4)


def test_answers_have_it_if_it_is_known(tmp_path):
    searcher = rl.Searcher.build(documents(60), {"bm25": "okapi", "dense": encode})
    assert searcher.search("heat").confidence is None
    rng = np.random.default_rng(0)
    log = [" ".join(rng.choice(TOPICS[topic].split(), 4)) for topic in list(TOPICS) * 10]
    searcher.calibrate(log)
    answers = searcher.search([log[0], "zzz qqq"])
    assert answers[0].confidence > answers[1].confidence
    assert all(0 <= answer.confidence <= 1 for answer in answers)
    assert searcher.search(item="d1").confidence is None
    assert searcher.search("heat", rankers=["dense"]).confidence is None
    searcher.save(tmp_path / "s.loom")
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": encode})
    assert opened.search(log[0]).confidence == answers[0].confidence


def test_too_few_queries_are_an_error():
    searcher = rl.Searcher.build(documents(20), ["bm25"])
    with pytest.raises(InputError, match="at least 20 queries to calibrate with; got 2"):
        searcher.calibrate(["heat", "cold"])


def test_bm25_with_our_encoders_is_calibrated_by_whatever_name():
    found = fitted_calibration({"words": "okapi", "meaning": "minilm", "third": None})
    assert found.rankers == ("words", "meaning")
    assert fitted_calibration({"bm25": "bm25", "static": "static"}).rankers == ("bm25", "static")
    assert fitted_calibration({"bm25": "okapi(b=0.5)", "static": "static"}) is None
    assert fitted_calibration({"bm25": "bm25"}) is None
