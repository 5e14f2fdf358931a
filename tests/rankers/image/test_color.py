"""Color descriptors: worked examples, reference loops, and invariances."""

import numpy as np
import plain_descriptors as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloom import Ranks, evaluate
from rankloom.errors import InputError
from rankloom.rankers.image.color import COLOR, acc, acc_dlog, bic, gch, jac, scd
from rankloom.rankers.image.texture import TEXTURE
from rankloom.rankers.vectors.distances import DISTANCES

LENGTHS = {"gch": 64, "bic": 128, "acc": 256, "acc_dlog": 256, "jac": 32000, "scd": 256}
LENGTHS |= {"lbp": 10, "lbp_match": 10, "ccom": 23436, "las": 256, "htd": 60, "qcch": 40}
ALL = COLOR | TEXTURE

BLACK, WHITE, RED = (0, 0, 0), (255, 255, 255), (255, 0, 0)  # colors 0, 63 and 48 of 64


def image_of(*rows):
    return np.array(rows, np.uint8)


def noise(height, width, seed=0, levels=256):
    """Return an image of random pixels; with few `levels`, neighbors are often equal."""
    steps = np.random.default_rng(seed).integers(0, levels, (height, width, 3))
    return (steps * 255 // max(levels - 1, 1)).astype(np.uint8)


images = arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)), elements=st.integers(0, 255))


# Worked examples


def test_gch_counts_colors():
    features = gch(image_of([BLACK, WHITE, RED, RED]))
    assert features[[0, 63, 48]].tolist() == [1 / 4, 1 / 4, 2 / 4]
    assert features.sum() == 1


def test_bic_separates_border_and_interior():
    # 5 x 5 black with a white corner: 9 pixels are not on the edge, and none of them is next to the corner.
    # Interior black: 255 * 9/25 = 91.8, <= 2^7: 8. Border black: 255 * 15/25 = 153, <= 2^8: 9.
    # Border white: 255 * 1/25 = 10.2, <= 2^4: 5.
    image = np.zeros((5, 5, 3), np.uint8)
    image[0, 0] = WHITE
    features = bic(image)
    assert features[[0, 64, 64 + 63]].tolist() == [8, 9, 5]
    assert np.count_nonzero(features) == 3


def test_bic_pixels_next_to_another_color_are_border():
    # 3 x 3 black, the middle white: nothing is interior. White: 255/9 = 28.3, <= 2^5: 6; black: 226.7: 9.
    image = np.zeros((3, 3, 3), np.uint8)
    image[1, 1] = WHITE
    features = bic(image)
    assert features[[64, 64 + 63]].tolist() == [9, 6]
    assert np.count_nonzero(features) == 2


@pytest.mark.parametrize("power", range(5))
def test_bic_levels_are_exact_at_powers_of_two(power):
    # 15 x 17 pixels: the first n white are 255 n / 255 = n, and up to 17 of them are all border. f(1) is 1, f(2) is 2,
    # f(4) is 3, ...
    image = np.zeros((15, 17, 3), np.uint8)
    image.reshape(-1, 3)[: 2**power] = WHITE
    assert bic(image)[64 + 63] == power + 1


def test_acc_dlog_is_exact_at_powers_of_two():
    # 15 x 17 pixels, 4 pairs of white neighbors: 255 * 2 * 4 / (8 * 255) = 1, and f(1) is 1.
    image = np.zeros((15, 17, 3), np.uint8)
    for row in (0, 3, 6, 9):
        image[row, :2] = WHITE
    assert acc_dlog(image).reshape(64, 4)[63, 0] == 1


def test_acc_is_the_fraction_of_equal_neighbors():
    # One row: black black white black. At distance 1: the first two see each other, 2 of 3 * 8 neighbors.
    # At distance 3: first and last, 2 of 3 * 24.
    features = acc(image_of([BLACK, BLACK, WHITE, BLACK])).reshape(64, 4)
    assert features[0].tolist() == pytest.approx([2 / 24, 2 / 72, 0, 0])
    assert not features[1:].any()


def test_acc_dlog_divides_by_all_pixels():
    # The same row: 2 / (4 * 8) * 255 = 15.9, <= 2^4: 5; 2 / (4 * 24) * 255 = 5.3, <= 2^3: 4.
    features = acc_dlog(image_of([BLACK, BLACK, WHITE, BLACK])).reshape(64, 4)
    assert features[0].tolist() == [5, 4, 0, 0]
    assert not features[1:].any()


def test_jac_parts_pixels_of_one_color_by_their_surroundings():
    # One row: black black white. Black pixels differ: the first has gradient 0, the second 255.
    assert not jac(image_of([BLACK, BLACK, WHITE])).any()
    # black black white white black black: the first and the last pixel are alike, at distance 5 (1 of 40 neighbors);
    # so are the second and the fifth (distance 3, 1 of 24) and the two white ones (distance 1, 1 of 8).
    features = jac(image_of([BLACK, BLACK, WHITE, WHITE, BLACK, BLACK])).reshape(-1, 4)
    assert sorted(features[features > 0].tolist()) == pytest.approx([1 / 40, 1 / 24, 1 / 8])
    # White: hue 0, saturation 0, value 1: color 1; gradient 255: 4; of 4 neighbors in 5 x 5, 3 are darker: level 0
    assert features[(((1 * 5 + 4) * 5) + 0) * 5 + 0, 0] == pytest.approx(1 / 8)


