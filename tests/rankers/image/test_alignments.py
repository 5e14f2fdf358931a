"""Alignments: worked examples, reference loops, and invariances."""

from dataclasses import replace

import numpy as np
import plain_shapes as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloom.errors import InputError, UnknownNameError
from rankloom.rankers.image.alignments import ALIGNMENTS, Alignment
from rankloom.threads import running


def features(n_items=6, n=7, d=2, seed=0):
    return np.random.default_rng(seed).integers(0, 9, (n_items, n, d)).astype(np.float32)


def histograms(n_items=6, n=7, bins=24, seed=0, total=9):
    random = np.random.default_rng(seed)
    return random.multinomial(total, random.dirichlet(np.full(bins, 0.2), (n_items, n))).astype(np.uint8)


def sample(alignment, **options):
    if alignment.cost == "l1":
        return features(**options)
    parts = [histograms(**{**options, "seed": seed}) for seed in range(alignment.n_parts)]
    return np.concatenate(parts, axis=2)


# Worked examples


def test_a_skipped_point_costs_the_penalty():
    # 0 5 9 against 0 9 9: without skips |5 - 9| = 4. With a penalty of 1, skipping the 5 of one and a 9 of the other
    # costs 2.
    x, y = np.array([[[0], [5], [9]]]), np.array([[[0], [9], [9]]])
    assert Alignment("l1", penalty=3)(x, y).tolist() == [[4]]
    assert Alignment("l1", penalty=1)(x, y).tolist() == [[2]]


def test_a_repeated_point_costs_the_penalty_and_its_pair():
    # 0 5 9 9 against 0 0 5 9: pair 0 with both 0 (a penalty of 1 and a cost of 0), 5 with 5, both 9 with the 9: 2.
    # Without skips 5 + 4 = 9.
    x, y = np.array([[[0], [5], [9], [9]]]), np.array([[[0], [0], [5], [9]]])
    assert Alignment("l1", penalty=1, repeat=True)(x, y).tolist() == [[2]]
    assert Alignment("l1", penalty=1, repeat=True, band=0)(x, y).tolist() == [[9]]


def test_chi_square_is_two_for_histograms_that_share_nothing():
    x, y = np.zeros((1, 3, 12), np.uint8), np.zeros((1, 3, 12), np.uint8)
    x[:, :, 0] = y[:, :, 2] = 4  # mirrored, angle bin 2 is bin 3
    assert Alignment("chi_square", penalty=9)(x, y).tolist() == [[6]]
    assert Alignment("chi_square", penalty=0.6)(x, y)[0, 0] == pytest.approx(6 * 0.6)  # skip all points


def test_the_mirror_image_has_angle_a_at_pi_minus_a():
    x, y = np.zeros((1, 3, 12), np.uint8), np.zeros((1, 3, 12), np.uint8)
    x[0, [0, 1, 2], [0, 1, 2]] = 5
    y[0, [2, 1, 0], [5, 4, 3]] = 5  # reversed, at bins 5 - a
    assert Alignment("chi_square", penalty=0.6)(x, y).tolist() == [[0]]


def test_parts_are_aligned_separately_and_combined():
    x, y = features(2, d=4), features(3, d=4, seed=1)
    one = Alignment("l1", penalty=2)
    parts = [one(x[..., part], y[..., part]) for part in (slice(0, 2), slice(2, 4))]
    np.testing.assert_array_equal(replace(one, n_parts=2)(x, y), np.minimum(*parts))
    np.testing.assert_array_equal(replace(one, n_parts=2, combine="sum")(x, y), np.add(*parts))


# Against reference loops


@pytest.mark.parametrize("repeat", [False, True])
@pytest.mark.parametrize("band", [0, 2, 25])
@pytest.mark.parametrize("penalty", [0.5, 3.0, 50.0])
def test_features_are_aligned_as_by_reference_loops(repeat, band, penalty):
    x = features()
    expected = [[plain.cyclic(*first(a, b), plain.l1, penalty, repeat=repeat, band=band) for b in x] for a in x]
    found = Alignment("l1", penalty=penalty, repeat=repeat, band=band)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("penalty", [0.1, 0.6])
