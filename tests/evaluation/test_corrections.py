import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import CORRECTIONS, correct

P_VALUES = st.lists(st.floats(0, 1), max_size=8)
METHODS = ["bh", "bonferroni", "holm", "none"]


def test_corrections_by_hand():
    given_values = [0.03, 0.01, 0.04, 0.30]
    expected = {
        "none": given_values,
        "bonferroni": [0.12, 0.04, 0.16, 1.0],
        "holm": [3 * 0.03, 4 * 0.01, 3 * 0.03, 0.30],  # 2 * 0.04 is below the preceding 3 * 0.03
        "bh": [4 / 3 * 0.04, 4 * 0.01, 4 / 3 * 0.04, 0.30],  # 4 / 2 * 0.03 is above the following 4 / 3 * 0.04
    }
    for method, values in expected.items():
        np.testing.assert_allclose(correct(given_values, method=method), values)


@given(P_VALUES)
def test_holm_rejects_what_its_steps_reject(values):
    """Step down from the smallest p-value, as long as it is at most alpha / the number left."""
    adjusted = correct(values, method="holm")
    for alpha in (0.01, 0.05, 0.3):
        rejected = set()
        for done, i in enumerate(np.argsort(values, kind="stable")):
            if (len(values) - done) * values[i] > alpha:
                break
            rejected.add(int(i))
        assert rejected == set(np.flatnonzero(adjusted <= alpha).tolist())


@given(P_VALUES.filter(bool))
def test_bh_matches_scipy(values):
    np.testing.assert_allclose(correct(values, method="bh"), stats.false_discovery_control(values), atol=1e-15)


@given(P_VALUES, st.sampled_from(METHODS), st.randoms())
def test_corrected_values_are_larger_in_the_same_order_and_at_most_1(values, method, random):
    adjusted = correct(values, method=method)
    assert (adjusted >= np.array(values) * (1 - 1e-12)).all()
    assert (adjusted <= 1).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    shuffled = random.sample(range(len(values)), len(values))
    np.testing.assert_array_equal(correct([values[i] for i in shuffled], method=method), adjusted[shuffled])


@given(P_VALUES)
def test_bonferroni_is_strictest_then_holm_then_bh(values):
    by_bh, by_bonferroni, by_holm, _ = (correct(values, method=method) for method in METHODS)
    assert (by_bonferroni >= by_holm * (1 - 1e-12)).all()
    assert (by_holm >= by_bh * (1 - 1e-12)).all()


def test_the_registry_has_every_correction():
    assert sorted(CORRECTIONS) == METHODS


@pytest.mark.parametrize("values", [[0.5, 1.1], [-0.1], [np.nan], [[0.1]], 0.1])
def test_bad_p_values_raise(values):
    with pytest.raises(InputError, match="p-values must be a list of numbers from 0 to 1; got"):
        correct(values)


def test_an_unknown_correction_raises():
    with pytest.raises(UnknownNameError, match="Unknown correction 'sidak'"):
        correct([0.1], method="sidak")
