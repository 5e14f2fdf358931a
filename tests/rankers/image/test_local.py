"""The vocabulary ranker: weights by hand, order of items, cache, files and errors."""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from rankloom.errors import InputError, MissingExtraError
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, UnreadableItemsError, VocabularyRanker, check_ranker
from rankloom.rankers.contract import sample_items
from rankloom.rankers.image import local
from rankloom.rankers.image.local import root_sift, word_counts
from rankloom.rankers.image.vocabulary_tree import LENGTH, VocabularyTree
from rankloom.rankers.text.term_model import Statistics, sums
from rankloom.threads import running

pytest.importorskip("cv2")
RANKER = VocabularyRanker(branch=4, levels=2)


def scores(ranks):
    return [
        dict(zip(row.tolist(), score.tolist(), strict=True))
        for row, score in zip(ranks.items, ranks.scores, strict=True)
    ]


def blobs(seed, height=60, width=80):
    """Return an image of bright and dark rectangles, which has keypoints."""
    random = np.random.default_rng(seed)
    image = np.full((height, width, 3), 120, np.uint8)
    for _ in range(12):
        y, x = random.integers(0, height - 10), random.integers(0, width - 12)
        image[y : y + random.integers(4, 10), x : x + random.integers(4, 12)] = random.integers(0, 256)
    return image


# Worked examples


def test_weights_are_shares_of_tf_idf():
    # Two images: words 0 and 1 in both, word 2 once and word 3 three times in the first: idf is 0, 0, ln 2, ln 2.
    counts = csr_matrix(np.array([[1.0, 2.0, 1.0, 3.0], [5.0, 1.0, 0.0, 0.0]]))
    weights = RANKER.weigh(counts, Statistics.of(counts, 4)).toarray()
    assert weights[0].tolist() == pytest.approx([0, 0, 1 / 4, 3 / 4])
    assert weights[1].tolist() == [0, 0, 0, 0]


def test_word_counts_count_leaves():
    flat = np.repeat(np.array([0, 1, 2, 200, 201, 203], np.uint8)[:, None], LENGTH, axis=1)
    tree = VocabularyTree.train(flat, branch=2, levels=1)
    low, high = tree.words(flat)[[0, 3]]
    counts = word_counts(tree, [flat[:1], flat[1:5], flat[:0]]).toarray()
    assert counts[:, low].tolist() == [1, 2, 0]
    assert counts[:, high].tolist() == [0, 2, 0]


def test_score_is_one_minus_half_l1():
    images = [blobs(seed) for seed in range(6)]
    fitted = RANKER.fit(images)
    dense = fitted.texts.toarray()
    assert sums(fitted.texts).tolist() == pytest.approx([1] * 6)
    for row, found in enumerate(scores(fitted.rank())):
        for other, score in found.items():
            assert other < 0 or score == pytest.approx(1 - np.abs(dense[row] - dense[other]).sum() / 2, abs=1e-6)


def test_root_sift_is_the_root_of_shares():
    import cv2

    image = blobs(1, 40, 320)  # doubled to 640
    gray = cv2.resize(image[..., 0], (640, 80), interpolation=cv2.INTER_LINEAR)
    _, found = cv2.SIFT_create(contrastThreshold=0.02).detectAndCompute(gray, None)
    expected = sorted(np.rint(512 * np.sqrt(row / row.sum())).clip(0, 255).astype(int).tolist() for row in found)
    assert root_sift(image).tolist() == expected


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (2, 2), (3, 40), (700, 3)])
def test_small_and_narrow_images_have_descriptors_or_none(shape):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    assert root_sift(image).shape[1] == LENGTH


# Contract


def test_voc_keeps_the_contract():
    check_ranker(RANKERS["voc"]())


def test_the_vocabulary_does_not_depend_on_the_order_of_items():
    images = [blobs(seed) for seed in range(7)]
    one, other = RANKER.fit(images), RANKER.fit(images[::-1])
    assert one.vocabulary.centers.tobytes() == other.vocabulary.centers.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_bits_do_not_depend_on_threads(threads):
    images = [blobs(seed) for seed in range(9)]
    expected = RANKER.fit(images).rank()
    with running(threads=threads):
        found = RANKER.fit(images).rank()
    assert found.items.tolist() == expected.items.tolist()
    assert found.scores.tobytes() == expected.scores.tobytes()


def test_a_flat_image_lists_itself_only():
    images = [blobs(0), np.zeros((30, 30, 3), np.uint8), blobs(1)]
    ranks = RANKER.fit(images).rank()
    assert ranks.items[1].tolist() == [1, -1, -1]
    assert RANKER.fit(images).rank(queries=images[1:2]).items.tolist() == [[-1, -1, -1]]


def test_a_given_vocabulary_is_used(tmp_path):
    images = [blobs(seed) for seed in range(6)]
    fitted = RANKER.fit(images)
    fitted.vocabulary.save(tmp_path / "voc.npz")
    again = VocabularyRanker(vocabulary=tmp_path / "voc.npz").fit(images)
    assert again.rank().items.tolist() == fitted.rank().items.tolist()
    assert again.scheme.digest() != VocabularyRanker().digest()
    other = VocabularyRanker(vocabulary=tmp_path / "voc.npz").fit(images[:2])
    assert other.vocabulary.n_words == fitted.vocabulary.n_words


# Cache


def test_descriptors_and_vocabulary_are_cached(tmp_path, monkeypatch):
    cache, images = Cache(tmp_path), [blobs(seed) for seed in range(5)]
    first = RANKER.fit(images, cache=cache)
    probe = root_sift(local._probe())

    def only_the_probe(image, contrast):
        assert image.shape == local._probe().shape, "an image was described again"
        return probe

    monkeypatch.setattr(local, "root_sift", only_the_probe)
    monkeypatch.setattr(VocabularyTree, "train", lambda *_, **__: pytest.fail("the vocabulary was trained again"))
    second = RANKER.fit(images, cache=cache)
    assert second.rank().scores.tobytes() == first.rank().scores.tobytes()
    assert second.rank(queries=images[2:3]).items[0, 0] == 2


def test_damaged_cache_files_are_made_again(tmp_path):
    cache, images = Cache(tmp_path), [blobs(0), np.zeros((9, 9, 3), np.uint8), blobs(2)]
    expected = RANKER.fit(images, cache=cache).rank()
    for path in tmp_path.rglob("*.npz"):
        with np.load(path) as archive:
            arrays = dict(archive)
        name = "ends" if "ends" in arrays else "children"
        np.savez(path, **{**arrays, name: arrays[name][::-1]})
    assert RANKER.fit(images, cache=cache).rank().scores.tobytes() == expected.scores.tobytes()


# Errors


def test_unreadable_images_are_named(tmp_path):
    (tmp_path / "bad.jpg").write_bytes(b"nothing")
    with pytest.raises(UnreadableItemsError, match=r"bad\.jpg"):
        RANKER.fit([blobs(0), tmp_path / "bad.jpg"])
    with pytest.raises(InputError, match=r"Cannot read the queries: .*bad\.jpg"):
        RANKER.fit([blobs(0)]).rank(queries=[tmp_path / "bad.jpg"])


def test_missing_opencv_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(
        MissingExtraError, match=r"The ranker voc needs opencv-python-headless: pip install 'rankloom\[local\]'"
    ):
        RANKER.fit(sample_items("images"))


@pytest.mark.parametrize(
    ("options", "message"),
    [("branch=0", "branch"), ("levels=0", "levels"), ("contrast=1.5", "contrast"), ("seed=-1", "seed")],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(InputError, match=message):
        RANKERS.make(f"voc({options})")
