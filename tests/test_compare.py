"""The two comparators, from sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom import UnknownNameError
from rankloom.compare import COMPARATORS, mcs, similarity, wgu

SIZES = st.floats(1e-3, 1e6)


def test_by_hand():
    assert wgu(1.0, 2.0, 3.0) == 1 / (2 + 3 - 1)
    assert mcs(1.0, 2.0, 3.0) == 1 / 3
    assert similarity("wgu", 1.0, 2.0, 3.0) == wgu(1.0, 2.0, 3.0)
    assert similarity("mcs", 1.0, 2.0, 3.0) == mcs(1.0, 2.0, 3.0)


@pytest.mark.parametrize("name", COMPARATORS)
def test_nothing_in_common_is_0_even_for_empty_graphs(name):
    assert similarity(name, 0.0, 0.0, 0.0) == 0
    assert similarity(name, 0.0, 1.0, 0.0) == 0


@given(SIZES, SIZES, st.floats(0, 1))
def test_both_are_symmetric_in_0_to_1_and_wgu_is_the_smaller(a, b, share):
    common = min(a, b) * share
    for name in COMPARATORS:
        assert 0 <= similarity(name, common, a, b) <= 1
        assert similarity(name, common, a, b) == pytest.approx(similarity(name, common, b, a))
    assert wgu(common, a, b) <= mcs(common, a, b) * (1 + 1e-12)


@given(SIZES)
def test_equal_graphs_are_1(size):
    for name in COMPARATORS:
        assert similarity(name, size, size, size) == 1


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UnknownNameError) as caught:
        similarity("wgo", 1.0, 1.0, 1.0)
    assert str(caught.value) == "Unknown comparator 'wgo'; choose from mcs, wgu. Did you mean 'wgu'?"
