"""Image rankers: each image is described once, on any number of threads, and unreadable ones are named."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rankloom.datasets.images import ImageFile
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, DescriptorRanker, UnreadableItemsError, check_ranker, traits_of
from rankloom.rankers.contract import sample_items
from rankloom.rankers.image import descriptor_ranker, image_features
from rankloom.rankers.vectors.distances import COMPARISONS, DISTANCES
from rankloom.ranks.vector_space import VectorSpace
from rankloom.threads import running

Image = pytest.importorskip("PIL.Image")


class Mean:
    """The mean color; counts its calls for images of `save`."""

    def __init__(self):
        self.calls = 0

    def __call__(self, image):
        self.calls += image.shape == (8, 9, 3)
        return image.mean(axis=(0, 1))


def ranker(descriptor=None, distance="l2", **options):
    return DescriptorRanker("mean", descriptor or Mean(), distance, **options)


def save(folder, n, first=0):
    """Write n distinct images and return them."""
    random = np.random.default_rng(first)
    for number in range(first, first + n):
        Image.fromarray(random.integers(0, 256, (8, 9, 3), np.uint8)).save(folder / f"{number}.png")
    return [ImageFile(folder / f"{number}.png") for number in range(first, first + n)]


def described(mean, fit):
    """Return how many images `fit` describes, and its result."""
    mean.calls = 0
    fitted = fit()
    return mean.calls, fitted


def test_nearest_images_come_first():
    images = [np.full((3, 2, 3), gray, np.uint8) for gray in (0, 200, 60, 210)]
    ranks = ranker().fit(images).rank(depth=3)
    assert ranks.items.tolist() == [[0, 2, 1], [1, 3, 2], [2, 0, 1], [3, 1, 2]]
    np.testing.assert_allclose(ranks.scores[1], [0, -10 * 3**0.5, -140 * 3**0.5], rtol=1e-6)


@pytest.mark.parametrize("distance", ["l1", "l2", *DISTANCES])
def test_lists_equal_a_plain_sort(distance):
    vectors = np.random.default_rng(0).random((30, 7))
    vectors[:, 3] = 0
    plain = {"l1": lambda x, y: cdist(x, y, "cityblock"), "l2": cdist, **DISTANCES}[distance](vectors, vectors)
    order = np.argsort(plain.astype(np.float32), axis=1, kind="stable")[:, :9]
    fitted = ranker(distance=distance).restored(VectorSpace.of(vectors, COMPARISONS[distance]).arrays())
    np.testing.assert_array_equal(fitted.rank(depth=9).items, order)
    np.testing.assert_array_equal(fitted.rank_vectors(vectors[4:6], depth=9).items, order[4:6])


def test_an_external_query_may_be_a_file_bytes_or_an_array(tmp_path):
    images = save(tmp_path, 4)
    fitted = ranker().fit(images)
    queries = [images[2], images[2].path, images[2].path.read_bytes(), images[2].load()]
    found = fitted.rank(queries=queries, depth=1)
    assert found.items.tolist() == [[2]] * 4
    assert found.n_items == 4


def test_a_second_run_describes_only_added_images(tmp_path):
    mean, cache = Mean(), Cache(tmp_path / "cache")
    images = save(tmp_path, 5)
    calls, first = described(mean, lambda: ranker(mean).fit(images, cache=cache))
    assert calls == 5
    calls, second = described(mean, lambda: ranker(mean).fit(images, cache=cache))
    assert calls == 0
    np.testing.assert_array_equal(first.vectors, second.vectors)
    images[2:2] = save(tmp_path, 1, first=50)
    calls, third = described(mean, lambda: ranker(mean).fit(images, cache=cache))
    assert calls == 1
    np.testing.assert_array_equal(np.delete(third.vectors, 2, axis=0), first.vectors)
    np.testing.assert_array_equal(third.vectors, ranker().fit(images).vectors)


def test_cached_vectors_are_keyed_by_content_not_path(tmp_path):
    mean, cache = Mean(), Cache(tmp_path / "cache")
    images = save(tmp_path, 3)
    ranker(mean).fit(images, cache=cache)
    moved = [ImageFile(one.path.rename(tmp_path / f"moved-{one.path.name}")) for one in images]
    assert described(mean, lambda: ranker(mean).fit(moved[::-1], cache=cache))[0] == 0
    moved[0].path.write_bytes(save(tmp_path, 1, first=9)[0].path.read_bytes())
    assert described(mean, lambda: ranker(mean).fit(moved, cache=cache))[0] == 1


def test_copies_are_described_once(tmp_path):
    mean, images = Mean(), save(tmp_path, 2)
    calls, fitted = described(mean, lambda: ranker(mean).fit(images * 3, cache=Cache(tmp_path / "cache")))
    assert (calls, len(fitted.vectors)) == (2, 6)


def test_the_cache_fills_its_last_file(tmp_path, monkeypatch):
    monkeypatch.setattr(image_features, "SEGMENT", 4)
    mean, cache = Mean(), Cache(tmp_path / "cache")
    images = save(tmp_path, 6)
    for n in (2, 3, 6):
        ranker(mean).fit(images[:n], cache=cache)
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == 2
    assert described(mean, lambda: ranker(mean).fit(images, cache=cache))[0] == 0


def test_a_damaged_cache_file_is_recomputed(tmp_path):
    mean, cache = Mean(), Cache(tmp_path / "cache")
    images = save(tmp_path, 3)
    ranker(mean).fit(images, cache=cache)
    [file] = (tmp_path / "cache").rglob("*.npz")
    whole = dict(np.load(file))
    file.write_bytes(file.read_bytes()[:99])
    assert described(mean, lambda: ranker(mean).fit(images, cache=cache))[0] == 3
    assert described(mean, lambda: ranker(mean).fit(images, cache=cache))[0] == 0
    for wrong in (whole["vectors"][:2], whole["vectors"][:, :2], whole["vectors"].astype(str), np.array(7.0)):
        np.savez(file, digests=whole["digests"], vectors=wrong)
        assert described(mean, lambda: ranker(mean).fit(images, cache=cache))[0] == 3


def test_a_changed_descriptor_does_not_use_old_vectors(tmp_path):
    cache, images = Cache(tmp_path / "cache"), save(tmp_path, 3)
    ranker(lambda image: image.mean(axis=(0, 1))).fit(images, cache=cache)
    fitted = ranker(lambda image: image.max(axis=(0, 1)) * 1.0).fit(images, cache=cache)
    np.testing.assert_array_equal(fitted.vectors[0], images[0].load().max(axis=(0, 1)))


def test_a_descriptor_with_nan_is_named():
    with pytest.raises(InputError, match="The descriptor mean must return finite numbers; got nan"):
        ranker(lambda image: np.array([np.nan])).fit([])


def test_digest_depends_on_the_version(tmp_path, monkeypatch):
    before = ranker().digest()
    monkeypatch.setattr(descriptor_ranker, "__version__", "99")
    assert ranker().digest() != before


def test_digest_sees_changes_for_large_and_flat_images():
    def far(image):  # a distance of 40 pixels
        return np.array([abs(int(image[0, 0, 0]) - int(image[-1, 0, 0])) if len(image) > 40 else 0.0])

    def power_of_two(image):  # 255 * 80 / (120 * 170) is 1
        share = np.float32((image == 255).all(axis=2).mean())
        return np.array([0.0 if 255 * np.float64(share) == 1 else 1.0 * (0.9 < 255 * share < 1.1)])

    nothing = ranker(lambda image: np.zeros(1)).digest()
    assert len({nothing, ranker(far).digest(), ranker(power_of_two).digest()}) == 3


@pytest.mark.parametrize("name", ["bic", "lbp", "acc"])
def test_bits_do_not_depend_on_threads(name):
    images = sample_items("images") * 3
    with running(threads=1):
        one = RANKERS[name]().fit(images)
    with running(threads=5):
        many = RANKERS[name]().fit(images)
    assert one.vectors.tobytes() == many.vectors.tobytes()
    assert one.vectors.dtype == many.vectors.dtype


@pytest.mark.parametrize("cached", [False, True])
def test_unreadable_images_are_named_and_the_others_cached(tmp_path, cached):
    images = save(tmp_path, 4)
    images[1].path.write_bytes(b"not an image")
    images[3].path.unlink()
    mean, cache = Mean(), Cache(tmp_path / "cache" if cached else None)
    with pytest.raises(UnreadableItemsError, match="Cannot read 2 of the items: ") as caught:
        ranker(mean).fit(images, cache=cache)
    assert sorted(caught.value.reasons) == [1, 3]
    assert "1.png is not an image" in caught.value.reasons[1]
    assert "3.png cannot be read: No such file" in caught.value.reasons[3]
    calls, _ = described(mean, lambda: ranker(mean).fit([images[0], images[2]], cache=cache))
    assert calls == (0 if cached else 2)


def test_an_unreadable_query_is_an_error(tmp_path):
    fitted = ranker().fit(save(tmp_path, 2))
    with pytest.raises(InputError, match="Cannot read the queries: The image is not an image") as caught:
        fitted.rank(queries=[b"junk"])
    assert not isinstance(caught.value, UnreadableItemsError)


def test_progress_counts_extracted_vectors(tmp_path):
    steps = []
    with running(threads=1), running(progress=lambda *step: steps.append(step)):
        ranker().fit(save(tmp_path, 9))
    assert steps == [("Extracting mean", done, 9) for done in (4, 8, 9)]


@pytest.mark.parametrize("distance", ["cosine", "dot", "l1", "l2", "d1"])
def test_progress_counts_compared_images(distance, monkeypatch):
    monkeypatch.setattr("rankloom.ranks.nearest.BLOCK_BYTES", 8 * 5 * 2)  # two of five rows at a time
    monkeypatch.setattr("rankloom.ranks.vector_space.MAX_BATCH", 0)  # in float64
    steps = []
    images = [np.full((3, 2, 3), gray, np.uint8) for gray in (0, 50, 100, 150, 200)]
    fitted = ranker(distance=distance).fit(images)
    with running(progress=lambda *step: steps.append(step)):
        fitted.rank()
    assert steps == [("Comparing vectors", done, 5) for done in (2, 4, 5)]


def test_longest_side_reduces_large_images():
    shapes = Counter()

    def shape(image):
        shapes[image.shape] += 1
        return np.zeros(1)

    ranker(shape, longest_side=10).fit([np.zeros((40, 20, 3), np.uint8)])
    assert shapes[(10, 5, 3)] == 1
    assert ranker(longest_side=10).digest() != ranker().digest()


def test_invalid_options_and_descriptors_are_rejected():
    with pytest.raises(UnknownNameError, match="Unknown distance 'l3'; choose from contexts, "):
        ranker(distance="l3")
    with pytest.raises(InputError, match="longest_side must be a whole number, at least 1; got 0"):
        RANKERS["bic"](longest_side=0)
    with pytest.raises(InputError, match="mean must return a vector; got an array of shape"):
        ranker(lambda image: image).fit([])
    with pytest.raises(InputError, match="vectors of the same length; got"):
        ranker(lambda image: np.zeros(4 + (len(image) == 30))).fit(
            [np.zeros((30, 1, 3), np.uint8), np.zeros((2, 1, 3), np.uint8)]
        )


def test_an_empty_collection_has_empty_lists():
    fitted = RANKERS["bic"]().fit([])
    assert fitted.rank().items.shape == (0, 0)
    assert fitted.rank(queries=[np.zeros((3, 3, 3), np.uint8)]).items.shape == (1, 0)


def test_bic_on_soccer_equals_the_paper(shared):
    from rankloom.datasets import soccer
    from rankloom.evaluation import evaluate

    collection = soccer(str(shared / "data" / "soccer"))
    ranks = RANKERS["bic"]().fit(collection.part("images")).rank()
    assert evaluate(ranks, labels=collection.labels, measures=["ndcg@10"])["ndcg@10"] == pytest.approx(0.6148, abs=0.01)


def test_any_function_of_two_vectors_is_a_distance():
    def chebyshev(x, y):
        return np.abs(x - y).max()

    images = [np.random.default_rng(i).integers(0, 256, (8, 8, 3), np.uint8) for i in range(12)]
    ranker = DescriptorRanker("corner", lambda image: image[:2, :2].ravel().astype(float), chebyshev)
    check_ranker(ranker)
    vectors = np.array([image[:2, :2].ravel() for image in images], float)
    expected = np.abs(vectors[:, None] - vectors).max(axis=2).argsort(axis=1, kind="stable")
    assert ranker.fit(images).rank(depth=3).items.tolist() == expected[:, :3].tolist()
    assert ranker.digest() == replace(ranker).digest()
    assert ranker.digest() != replace(ranker, distance=lambda x, y: 2 * chebyshev(x, y)).digest()
    assert not traits_of(ranker).symmetric
    for wrong, message in ((lambda x, y: None, "must return a number"), (lambda x, y: np.nan, "finite numbers")):
        with pytest.raises(InputError, match=message):
            replace(ranker, distance=wrong).fit(images).rank(depth=3)
