"""Supervised methods, worked by hand; `test_ranx` compares them with ranx."""

import numpy as np
import pytest

import rankloom as rl

#: Two queries, two rankers; one list of four and one of two.
A = rl.Ranks.from_dict({"q1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "q2": {"e": 2.0, "f": 1.0}})
B = rl.Ranks.from_dict({"q1": {"b": 2.0, "a": 1.0}, "q2": {"f": 2.0, "g": 1.0}})
QRELS = {"q1": {"a": 1, "c": 2, "d": 0}, "q2": {"f": 1}}


def learned(method):
    return [one.tolist() for one in rl.train([A, B], QRELS, method).learned]


def test_posfuse_learns_the_share_of_relevant_items_at_each_position():
    """Ranker 1: a yes, e no; b no, f yes; c yes and d no, in one list only."""
    assert learned("posfuse")[0] == [1 / 2, 1 / 2, 1.0, 0.0]


def test_slidefuse_averages_over_a_window_inside_the_list():
    fused = rl.fuse([A], rl.train([A], QRELS, "slidefuse(window=1)")).to_dict()["q1"]
    shares = [1 / 2, 1 / 2, 1.0, 0.0]
    expected = {"a": sum(shares[:2]) / 2, "b": sum(shares[:3]) / 3, "c": sum(shares[1:]) / 3, "d": sum(shares[2:]) / 2}
    assert fused == pytest.approx(expected)


def test_probfuse_learns_the_share_of_relevant_items_in_each_segment():
    """Ranker 1, two segments: (a b | c d) has 1/2 and 1/2, (e | f) has 0 and 1."""
    assert learned("probfuse(segments=2)")[0] == [1 / 4, 3 / 4]
    fused = rl.fuse([A, B], rl.train([A, B], QRELS, "probfuse", segments=2)).to_dict()["q2"]
    assert fused["e"] == pytest.approx(1 / 4)
    assert fused["f"] == pytest.approx(3 / 4 / 2 + 1 / 2)  # ranker 2: (b | a) has 0 and 1, (f | g) has 1 and 0


def test_mapfuse_learns_mean_average_precision():
    """Ranker 1: (1/1 + 2/3) / 2 and 1/2. Ranker 2: 1/2 / 2, as c is not found, and 1."""
    assert learned("mapfuse") == [[pytest.approx((5 / 6 + 1 / 2) / 2)], [pytest.approx((1 / 4 + 1) / 2)]]


def test_bayesfuse_learns_odds_by_intervals():
    """Ranker 1: 2 and 1 of the first five are relevant; later ones count as 0.001."""
    odds = learned("bayesfuse")
    assert odds[0][0] == pytest.approx(np.log(0.3 / 0.7))
    assert odds[0][1:] == pytest.approx([np.log(0.001 / 0.999)] * 8)
    fused = rl.fuse([A, B], rl.train([A, B], QRELS, "bayesfuse")).to_dict()["q2"]
    assert fused["e"] == pytest.approx(np.log(0.3 / 0.7) + np.log(0.001 / 0.999), rel=1e-6)


@pytest.mark.parametrize(("rule", "ends"), [("sizes", [5, 20, 55]), ("ends", [5, 15, 35])])
def test_segments_of_segfuse_grow(rule, ends):
    """A list of 60 with all items relevant: every full segment has precision 1."""
    ranks = rl.Ranks.from_dict({"q": {f"d{i}": float(60 - i) for i in range(60)}})
    relevant = {"q": {f"d{i}": 1 for i in range(ends[1])}}
    shares = rl.train([ranks], relevant, "segfuse", segments=rule).learned[0]
    assert shares[:3].tolist() == [1.0, 1.0, 0.0]
    fused = rl.fuse([ranks], rl.train([ranks], relevant, "segfuse", segments=rule), 60).to_dict()["q"]
    assert fused["d0"] == 2.0  # the share times the normalized score plus 1
    assert fused[f"d{ends[1]}"] == 0.0


def test_queries_without_judgments_are_left_out():
    judged = rl.train([A.rows([0]), B.rows([0])], {"q1": QRELS["q1"]}, "posfuse")
    some = rl.train([A, B], {"q1": QRELS["q1"], "q9": {"x": 1}}, "posfuse")
    assert [one.tolist() for one in some.learned] == [one[: len(one)].tolist() for one in judged.learned]
