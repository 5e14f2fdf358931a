"""Texture descriptors: worked examples, reference loops, scikit-image, and invariances."""

import numpy as np
import plain_descriptors as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloom import Ranks, evaluate
from rankloom.rankers.image.texture import CHANGE_EDGES, TEXTURE, ccom, htd, las, lbp, qcch
from rankloom.rankers.vectors.distances import DISTANCES


def gray(rows):
    """Return an RGB image of gray levels."""
    return np.repeat(np.array(rows, np.uint8)[..., None], 3, axis=2)


def noise(height, width, seed=0, levels=256):
    steps = np.random.default_rng(seed).integers(0, levels, (height, width))
    return gray(steps * 255 // max(levels - 1, 1))


grays = arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 200)).map(gray)


# Worked examples


def test_lbp_counts_ones_of_uniform_patterns():
    # Around the middle 5: right 9, above right 9, above 9; the rest 0. Interpolated on the diagonals:
    # above right is 1; above left is next to above = +4, 0.41 * (4 - 5) - 5 < 0. So three consecutive ones.
    assert lbp(gray([[0, 9, 9], [0, 5, 9], [0, 0, 0]])).argmax() == 3
    # Bright at four corners only: 8 transitions, not uniform.
    assert lbp(gray([[200, 0, 200], [0, 1, 0], [200, 0, 200]])).argmax() == 9
    # A spot brighter than its neighbors: no ones. Flat: eight, since equal counts as bright.
    assert lbp(gray([[0, 0, 0], [0, 9, 0], [0, 0, 0]])).argmax() == 0
    assert lbp(gray(np.full((3, 3), 7))).argmax() == 8


def test_ccom_counts_adjacent_pairs():
    # Levels 0, 0, 5 of six, below 0, 5, 5: gray level k is color 43 k, so colors 0 and 215.
    # Horizontal pairs: 00, 05, 05, 55; vertical: 00, 05, 55. Of 7: two 00, three 05, two 55.
    features = ccom(gray([[0, 0, 255], [0, 255, 255]]))
    assert features[[0, 215, -1]].tolist() == pytest.approx([2 / 7, 3 / 7, 2 / 7])
    assert features.sum() == pytest.approx(1)


def test_las_joins_activity_in_four_directions():
    # Around the middle 100. Diagonal 100 and 100: 0. Row 110 and 130: 40, level 1. Other diagonal 150 and 110: 60,
    # level 2. Column 0 and 100: 100, level 3. So bin 0 * 64 + 1 * 16 + 2 * 4 + 3.
    image = gray([[100, 0, 150], [110, 100, 130], [110, 100, 100]])
    assert las(image)[1 * 16 + 2 * 4 + 3] == 1


def test_las_thresholds_are_25_50_and_75():
    for step, level in ((24, 0), (25, 1), (49, 1), (50, 2), (74, 2), (75, 3), (255, 3)):
        image = gray([[0, 0, 0], [0, 0, step], [0, 0, 0]])
        assert las(image)[16 * level] == 1


def test_qcch_averages_changes():
    # 5 x 5, columns 0 9 18 27 36: the means of 3 x 3 are 9, 18, 27 by column, so a step of 18 across, and along
    # both diagonals, and 0 down: 3 * 18 / 4 = 13.5, the bin from 13 to 14.
    assert qcch(gray([[0, 9, 18, 27, 36]] * 5))[13] == 1
    # One pixel of 48 near the middle, which only the 3 x 3 around the right side, both right corners, top and bottom
    # have, but not those opposite to the right ones: 48/9 across and on two diagonals, 0 down: 4, which is in (3, 4].
    spot = np.zeros((5, 5))
    spot[2, 4] = 48
    assert qcch(gray(spot))[3] == 1


def test_qcch_has_40_bins():
    assert len(CHANGE_EDGES) == 39
    assert list(CHANGE_EDGES) == sorted(set(CHANGE_EDGES))


def test_htd_has_its_maximum_in_the_channel_of_a_wave():
    # 3 waves on 32 pixels are 3/16 of the highest frequency, the center of scale 2; along the rows the direction is
    # 0 degrees, along the columns 90, the fourth of six.
    wave = np.round(100 + 80 * np.cos(2 * np.pi * 3 * np.arange(32) / 32))
    across = htd(gray(np.tile(wave, (32, 1))))[:30].reshape(5, 6)
    down = htd(gray(np.tile(wave[:, None], (1, 32))))[:30].reshape(5, 6)
    assert np.unravel_index(across.argmax(), across.shape) == (2, 0)
    assert np.unravel_index(down.argmax(), down.shape) == (2, 3)


def test_htd_of_a_wave_follows_the_formula():
    # A cosine of amplitude a has power n a^2 / 4 at two of n frequencies: the mean is G^2 a^2 / 2 and the deviation
    # sqrt(n / 2 - 1) times that. 3/8 of the highest frequency is the center of scale 1: G = 1 at orientation 0.
    amplitude, n = 100, 32 * 32
    wave = 128 + amplitude * np.cos(2 * np.pi * 3 * np.arange(32) / 16)
    features = htd(gray(np.tile(np.round(wave), (32, 1))))
    mean = amplitude**2 / 2
    assert features[6] == pytest.approx(np.log10(1 + mean), abs=2e-3)  # gray levels are rounded
    assert features[30 + 6] == pytest.approx(np.log10(1 + mean * np.sqrt(n / 2 - 1)), abs=2e-3)


