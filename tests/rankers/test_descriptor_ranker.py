"""Rankers of pictures: described once by content, on any number of threads, broken ones named."""

from collections import Counter

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rankloom.datasets.images import ImageFile
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, DescriptorRanker, UnreadableItemsError, descriptor_ranker, image_features
from rankloom.rankers.contract import sample_items
from rankloom.rankers.distances import DISTANCES

Image = pytest.importorskip("PIL.Image")


class Mean:
    """The mean color, and for how many of the pictures of `save` it was asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self, image):
        self.calls += image.shape == (8, 9, 3)
        return image.mean(axis=(0, 1))


def ranker(descriptor=None, distance="l2", **options):
    return DescriptorRanker("mean", descriptor or Mean(), distance, **options)


def save(folder, n, first=0):
    """Write n pictures, all different, and return them."""
    random = np.random.default_rng(first)
    for number in range(first, first + n):
        Image.fromarray(random.integers(0, 256, (8, 9, 3), np.uint8)).save(folder / f"{number}.png")
    return [ImageFile(folder / f"{number}.png") for number in range(first, first + n)]


def described(mean, fit):
    """Return how many pictures `fit` describes, and what it returns."""
    mean.calls = 0
    fitted = fit()
    return mean.calls, fitted


def test_nearest_pictures_come_first():
    pictures = [np.full((3, 2, 3), gray, np.uint8) for gray in (0, 200, 60, 210)]
    ranks = ranker().fit(pictures).rank(depth=3)
    assert ranks.items.tolist() == [[0, 2, 1], [1, 3, 2], [2, 0, 1], [3, 1, 2]]
    np.testing.assert_allclose(ranks.scores[1], [0, -10 * 3**0.5, -140 * 3**0.5], rtol=1e-6)


@pytest.mark.parametrize("distance", ["l1", "l2", *DISTANCES])
def test_lists_are_those_of_a_plain_sort(distance):
    vectors = np.random.default_rng(0).random((30, 7))
    vectors[:, 3] = 0
    plain = {"l1": lambda x, y: cdist(x, y, "cityblock"), "l2": cdist, **DISTANCES}[distance](vectors, vectors)
    np.testing.assert_array_equal(
        descriptor_ranker.compare(vectors, None, distance, 9).items, np.argsort(plain, axis=1, kind="stable")[:, :9]
    )
    outside = descriptor_ranker.compare(vectors, vectors[4:6], distance, 9)
    np.testing.assert_array_equal(outside.items, np.argsort(plain[4:6], axis=1, kind="stable")[:, :9])


def test_a_query_from_outside_may_be_a_file_bytes_or_an_array(tmp_path):
    pictures = save(tmp_path, 4)
    fitted = ranker().fit(pictures)
    queries = [pictures[2], pictures[2].path, pictures[2].path.read_bytes(), pictures[2].load()]
    found = fitted.rank(queries=queries, depth=1)
    assert found.items.tolist() == [[2]] * 4
    assert found.n_items == 4


def test_a_second_run_describes_nothing_and_an_added_picture_only_itself(tmp_path):
    mean, cache = Mean(), Cache(tmp_path / "cache")
    pictures = save(tmp_path, 5)
    calls, first = described(mean, lambda: ranker(mean).fit(pictures, cache=cache))
    assert calls == 5
    calls, second = described(mean, lambda: ranker(mean).fit(pictures, cache=cache))
    assert calls == 0
    np.testing.assert_array_equal(first.vectors, second.vectors)
    pictures[2:2] = save(tmp_path, 1, first=50)
    calls, third = described(mean, lambda: ranker(mean).fit(pictures, cache=cache))
    assert calls == 1
    np.testing.assert_array_equal(np.delete(third.vectors, 2, axis=0), first.vectors)
    np.testing.assert_array_equal(third.vectors, ranker().fit(pictures).vectors)


def test_features_are_found_by_content_wherever_the_file_is(tmp_path):
    mean, cache = Mean(), Cache(tmp_path / "cache")
    pictures = save(tmp_path, 3)
    ranker(mean).fit(pictures, cache=cache)
    moved = [ImageFile(one.path.rename(tmp_path / f"moved-{one.path.name}")) for one in pictures]
    assert described(mean, lambda: ranker(mean).fit(moved[::-1], cache=cache))[0] == 0
    moved[0].path.write_bytes(save(tmp_path, 1, first=9)[0].path.read_bytes())
    assert described(mean, lambda: ranker(mean).fit(moved, cache=cache))[0] == 1


def test_copies_are_described_once(tmp_path):
    mean, pictures = Mean(), save(tmp_path, 2)
    calls, fitted = described(mean, lambda: ranker(mean).fit(pictures * 3, cache=Cache(tmp_path / "cache")))
    assert (calls, len(fitted.vectors)) == (2, 6)


def test_the_cache_has_few_files_and_fills_the_last(tmp_path, monkeypatch):
    monkeypatch.setattr(image_features, "SEGMENT", 4)
    mean, cache = Mean(), Cache(tmp_path / "cache")
    pictures = save(tmp_path, 6)
    for n in (2, 3, 6):
        ranker(mean).fit(pictures[:n], cache=cache)
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == 2
    assert described(mean, lambda: ranker(mean).fit(pictures, cache=cache))[0] == 0


def test_a_damaged_file_of_the_cache_is_made_again(tmp_path):
    mean, cache = Mean(), Cache(tmp_path / "cache")
    pictures = save(tmp_path, 3)
    ranker(mean).fit(pictures, cache=cache)
    [file] = (tmp_path / "cache").rglob("*.npz")
    whole = dict(np.load(file))
    file.write_bytes(file.read_bytes()[:99])
    assert described(mean, lambda: ranker(mean).fit(pictures, cache=cache))[0] == 3
    assert described(mean, lambda: ranker(mean).fit(pictures, cache=cache))[0] == 0
    for wrong in (whole["vectors"][:2], whole["vectors"][:, :2], whole["vectors"].astype(str), np.array(7.0)):
        np.savez(file, digests=whole["digests"], vectors=wrong)
        assert described(mean, lambda: ranker(mean).fit(pictures, cache=cache))[0] == 3


def test_a_descriptor_that_changes_is_not_mistaken_for_what_it_was(tmp_path):
    cache, pictures = Cache(tmp_path / "cache"), save(tmp_path, 3)
    ranker(lambda image: image.mean(axis=(0, 1))).fit(pictures, cache=cache)
    fitted = ranker(lambda image: image.max(axis=(0, 1)) * 1.0).fit(pictures, cache=cache)
    np.testing.assert_array_equal(fitted.vectors[0], pictures[0].load().max(axis=(0, 1)))


def test_a_descriptor_of_numbers_that_are_not_finite_is_named():
    with pytest.raises(InputError, match="The descriptor mean must give finite numbers; got nan"):
        ranker(lambda image: np.array([np.nan])).fit([])


def test_another_version_describes_again(tmp_path, monkeypatch):
    before = ranker().digest()
    monkeypatch.setattr(descriptor_ranker, "__version__", "99")
    assert ranker().digest() != before


def test_a_change_that_only_large_or_flat_pictures_show_is_noticed():
    def far(image):  # a distance of 40 pixels
        return np.array([abs(int(image[0, 0, 0]) - int(image[-1, 0, 0])) if len(image) > 40 else 0.0])

    def power_of_two(image):  # 255 * 80 / (120 * 170) is 1
        share = np.float32((image == 255).all(axis=2).mean())
        return np.array([0.0 if 255 * np.float64(share) == 1 else 1.0 * (0.9 < 255 * share < 1.1)])

    nothing = ranker(lambda image: np.zeros(1)).digest()
    assert len({nothing, ranker(far).digest(), ranker(power_of_two).digest()}) == 3


@pytest.mark.parametrize("name", ["bic", "lbp", "acc"])
def test_any_number_of_threads_gives_the_same_bits(name):
    pictures = sample_items("images") * 3
    one, many = (RANKERS[name]().fit(pictures, threads=threads) for threads in (1, 5))
    assert one.vectors.tobytes() == many.vectors.tobytes()
    assert one.vectors.dtype == many.vectors.dtype


@pytest.mark.parametrize("kept", [False, True])
def test_broken_pictures_are_all_named_and_the_others_kept(tmp_path, kept):
    pictures = save(tmp_path, 4)
    pictures[1].path.write_bytes(b"no picture")
    pictures[3].path.unlink()
    mean, cache = Mean(), Cache(tmp_path / "cache" if kept else None)
    with pytest.raises(UnreadableItemsError, match="2 of the items cannot be read: ") as caught:
        ranker(mean).fit(pictures, cache=cache)
    assert sorted(caught.value.reasons) == [1, 3]
    assert "1.png is not a picture" in caught.value.reasons[1]
    assert "3.png cannot be read: No such file" in caught.value.reasons[3]
    calls, _ = described(mean, lambda: ranker(mean).fit([pictures[0], pictures[2]], cache=cache))
    assert calls == (0 if kept else 2)


def test_a_broken_query_is_an_error_that_names_it(tmp_path):
    fitted = ranker().fit(save(tmp_path, 2))
    with pytest.raises(InputError, match="Queries cannot be read: The picture is not a picture") as caught:
        fitted.rank(queries=[b"junk"])
    assert not isinstance(caught.value, UnreadableItemsError)


def test_progress_counts_the_pictures_described(tmp_path):
    told = []
    ranker().fit(save(tmp_path, 9), progress=lambda *step: told.append(step), threads=1)
    assert told == [("describing by mean", done, 9) for done in (4, 8, 9)]


@pytest.mark.parametrize("distance", ["l1", "d1"])
def test_progress_counts_the_pictures_compared(distance, monkeypatch):
    monkeypatch.setattr("rankloom._kernels.nearest.BLOCK_BYTES", 8 * 5 * 2)  # two of five rows at a time
    told = []
    pictures = [np.full((3, 2, 3), gray, np.uint8) for gray in (0, 50, 100, 150, 200)]
    ranker(distance=distance).fit(pictures).rank(progress=lambda *one: told.append(one))
    assert told == [("comparing pictures", done, 5) for done in (2, 4, 5)]


def test_large_pictures_are_reduced_when_asked_for():
    shapes = Counter()

    def shape(image):
        shapes[image.shape] += 1
        return np.zeros(1)

    ranker(shape, longest_side=10).fit([np.zeros((40, 20, 3), np.uint8)])
    assert shapes[(10, 5, 3)] == 1
    assert ranker(longest_side=10).digest() != ranker().digest()


def test_wrong_options_and_descriptors_are_refused():
    with pytest.raises(UnknownNameError, match="Unknown distance 'l3'; choose from cosine, d1"):
        ranker(distance="l3")
    with pytest.raises(InputError, match="longest_side must be a whole number, at least 1; got 0"):
        RANKERS["bic"](longest_side=0)
    with pytest.raises(InputError, match="mean must give a vector; got an array of shape"):
        ranker(lambda image: image).fit([])
    with pytest.raises(InputError, match="vectors of one length; got"):
        ranker(lambda image: np.zeros(4 + (len(image) == 30))).fit(
            [np.zeros((30, 1, 3), np.uint8), np.zeros((2, 1, 3), np.uint8)]
        )


def test_no_pictures_give_no_rows_and_answer_queries_with_empty_lists():
    fitted = RANKERS["bic"]().fit([])
    assert fitted.rank().items.shape == (0, 0)
    assert fitted.rank(queries=[np.zeros((3, 3, 3), np.uint8)]).items.shape == (1, 0)


def test_bic_is_as_good_as_in_the_paper_on_soccer(shared):
    from rankloom.datasets import soccer
    from rankloom.evaluation import evaluate

    collection = soccer(str(shared / "data" / "soccer"))
    ranks = RANKERS["bic"]().fit(collection.part("images")).rank()
    assert evaluate(ranks, labels=collection.labels, measures=["ndcg@10"])["ndcg@10"] == pytest.approx(0.6148, abs=0.01)


def test_zeros_passed_over_change_no_bit_of_l1():
    rng = np.random.default_rng(3)
    items = rng.random((40, 2000)) * (rng.random((40, 2000)) < 0.05)
    items[7] = 0
    queries = rng.normal(size=(5, 2000))  # dense, and below 0 too
    for asked in (items, queries):
        assert np.array_equal(descriptor_ranker._city_block(asked, items), cdist(asked, items, "cityblock"))
        assert np.array_equal(descriptor_ranker._sparse_city_block(asked, items), cdist(asked, items, "cityblock"))
