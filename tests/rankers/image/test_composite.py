"""Composite descriptors: synthetic blocks worked by hand, plain loops, and properties."""

import numpy as np
import plain_composite as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloom.errors import InputError
from rankloom.rankers import RANKERS, check_ranker
from rankloom.rankers.image.composite import COMPOSITE, cedd, cedd_spy, fcth, fcth_spy, fuzzy_colors, hsv, jcd

LENGTHS = {"cedd": 144, "fcth": 192, "jcd": 168, "cedd_spy": 3024, "fcth_spy": 4032}
WHITE, GRAY, BLACK = range(3)
PURE_RED, PURE_BLUE = 4, 3 * (8 - 2) + 1


def flat(color, height=80, width=80):
    return np.full((height, width, 3), color, np.uint8)


def tiled(block, height=80, width=80):
    """Return an image of equal blocks of gray levels."""
    block = np.array(block, np.uint8)
    rows = np.tile(block, (-(-height // len(block)), -(-width // len(block[0]))))[:height, :width]
    return np.repeat(rows[..., None], 3, axis=2)


def patches(height, width, seed):
    """Return patches of random colors with some noise."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (height // 5 + 1, width // 5 + 1, 3)).repeat(5, 0).repeat(5, 1)[:height, :width]
    return np.clip(coarse + random.integers(-12, 13, coarse.shape), 0, 255).astype(np.uint8)


# Worked examples: one color


@pytest.mark.parametrize(
    ("color", "expected"),
    [
        ((255, 255, 255), {WHITE: 1}),  # hue 0, saturation 0, value 255: one rule, all memberships 1
        ((0, 0, 0), {BLACK: 1}),
        ((128, 128, 128), {GRAY: 1}),
        ((255, 0, 0), {PURE_RED: 1}),
        ((0, 0, 255), {PURE_BLUE: 1}),  # hue 239, in (195, 205, 265, 280): color 8
        # Value 200 is half gray-like, half bright: min(1, 1, 1/2) to gray and to white.
        ((200, 200, 200), {GRAY: 1 / 2, WHITE: 1 / 2}),
        # Hue 7 (255, 30, 0: 60 * 30/255) is 3/5 red and 2/5 orange.
        ((255, 30, 0), {PURE_RED: 3 / 5, PURE_RED + 3: 2 / 5}),
        # Saturation 128 = 127 * 255 // 255 + 1: light and pure red, 60/120 and 60/120.
        ((255, 127, 127), {PURE_RED - 1: 60 / 120, PURE_RED: 60 / 120}),
        # Value 128 is (188 - 128) / 120 dark, and as much bright; both saturation rules, 0 and 1, count for dark.
        ((128, 0, 0), {PURE_RED: 60 / 120, PURE_RED + 1: 60 / 120}),
    ],
)
def test_fuzzy_colors_of_one_color(color, expected):
    found = fuzzy_colors(np.array([color]))[0]
    assert {int(i): found[i] for i in np.flatnonzero(found)} == pytest.approx(expected)


def test_black_of_a_hue_between_two_trapezoids_counts_twice():
    # (8, 1, 0): hue 60 * 1/8 = 7, 3/5 red and 2/5 orange; value 8, black; saturation 255, high: one rule for each hue.
    assert fuzzy_colors(np.array([[8, 1, 0]]))[0, BLACK] == pytest.approx(3 / 5 + 2 / 5)
    # Saturation 31 = 255 // 8 is (75 - 31) / 65 low and (31 - 10) / 65 high, so (8, 7, 7) has two rules: hue is 0.
    assert fuzzy_colors(np.array([[8, 7, 7]]))[0, BLACK] == pytest.approx((75 - 31) / 65 + (31 - 10) / 65)


@given(arrays(np.int64, (1, 3), elements=st.integers(0, 255)))
def test_colors_equal_plain_rules(pixel):
    assert tuple(int(channel[0]) for channel in hsv(pixel)) == plain.hsv(*pixel[0].tolist())
    np.testing.assert_allclose(fuzzy_colors(pixel)[0], plain.colors24(pixel[0]), atol=1e-12)


@pytest.mark.parametrize("color", [(255, 255, 255), (255, 0, 0), (0, 0, 255)])
def test_an_image_of_one_color_has_one_bin(color):
    bin_ = {(255, 255, 255): WHITE, (255, 0, 0): PURE_RED, (0, 0, 255): PURE_BLUE}[color]
    for descriptor, top in ((cedd, 7), (fcth, 7), (jcd, 7)):  # jcd: (7 + 0 + 7) / 2
        features = descriptor(flat(color))
        assert np.flatnonzero(features).tolist() == [bin_]
        assert features[bin_] == top


# Worked examples: one edge

EDGES = {
    1: [[90, 110], [110, 90]],  # 2 |90 - 110 - 110 + 90| = 80, the others 0
    2: [[90, 90], [110, 110]],  # |90 + 90 - 110 - 110| = 40, diagonals sqrt(2) * 20 = 28.3: 0.71
    3: [[90, 110], [90, 110]],
    4: [[90, 100], [100, 120]],  # 20, 30, 30, sqrt(2) * 30 = 42.4: the main diagonal; 0
    5: [[100, 90], [120, 100]],
}


@pytest.mark.parametrize("texture", EDGES)
def test_cedd_of_one_edge(texture):
    # The mean is gray, 100 or 102; each of 40 x 40 blocks of 2 x 2 is the same, so one bin has all.
    features = cedd(tiled(EDGES[texture]))
    assert np.flatnonzero(features).tolist() == [24 * texture + GRAY]
    assert features[24 * texture + GRAY] == 7


def test_cedd_needs_an_edge_of_14():
    assert np.flatnonzero(cedd(tiled([[100, 103], [103, 100]]))).tolist() == [GRAY]  # 2 * 6 = 12
    assert np.flatnonzero(cedd(tiled([[100, 104], [103, 100]]))).tolist() == [24 + GRAY]  # 2 * 7 = 14


def test_a_block_may_have_several_textures():
    # 40, 144 / 144, 180: no direction 2 * 68 = 136, axes 140, diagonals sqrt(2) * 140 = 198 and 0; 136/198 = 0.687.
    assert plain.edges(tiled([[40, 144], [144, 180]], 2, 2)) == [1, 4]
    features = cedd(tiled([[40, 144], [144, 180]]))
    assert np.flatnonzero(features.reshape(6, 24).sum(1)).tolist() == [1, 4]


def test_fcth_of_one_edge():
    # Blocks of 4 x 4 with 1 x 1 cells. Rows 100, 190: in each 2 x 2, p + q - r - s = -180, as a byte 180 - 256 = -76,
    # so F1 = 76: low (80 - 76) / 60, high (76 - 20) / 60; F2 = F3 = 0. Textures 0 and 1 have 1/15 and 14/15 of all.
    features = fcth(tiled([[100] * 4, [190] * 4] * 2)).reshape(8, 24)
    assert plain.haar(tiled([[100] * 4, [190] * 4] * 2, 4, 4))[:2] == pytest.approx([4 / 60, 56 / 60])
    assert np.flatnonzero(features.sum(1)).tolist() == [0, 1]
    assert features[1, GRAY] == 7
    assert features[0, GRAY] == 4  # 1/15 = 0.0667 is between 0.0431 and 0.0832, nearer to the latter


def test_fcth_wraps_differences_to_a_signed_byte():
    # 128 becomes -128, and 255 - 0 twice is 510, which is -2: no texture at all.
    assert plain.haar(tiled([[0] * 4, [255] * 4] * 2, 4, 4)) == [1, 0, 0, 0, 0, 0, 0, 0]
    assert not fcth(tiled([[0] * 4, [255] * 4] * 2)).reshape(8, 24)[1:].any()


def test_fcth_leaves_out_the_last_row_and_column_of_blocks():
    image = flat((255, 255, 255), 80, 80)  # blocks start at 0, 4, ..., 72 < 76
    image[76:] = image[:, 76:] = 0
    assert np.flatnonzero(fcth(image)).tolist() == [WHITE]
    image[72:] = 0
    assert BLACK in np.flatnonzero(fcth(image))


def test_cedd_ignores_pixels_beyond_the_last_block():
    image = flat((255, 255, 255), 119, 120)  # blocks of 2 x 2, 40 x 40 of them
    image[80:] = image[:, 80:] = 0
    assert np.flatnonzero(cedd(image)).tolist() == [WHITE]


def test_jcd_joins_rows():
    image = patches(90, 100, seed=3)
    c, f, j = cedd(image).reshape(6, 24), fcth(image).reshape(8, 24).astype(int), jcd(image).reshape(7, 24)
    assert j[0].tolist() == ((f[0] + f[4] + c[0]) / 2).tolist()
    assert j[2].tolist() == c[4].tolist()
    assert j[6].tolist() == c[1].tolist()


def test_a_pyramid_has_quarters_by_row_and_sixteenths_by_column():
    image = flat((255, 255, 255), 160, 160)
    image[80:, :80] = (255, 0, 0)  # the lower left: the third quarter
    image[:40, 40:80] = (0, 0, 255)  # the first row, second column: the fifth sixteenth
    parts = cedd_spy(image).reshape(21, 144)
    assert parts[0].tolist() == cedd(image).tolist()
    assert [np.flatnonzero(part).tolist() for part in parts[2:5]] == [[WHITE], [PURE_RED], [WHITE]]
    assert np.flatnonzero(parts[5 + 4]).tolist() == [PURE_BLUE]
    assert np.flatnonzero(parts[5 + 1]).tolist() == [WHITE]


# Against plain loops


@pytest.mark.parametrize("name", COMPOSITE)
@pytest.mark.parametrize("shape", [(12, 17), (41, 46), (83, 90)])
def test_descriptors_equal_plain_loops(name, shape):
    image = patches(*shape, seed=shape[0])
    assert COMPOSITE[name][0](image).tolist() == list(getattr(plain, name)(image))


def test_blocks_with_uneven_cells_equal_plain_loops():
    image = patches(45, 10 * 41, seed=5)  # cells of 2, 3, 2 and 3 columns
    assert fcth(image).tolist() == plain.fcth(image)


# Contract and sizes


@pytest.mark.parametrize("name", COMPOSITE)
def test_rankers_keep_the_contract(name):
    check_ranker(RANKERS[name]())


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 2), (5, 4), (5, 5), (17, 23)])
@pytest.mark.parametrize("name", COMPOSITE)
def test_length_and_type_are_the_same_for_all_sizes(name, shape):
    features = COMPOSITE[name][0](patches(*shape, seed=0))
    assert features.shape == (LENGTHS[name],)
    assert features.dtype == (np.float32 if name == "jcd" else np.uint8)


def test_an_image_without_blocks_has_zeros():
    assert not cedd(flat(9, 1, 9)).any()
    assert not fcth_spy(flat(9, 4, 9)).any()


@pytest.mark.parametrize("name", COMPOSITE)
def test_invalid_images_are_rejected(name):
    with pytest.raises(InputError, match="Repeat gray"):
        COMPOSITE[name][0](np.zeros((4, 4), np.uint8))


@pytest.mark.parametrize("name", COMPOSITE)
def test_the_image_may_be_read_only(name):
    image = patches(20, 21, seed=1)
    before = image.copy()
    image.setflags(write=False)
    COMPOSITE[name][0](image)
    assert (image == before).all()
