"""Silhouettes and contours: worked examples, a reference loop, and invariances."""

import numpy as np
import plain_shapes as plain
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloom.datasets.images import ImageError
from rankloom.errors import InputError
from rankloom.rankers.image.contour import contour, contour_pixels, largest_component, scaled, silhouette, whitened


def mask_of(*rows):
    """Return a framed mask from text."""
    return np.pad(np.array([[letter == "#" for letter in row] for row in rows]), 2)


def image_of(mask, light=255):
    return np.repeat((light * mask.astype(np.uint8))[..., None], 3, axis=2)


masks = arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9)))


def test_foreground_is_lighter_than_127():
    image = np.zeros((1, 4, 3), np.uint8)
    image[0, :, :] = np.array([127, 128, 255, 127])[:, None]
    assert silhouette(image)[2].tolist() == [False, False, True, True, False, False]


def test_only_the_largest_component_counts_and_diagonals_connect():
    found = silhouette(image_of(np.array([[1, 0, 0, 0, 1], [0, 0, 0, 1, 0], [1, 0, 0, 0, 0]])))
    np.testing.assert_array_equal(found, mask_of(".#", "#."))


def test_a_dark_image_has_no_shape():
    with pytest.raises(ImageError, match="has no foreground: no pixel has a gray level of 128 or more"):
        silhouette(image_of(np.ones((3, 3)), light=127))
    assert issubclass(ImageError, InputError)


def test_a_light_image_is_a_rectangle():
    np.testing.assert_array_equal(silhouette(image_of(np.ones((3, 5)))), np.pad(np.ones((3, 5), bool), 2))


def test_the_contour_runs_clockwise_around_the_outside():
    #   0 1 2        From the top left pixel, as far from the mean as the other corners: along the top, down the right
    # 0 # # #        side, back along the bottom and up. The hole in the middle has no contour.
    # 1 # . #
    # 2 # # #
    square = contour_pixels(mask_of("###", "#.#", "###")) - 2
    assert square.tolist() == [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2], [2, 1], [2, 0], [1, 0]]


def test_a_thin_part_is_passed_on_both_sides():
    assert (contour_pixels(mask_of("####")) - 2)[:, 1].tolist() == [0, 1, 2, 3, 2, 1]
    assert (contour_pixels(mask_of("#")) - 2).tolist() == [[0, 0]]
    # Diagonal neighbors are connected: over both pixels of the diagonal and back.
    assert (contour_pixels(mask_of("#.", ".#")) - 2).tolist() == [[0, 0], [1, 1]]


@given(masks)
def test_the_contour_has_every_boundary_pixel_in_adjacent_steps(mask):
    assume(mask.any())
    one = largest_component(mask)
    pixels = contour_pixels(one)
    assert set(map(tuple, pixels.tolist())) == plain.boundary(one)
    if len(pixels) > 1:
        steps = pixels - np.roll(pixels, 1, axis=0)
        assert (np.abs(steps).max(axis=1) == 1).all()


@given(masks)
def test_a_rotated_silhouette_has_a_rotated_contour(mask):
    assume(mask.any())
    one = largest_component(mask)
    pixels, turned = contour_pixels(one), contour_pixels(np.rot90(one))
    back = np.stack([turned[:, 1], one.shape[1] - 1 - turned[:, 0]], axis=1)
    assert any(np.array_equal(np.roll(back, shift, axis=0), pixels) for shift in range(len(pixels)))


def test_the_first_point_is_the_farthest_from_the_mean():
    pixels = contour_pixels(mask_of(".....", "#####", "###..")) - 2
    assert pixels[0].tolist() == [1, 4]


def test_points_are_at_equal_distances_along_the_contour():
    # A rectangle of 4 x 2 steps has 12 along its contour: every third of a step at 36 points.
    points = contour(mask_of("#####", "#####", "#####"), 36)
    steps = np.hypot(*(points - np.roll(points, 1, axis=0)).T)
    np.testing.assert_allclose(steps, 12 / 36)


def test_a_single_pixel_has_equal_points():
    assert contour(mask_of("#"), 5).tolist() == [[2.0, 2.0]] * 5


def test_scaling_takes_the_nearest_pixel():
    np.testing.assert_array_equal(scaled(mask_of("##", "#."), 4), mask_of("####", "####", "##..", "##.."))
    np.testing.assert_array_equal(scaled(mask_of("####", "####", "##..", "##.."), 2), mask_of("##", "#."))
    assert scaled(mask_of("#" * 50), 10).shape == (5, 14)  # never thinner than a pixel


def test_whitening_makes_second_moments_equal():
    y, x = np.mgrid[:60, :90]
    tilted = largest_component(((y - 30) / 20 + (x - 45) / 60) ** 2 + ((x - 45) / 30) ** 2 < 1)
    covariance = np.cov(np.argwhere(whitened(tilted, 220)).T)
    assert covariance[0, 0] == pytest.approx(covariance[1, 1], rel=0.02)
    assert abs(covariance[0, 1]) < 0.02 * covariance[0, 0]
