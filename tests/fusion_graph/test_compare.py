"""Comparators of fusion graphs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.errors import UnknownNameError
from rankloom.fusion_graph.compare import COMPARATORS, check_comparator, mcs, register_comparator, wgu

SIZES = st.floats(1e-3, 1e6)


def similarity(name, *sizes):
    return COMPARATORS[name].similarity(*sizes)


def test_comparators_by_hand():
    assert wgu(1.0, 2.0, 3.0) == 1 / (2 + 3 - 1)
    assert mcs(1.0, 2.0, 3.0) == 1 / 3
    assert similarity("wgu", 1.0, 2.0, 3.0) == wgu(1.0, 2.0, 3.0)
    assert similarity("mcs", 1.0, 2.0, 3.0) == mcs(1.0, 2.0, 3.0)


@pytest.mark.parametrize("name", COMPARATORS)
def test_graphs_without_common_parts_have_similarity_0(name):
    assert similarity(name, 0.0, 0.0, 0.0) == 0
    assert similarity(name, 0.0, 1.0, 0.0) == 0


@given(SIZES, SIZES, st.floats(0, 1))
def test_both_are_symmetric_and_in_0_to_1_and_wgu_is_at_most_mcs(a, b, share):
    common = min(a, b) * share
    for name in COMPARATORS:
        assert 0 <= similarity(name, common, a, b) <= 1
        assert similarity(name, common, a, b) == pytest.approx(similarity(name, common, b, a))
    assert wgu(common, a, b) <= mcs(common, a, b) * (1 + 1e-12)


@given(SIZES)
def test_equal_graphs_have_similarity_1(size):
    for name in COMPARATORS:
        assert similarity(name, size, size, size) == 1


def test_an_unknown_comparator_is_an_error_that_suggests_the_nearest():
    with pytest.raises(UnknownNameError) as caught:
        similarity("wgo", 1.0, 1.0, 1.0)
    assert str(caught.value) == "Unknown comparator 'wgo'; choose from mcs, wgu. Did you mean 'wgu'?"


@pytest.mark.parametrize("name", ["wgu", "mcs"])
def test_the_comparators_of_the_paper_fulfill_the_contract(name):
    check_comparator(name)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda common, a, b: common / a if common else 0.0, "depends on the order of the graphs"),
        (lambda common, a, b: 2 * common / (a + b - common) if common else 0.0, r"not in \[0, 1\]"),
        (lambda common, a, b: 0.5 * common / max(a, b) if common else 0.0, "for equal graphs"),
        (lambda common, a, b: 1.0, "if nothing is shared"),
        (lambda common, a, b: json.loads("1"), "must be plain arithmetic that numba compiles"),
    ],
)
def test_check_comparator_reports_the_violation(function, why, monkeypatch):
    pytest.importorskip("numba", reason="the extra jit is not installed")
    monkeypatch.setattr(COMPARATORS, "_known", dict(COMPARATORS))
    register_comparator("broken")(function)
    with pytest.raises(AssertionError, match=why):
        check_comparator("broken")


def test_check_comparator_detects_an_invalid_bound(monkeypatch):
    pytest.importorskip("numba", reason="the extra jit is not installed")
    monkeypatch.setattr(COMPARATORS, "_known", dict(COMPARATORS))
    register_comparator("tight", bound=lambda common, a, min_b: 0.0)(wgu)
    with pytest.raises(AssertionError, match="above its bound"):
        check_comparator("tight")