def test_scd_is_sums_and_differences_of_neighboring_bins():
    # Red and green, half each: both bins are over 0.4, so 15; bins (hue, saturation, value) = (0, 3, 3) and (5, 3, 3).
    features = scd(image_of([RED, (0, 255, 0)]))
    assert features[0] == 30
    # Of 16 hues: 0 and 5 meet when there are 2 left (0..7 and 8..15), so the last two differences are
    # hues 8..15 - 0..7 = -30 and, one finer, (4..7) - (0..3) = 15 - 15 = 0.
    assert features[1] == -30
    assert features[2:4].tolist() == [0, 0]
    # The finest are 128 differences of hues 2k+1 and 2k: (0,1) gives -15 and (4,5) gives +15.
    assert sorted(features[128:][features[128:] != 0].tolist()) == [-15, 15]


# Against plain loops


@pytest.mark.parametrize("name", ["gch", "bic", "acc", "acc_dlog", "scd", "jac"])
@pytest.mark.parametrize(("height", "width", "levels"), [(9, 8, 3), (5, 12, 256), (1, 9, 2), (16, 2, 2)])
def test_descriptors_equal_plain_loops(name, height, width, levels):
    image = noise(height, width, seed=height, levels=levels)
    np.testing.assert_allclose(COLOR[name][0](image), getattr(plain, name)(image), rtol=1e-6, atol=1e-7)


# Invariances


@given(images, st.randoms(use_true_random=False))
def test_gch_and_scd_are_invariant_to_pixel_positions(image, random):
    pixels = image.reshape(-1, 3).tolist()
    random.shuffle(pixels)
    other = np.array(pixels, np.uint8)[None]
    assert gch(image).tolist() == gch(other).tolist()
    assert scd(image).tolist() == scd(other).tolist()


@pytest.mark.parametrize("name", ["bic", "acc", "acc_dlog", "jac", "ccom", "lbp", "qcch"])
@given(image=images)
def test_rotation_and_mirroring_invariance(name, image):
    descriptor = ALL[name][0]
    for other in (np.rot90(image), image[:, ::-1], image[::-1]):
        np.testing.assert_array_equal(descriptor(other.copy()), descriptor(image))


def test_spatial_descriptors_depend_on_pixel_positions():
    image = noise(16, 16, levels=2)
    image[:8] = 0
    shuffled = np.random.default_rng(1).permutation(image.reshape(-1, 3)).reshape(image.shape)
    for descriptor in (bic, acc, acc_dlog, jac):
        assert descriptor(image).tolist() != descriptor(shuffled).tolist()


@pytest.mark.parametrize("name", ["gch", "scd", "bic", "acc", "jac"])
def test_a_shift_within_a_bin_changes_nothing(name):
    image = (noise(12, 12) // 128) * 128  # 0 and 128 in each channel; adding 1 stays in the bin, and gray stays gray
    image[:] = image[..., :1]
    assert COLOR[name][0](image).tolist() == COLOR[name][0](image + np.uint8(1)).tolist()


# Sizes, types and errors


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (3, 2), (2, 2), (3, 3), (4, 5), (17, 23)])
@pytest.mark.parametrize("name", ALL)
def test_length_and_type_are_the_same_for_all_sizes(name, shape):
    features = ALL[name][0](noise(*shape))
    assert features.shape == (LENGTHS[name],)
    assert features.dtype == (np.uint8 if name in ("bic", "acc_dlog") else np.float32)
    assert np.isfinite(features).all()


@pytest.mark.parametrize("name", ALL)
def test_the_image_may_be_read_only(name):
    image = noise(6, 7)
    before = image.copy()
    image.setflags(write=False)
    ALL[name][0](image)
    assert (image == before).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((4, 4), np.uint8), r"shape \(height, width, 3\); got \(4, 4\). Repeat gray"),
        (np.zeros((4, 4, 4), np.uint8), r"got \(4, 4, 4\). Convert it to RGB"),
        (np.zeros((4, 4, 3)), "uint8, 0 to 255; got float64"),
        (np.zeros((0, 4, 3), np.uint8), "at least one pixel"),
    ],
)
def test_invalid_photosare_rejected(name, image, message):
    with pytest.raises(InputError, match=message):
        ALL[name][0](image)


def test_every_descriptor_has_a_distance():
    from rankloom.ranks.vector_space import METRICS

    assert {distance for _, distance in ALL.values()} <= METRICS.keys() | DISTANCES.keys()


def test_color_descriptors_find_soccer_teams(shared):
    from PIL import Image

    folder = shared / "data" / "soccer" / "images"
    paths = sorted(path for team in ("acmilan", "barcelona", "madrid") for path in (folder / team).glob("0[1-6].jpg"))
    photos = []
    for path in paths:
        with Image.open(path) as file:
            photos.append(np.asarray(file.convert("RGB")))
    labels = [path.parent.name for path in paths]
    chance = 6 / 18
    for name in ("gch", "bic", "acc_dlog"):
        ranks = Ranks.from_vectors(np.stack([COLOR[name][0](image) for image in photos]), metric="l1")
        assert evaluate(ranks, labels=labels, measures=["p@6"])["p@6"] > 1.3 * chance