def test_histograms_are_aligned_as_by_reference_loops(penalty):
    x, y = histograms(4), histograms(3, seed=1)
    expected = [[plain.cyclic(*first(a, b), plain.chi_square, penalty) for b in y] for a in x]
    np.testing.assert_allclose(Alignment("chi_square", penalty=penalty)(x, y), expected, atol=2e-5)


def first(a, b):
    """Return two descriptors in the order of their bytes, as alignments take them."""
    return (a, b) if a.tobytes() < b.tobytes() else (b, a)


# Properties

small = arrays(np.float32, (3, 6, 1), elements=st.integers(0, 5).map(float))


@given(small, st.integers(0, 5), st.integers(0, 5))
def test_start_points_and_mirror_images_do_not_matter(x, start, other):
    # With no limit of the band, the alignment over all start points is that of two circles.
    alignment = Alignment("l1", penalty=1.0)
    turned = np.roll(x, start, axis=1)
    back = np.roll(x[:, ::-1], other, axis=1)
    np.testing.assert_array_equal(alignment(turned, back), alignment(x))


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_a_turned_or_mirrored_sequence_has_distance_0(name):
    alignment = ALIGNMENTS[name]
    x = sample(alignment, n_items=3)
    back = plain.l1 if alignment.cost == "l1" else plain.chi_square
    for other in (np.roll(x, 3, axis=1), np.stack([plain.mirrored(one, back) for one in x])):
        assert np.diag(alignment(x, other)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_distances_are_symmetric_to_the_last_bit(name):
    x = sample(ALIGNMENTS[name])
    table = ALIGNMENTS[name](x)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(table, ALIGNMENTS[name](x, x.copy()))
    np.testing.assert_array_equal(table[[4, 1]], ALIGNMENTS[name](x[[4, 1]], x))
    assert (np.diag(table) == 0).all()
    assert (table >= 0).all()


@pytest.mark.parametrize("name", ["contexts", "ocs"])
def test_bits_do_not_depend_on_threads(name):
    x = sample(ALIGNMENTS[name], n_items=30)
    tables = []
    for threads in (1, 5):
        with running(threads=threads):
            tables.append(ALIGNMENTS[name](x))
    assert tables[0].tobytes() == tables[1].tobytes()


def test_progress_counts_rows():
    steps = []
    with running(progress=lambda *step: steps.append(step)):
        Alignment("l1", penalty=1)(features(9))
    assert steps[-1] == ("Comparing images", 9, 9)


def test_empty_stacks_have_empty_tables():
    assert Alignment("l1", penalty=1)(features(0)).shape == (0, 0)
    assert Alignment("chi_square", penalty=1)(histograms(0)).shape == (0, 0)
    assert Alignment("chi_square", penalty=1)(histograms(2), histograms(0)).shape == (2, 0)


# Errors


@pytest.mark.parametrize("penalty", [0.0, -1.0, float("nan"), float("inf")])
def test_a_penalty_is_positive(penalty):
    with pytest.raises(InputError, match="penalty must be a positive number; got"):
        Alignment("l1", penalty=penalty)


def test_invalid_settings_and_stacks_are_rejected():
    with pytest.raises(UnknownNameError, match="Unknown cost 'l2'; choose from chi_square, l1"):
        Alignment("l2", penalty=1)
    with pytest.raises(UnknownNameError, match="Unknown combine 'mean'"):
        Alignment("l1", penalty=1, combine="mean")
    one = Alignment("l1", penalty=1)
    with pytest.raises(
        InputError, match=r"x must be numbers of shape \(items, points, features\); got float32 \(3, 2\)"
    ):
        one(np.zeros((3, 2), np.float32))
    with pytest.raises(InputError, match="y must be finite"):
        one(features(), np.full((1, 7, 2), np.nan))
    with pytest.raises(InputError, match=r"descriptors of one shape; got \(7, 2\) and \(6, 2\)"):
        one(features(), features(n=6))


@pytest.mark.parametrize(
    "wrong", [features(d=12), histograms(bins=13), np.eye(12, dtype=np.uint8)[None] * [[[3], [1]] * 6]]
)
def test_chi_square_compares_counts_with_equal_sums(wrong):
    with pytest.raises(InputError, match="chi_square compares uint8 counts in bins of 12 angles, with equal sums"):
        Alignment("chi_square", penalty=1)(wrong)
