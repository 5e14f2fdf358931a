"""Shape rankers: worked examples, reference loops, and invariances."""

import numpy as np
import plain_shapes as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.errors import InputError
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, DescriptorRanker, UnreadableItemsError
from rankloom.rankers.image.alignments import ALIGNMENTS
from rankloom.rankers.image.contour import contour, silhouette
from rankloom.rankers.image.shape import SHAPE, air_affine, asc, bas, cfd_like, idsc, shape_context, ss
from rankloom.threads import running


def image_of(mask):
    return np.repeat((255 * np.asarray(mask, np.uint8))[..., None], 3, axis=2)


def blob(seed, size=60):
    """Return the image of a smooth shape without symmetry: a radius with four random waves."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    angle = np.arctan2(y, x)
    waves = sum(random.uniform(-0.25, 0.25) * np.cos(k * angle + random.uniform(0, 6)) for k in (1, 2, 3, 5))
    return image_of(np.hypot(y, x) < 0.3 * size * (1 + waves))


def u_shape():
    mask = np.ones((40, 40), bool)
    mask[:30, 12:28] = False
    return image_of(mask)


# Worked examples


def test_at_the_corner_of_a_square_the_others_are_within_90_degrees():
    # The contour starts at a corner, the top left one. The tangent there, from the point before to the point after,
    # runs up and to the right, at -45 degrees; the others lie from 0 (along the top) to 90 (down the left side), which
    # is 45 to 135 degrees from it: bins 30-60 to 120-150, the eighth to the eleventh. The corner opposite is at 90.
    counts = shape_context(image_of(np.ones((50, 50))))[0].reshape(8, 12).sum(axis=0)
    assert counts.sum() == 99
    assert counts[[7, 8]].sum() + counts[[9, 10]].sum() == 99
    assert abs(int(counts[7]) - int(counts[10])) <= 1  # the same on both sides of the diagonal


def test_inner_distances_go_around_a_gap():
    # The tips of a U face each other over the gap. As the crow flies they are near; inside they are far.
    def far(counts):
        return counts.reshape(100, 8, 12).sum(axis=2)[:, 6:].sum()

    assert far(idsc(u_shape())) > far(shape_context(u_shape()))
    assert np.array_equal(idsc(image_of(np.ones((30, 20)))), shape_context(image_of(np.ones((30, 20)))))


def test_asc_and_air_affine_are_two_contexts_side_by_side():
    image = u_shape()
    np.testing.assert_array_equal(asc(image), np.hstack([shape_context(image), idsc(image)]))
    np.testing.assert_array_equal(air_affine(image)[:, :96], idsc(image))
    assert not np.array_equal(air_affine(blob(1))[:, 96:], idsc(blob(1)))


def test_asc_is_the_better_of_two_and_air_affine_the_sum():
    images = [blob(seed) for seed in range(4)]
    inner, straight, least, added = (distances(name, images) for name in ("idsc", "shape_context", "asc", "air_affine"))
    np.testing.assert_array_equal(least, np.minimum(inner, straight))
    assert (added >= inner).all()


def test_beams_of_a_disk_see_the_angle_of_its_chords():
    # On a circle of n points, the angle between the beams to i + k and i - k is pi - 2 pi k / n: the mean is 90 degrees
    # and the spread that of equal steps from 180 to 0, 180 / sqrt(12) = 52.
    disk = np.hypot(*np.mgrid[-150:151, -150:151]) <= 150
    statistics = bas(image_of(disk))
    np.testing.assert_allclose(statistics[:, 0], 90, atol=2)
    np.testing.assert_allclose(statistics[:, 1], 180 / np.sqrt(12), atol=2)


def test_convex_runs_are_salient_and_concave_ones_negative():
    mask = np.ones((60, 60), bool)
    mask[:30, 30:] = False  # an L: five convex corners and a concave one
    saliences = ss(image_of(mask))[:, 0]
    assert saliences.sum() == pytest.approx(0, abs=1e-3)  # both shares sum to 1
    assert np.count_nonzero(saliences > 1) in range(5, 11)  # five corners, each in one or two runs
    assert saliences.min() < -1.5
    assert saliences.argmin() not in np.flatnonzero(saliences > 1)


@pytest.mark.parametrize("name", SHAPE)
def test_holes_do_not_count(name):
    ring = np.ones((60, 60), bool)
    ring[20:40, 20:40] = False
    np.testing.assert_array_equal(SHAPE[name][0](image_of(ring)), SHAPE[name][0](image_of(np.ones((60, 60)))))


def test_contour_features_of_a_disk_are_constant():
    disk = np.hypot(*np.mgrid[-150:151, -150:151]) <= 150
    features = cfd_like(image_of(disk))
    np.testing.assert_allclose(features[:, 0], 2, atol=0.02)
    for column, k in enumerate((3, 6, 12, 25)):
        # Angle (pi - 2 pi k / n) / 2 pi; chord 2 r sin(2 pi k / n) over 2 k steps of 2 r sin(pi / n).
        np.testing.assert_allclose(features[:, 1 + 2 * column], 0.5 - k / 100, atol=0.02)
        chord = 2 * np.sin(2 * np.pi * k / 100) / (2 * k * 2 * np.sin(np.pi / 100))
        np.testing.assert_allclose(features[:, 2 + 2 * column], chord, atol=0.08)  # the contour has steps of pixels


# Against reference loops


@pytest.mark.parametrize(
    "image",
    [u_shape(), *(pytest.param(image, marks=pytest.mark.long) for image in (blob(3), blob(8, size=90)))],
    ids=["u", "blob", "large blob"],
)
def test_contexts_equal_reference_loops(image):
    mask = silhouette(image)
    points = contour(mask, 100)
    for descriptor, inside in ((idsc, mask), (shape_context, np.ones_like(mask))):
        expected, doubtful = plain.contexts(points, plain.inner_paths(inside, points))
        differ = np.abs(descriptor(image).astype(int) - expected).sum(axis=1) / 2
        assert (differ <= doubtful).all()  # on the edge of a bin, rounding decides
        assert doubtful.mean() < 30


def test_beam_statistics_equal_reference_loops():
    for image in (blob(5), u_shape()):
        expected = plain.beam_statistics(contour(silhouette(image), 200))[::5]
        np.testing.assert_allclose(bas(image), expected, atol=1.001)  # cut to integers


# Invariances

TRANSFORMATIONS = {
    "rotated": np.rot90,
    "upside down": lambda image: np.rot90(image, 2),
    "mirrored": lambda image: image[:, ::-1],
    "transposed": lambda image: image.swapaxes(0, 1),
    "moved": lambda image: np.pad(image, ((9, 0), (0, 21), (0, 0))),
    "twice as large": lambda image: image.repeat(2, axis=0).repeat(2, axis=1),
}


def distances(name, images, others=None):
    """Return the distances of a shape ranker."""
    descriptor, alignment, penalty = SHAPE[name]
    ranker = RANKERS[name]()
    assert (ranker.described.vector, ranker.compared.penalty) == (descriptor, penalty)
    stack = np.stack([ranker.describe(image) for image in images])
    other = None if others is None else np.stack([ranker.describe(image) for image in others])
    assert ranker.compared.cost == ALIGNMENTS[alignment].cost
    return ranker.compared(stack, other)


@pytest.mark.parametrize("change", TRANSFORMATIONS)
@pytest.mark.parametrize("name", SHAPE)
def test_a_changed_silhouette_is_nearest_to_the_original(name, change):
    images = [blob(seed) for seed in range(6)]
    changed = [np.ascontiguousarray(TRANSFORMATIONS[change](image)) for image in images]
    table = distances(name, changed, images)
    assert table.argmin(axis=1).tolist() == list(range(6))
    others = table[~np.eye(6, dtype=bool)]
    exact = change in ("moved",)
    assert (np.diag(table) <= (0 if exact else 0.5 * others.mean())).all()


@pytest.mark.parametrize("name", ["ss", "bas", "cfd_like"])
def test_rotations_by_90_degrees_change_next_to_nothing(name):
    images = [blob(seed) for seed in range(6)]
    table = distances(name, [np.ascontiguousarray(np.rot90(image)) for image in images], images)
    assert np.diag(table).max() < 0.1 * table[~np.eye(6, dtype=bool)].mean()


@given(st.integers(1, 4), st.integers(1, 6))
def test_tiny_silhouettes_have_finite_descriptors(height, width):
    for name, (descriptor, _, _) in SHAPE.items():
        assert np.isfinite(descriptor(image_of(np.ones((height, width))))).all(), name


# As rankers


def test_an_image_without_foreground_is_named_and_the_others_are_cached(tmp_path):
    images = [blob(1), np.zeros((9, 9, 3), np.uint8), blob(2)]
    cache = Cache(tmp_path)
    with pytest.raises(UnreadableItemsError, match="Cannot read 1 of the items: The image has no foreground") as caught:
        RANKERS["bas"]().fit(images, cache=cache)
    assert list(caught.value.reasons) == [1]
    fitted = RANKERS["bas"]().fit(images[::2], cache=cache)
    np.testing.assert_array_equal(fitted.vectors, [bas(image).ravel() for image in images[::2]])
    with pytest.raises(InputError, match="Cannot read the queries: The image has no foreground"):
        fitted.rank(queries=images[1:2])


def test_cached_sequences_have_the_same_bits(tmp_path):
    images, cache = [blob(seed) for seed in range(3)], Cache(tmp_path)
    first, second = (RANKERS["idsc"]().fit(images, cache=cache) for _ in range(2))
    assert first.vectors.dtype == second.vectors.dtype == np.uint8
    assert first.vectors.tobytes() == second.vectors.tobytes()


@pytest.mark.parametrize("name", ["idsc", "ss"])
def test_an_updated_or_restored_ranker_gives_the_same_lists(name):
    images = [blob(seed) for seed in range(6)]
    ranker = RANKERS[name]()
    whole = ranker.fit(images)
    expected = whole.rank()
    for same in (
        ranker.fit(images[:4]).appended(images[4:]),
        ranker.fit([*images[3:], *images[:3]]).subset(np.array([3, 4, 5, 0, 1, 2])),
        ranker.restored(whole.arrays()),
    ):
        ranks = same.rank()
        np.testing.assert_array_equal(ranks.items, expected.items)
        np.testing.assert_array_equal(ranks.scores, expected.scores)
    rows = whole.rank_items(np.array([4, 2]), among=np.array([0, 2, 5]))
    np.testing.assert_array_equal(rows.scores[1, 0], 0)
    np.testing.assert_array_equal(
        rows.scores[0], [s for i, s in zip(*both(expected, 4), strict=True) if i in (0, 2, 5)]
    )


def both(ranks, row):
    return ranks.items[row].tolist(), ranks.scores[row].tolist()


def test_progress_counts_compared_images():
    steps = []
    with running(progress=lambda *step: steps.append(step)):
        RANKERS["bas"]().fit([blob(seed) for seed in range(6)]).rank()
    assert ("Comparing images", 6, 6) in steps


def test_the_penalty_is_an_option():
    images = [blob(seed) for seed in range(5)]
    assert RANKERS.make("ss(penalty=1)").compared.penalty == 1
    default, other = (RANKERS.make(name).fit(images).rank().scores for name in ("ss", "ss(penalty=1)"))
    assert not np.array_equal(default, other)
    with pytest.raises(InputError, match="penalty must be a finite number above 0"):
        RANKERS.make("ss(penalty=0)")


def test_your_own_sequence_is_aligned():
    ranker = DescriptorRanker("gray", lambda image: image[:4, 0, :1] / 255, "features")
    images = [np.full((4, 1, 3), 10, np.uint8), np.full((4, 1, 3), 14, np.uint8), np.full((4, 1, 3), 11, np.uint8)]
    images[0][0] = images[2][3] = 200  # the same, from another start; 10 and 11 are nearer than 10 and 14
    with pytest.raises(InputError, match="must return vectors of the same length; got 4x1 and 24x20"):
        DescriptorRanker("rows", lambda image: image[:, :, 0], "features").fit(images)
    assert ranker.fit(images).rank(depth=2).items.tolist() == [[0, 2], [1, 2], [2, 0]]
    with pytest.raises(InputError, match=r"must return an array of shape \(points, features\); got an array of shape"):
        DescriptorRanker("vector", lambda image: image[0, 0], "features").fit([])


def test_an_empty_collection_has_empty_lists():
    assert RANKERS["bas"]().fit([]).rank().items.shape == (0, 0)