def test_htd_of_one_gray_level_is_zero():
    assert not htd(gray(np.full((5, 7), 200))).any()


# Against reference loops and scikit-image


@pytest.mark.parametrize("name", ["lbp", "ccom", "las", "qcch", "htd"])
@pytest.mark.parametrize(("height", "width", "levels"), [(9, 8, 3), (6, 11, 256), (5, 5, 2), (3, 2, 256)])
def test_descriptors_equal_reference_loops(name, height, width, levels):
    image = noise(height, width, seed=width, levels=levels)
    np.testing.assert_allclose(TEXTURE[name][0](image), getattr(plain, name)(image), rtol=1e-5, atol=1e-6)


def test_descriptors_of_color_images_equal_reference_loops():
    image = np.random.default_rng(5).integers(0, 256, (7, 8, 3), np.uint8)
    for name in ("lbp", "ccom", "las", "qcch"):
        np.testing.assert_allclose(TEXTURE[name][0](image), getattr(plain, name)(image), rtol=1e-5, atol=1e-6)


def test_lbp_equals_scikit_image():
    feature = pytest.importorskip("skimage.feature")
    image = noise(40, 50)
    patterns = feature.local_binary_pattern(image[..., 0], 8, 1, "uniform")[1:-1, 1:-1]
    expected = np.bincount(patterns.astype(int).ravel(), minlength=10) / patterns.size
    np.testing.assert_allclose(lbp(image), expected, atol=1e-6)


# Invariances


@pytest.mark.parametrize("name", ["lbp", "las", "qcch"])
@given(image=grays, shift=st.integers(0, 55))
def test_brightness_invariance(name, image, shift):
    descriptor = TEXTURE[name][0]
    np.testing.assert_array_equal(descriptor(image + np.uint8(shift)), descriptor(image))


@given(grays, st.integers(0, 55))
def test_htd_brightness_invariance(image, shift):
    np.testing.assert_allclose(htd(image + np.uint8(shift)), htd(image), atol=1e-5)


@given(arrays(np.uint8, (6, 7), elements=st.integers(0, 15)).map(gray), st.integers(2, 17))
def test_lbp_contrast_invariance(image, factor):
    np.testing.assert_array_equal(lbp(image * np.uint8(factor)), lbp(image))


@given(grays)
def test_las_and_htd_are_invariant_to_half_turns(image):
    rotated = np.rot90(image, 2)
    np.testing.assert_array_equal(las(rotated), las(image))
    np.testing.assert_allclose(htd(rotated), htd(image), atol=1e-5)


@given(grays)
def test_mirroring_swaps_the_diagonals_of_las(image):
    spectrum = las(image).reshape(4, 4, 4, 4)
    np.testing.assert_array_equal(las(image[:, ::-1]).reshape(4, 4, 4, 4), spectrum.transpose(2, 1, 0, 3))


def test_rotation_permutes_the_orientations_of_htd():
    image = noise(16, 16)
    rotated = htd(np.rot90(image))[:30].reshape(5, 6)
    np.testing.assert_allclose(rotated[:, [3, 0]], htd(image)[:30].reshape(5, 6)[:, [0, 3]], atol=1e-4)


def test_tiling_keeps_the_energies_of_htd():
    # Shift and size do not matter: repeating an image puts zeros between its frequencies, and the mean over n times as
    # many frequencies of n times the power is the same.
    image = noise(16, 16)
    np.testing.assert_allclose(htd(np.tile(image, (2, 2, 1)))[:30], htd(image)[:30], atol=1e-5)
    np.testing.assert_allclose(htd(np.roll(image, 5, axis=1)), htd(image), atol=1e-5)


@pytest.mark.parametrize(("name", "smallest"), [("lbp", 3), ("las", 3), ("qcch", 5), ("ccom", 2)])
def test_too_small_images_give_zeros(name, smallest):
    descriptor = TEXTURE[name][0]
    assert descriptor(noise(smallest, smallest)).sum() == pytest.approx(1)
    small = noise(1, 1) if name == "ccom" else noise(smallest - 1, 20)
    assert not descriptor(small).any()


def test_texture_descriptors_find_blocks_of_a_texture(shared):
    from PIL import Image

    blocks, labels = [], []
    for number in (1, 3, 9, 20, 34):
        with Image.open(shared / "data" / "brodatz" / "images" / f"D{number}.gif") as file:
            image = np.asarray(file.convert("RGB"))
        blocks += [image[y : y + 160, x : x + 160] for y in (0, 160) for x in (0, 160)]
        labels += [number] * 4
    for name, (descriptor, distance) in TEXTURE.items():
        features = np.stack([descriptor(block) for block in blocks])
        if distance in DISTANCES:
            ranks = Ranks.from_distances(DISTANCES[distance](features, features), kind="collection")
        else:
            ranks = Ranks.from_vectors(features, metric=distance)
        assert evaluate(ranks, labels=labels, measures=["p@4"])["p@4"] > 0.7, name
