"""Local descriptors: an image as a bag of visual words, the words of a vocabulary tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge

from rankloom.datasets.collection import Contents
from rankloom.datasets.images import Pixels
from rankloom.errors import InputError, needs_extra
from rankloom.io.cache import Cache, digest_bytes
from rankloom.io.text_file import FilePath
from rankloom.io.version import __version__
from rankloom.rankers.image.image_features import FeatureStore, all_readable, extract_images
from rankloom.rankers.image.pixels import Image, luma
from rankloom.rankers.image.vocabulary_tree import LENGTH, Rows, VocabularyTree
from rankloom.rankers.ranker import register_ranker
from rankloom.rankers.text.bag_of_words import weighted
from rankloom.rankers.text.sparse_rows import scaled, sums
from rankloom.rankers.text.term_model import Scheme, Statistics, WeightModel, restored_weights, weighed
from rankloom.ranks.arrays import Array, Bytes
from rankloom.registry import Count
from rankloom.registry.options import Fraction
from rankloom.threads import run_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FORMAT = 1  # of cached descriptors and vocabularies
LONGEST_SIDE, MAX_SCALE = 640, 2.0  # images are scaled to this longest side, but not enlarged beyond this
CONTRAST = 0.02  # threshold of keypoints; the usual 0.04 finds few in small images
MAX_TRAINING = 2_000_000  # descriptors to train a vocabulary on, evenly spaced
SEGMENT = 64  # images per cache file, each with about a thousand descriptors
BLOCK = 32  # images whose words a thread looks up at a time


@register_ranker("voc")
class VocabularyRanker(Scheme):
    r"""Vocabulary tree: SIFT descriptors as visual words, by tf-idf and l1.

    Descriptors are clustered by hierarchical k-means, up to `branch` children per node and `levels` levels; the leaves
    are the words. With f the frequency of a word in an image, n images, and :math:`n_w` images with the word, the
    weights :math:`f \ln(n / n_w)` are divided by their sum, and the score is :math:`\sum_w \min(a_w, b_w)`, which is
    1 - l1 / 2. Images without a common word are not listed.

    The article leaves open, or we chose: descriptors are RootSIFT (the root of shares, in 8 bits); images are scaled to
    a longest side of 640 pixels, but at most doubled; only leaves are words. N-S on 250 objects of UKBench is 3.43;
    with five levels 3.36, with three times fewer descriptors to train on 3.25. The contextual weights of the
    fusion-graph article's VOC are not used.

    The vocabulary is trained on the images of the collection, in an order that does not depend on that of the items, so
    adding an image may change all lists. Needs the extra ``local``.

    Attributes
    ----------
    branch, levels : int
        Of the tree: at most ``branch ** levels`` words.
    contrast : float
        Keypoints of lower contrast are ignored.
    vocabulary : path, optional
        A tree written by `VocabularyTree.save`, such as ``ranker.fit(images).vocabulary.save("voc.npz")``, instead of
        training one.
    seed : int
        Of the first centers of k-means.

    References
    ----------
    Nistér, Stewénius: Scalable recognition with a vocabulary tree (2006), doi:10.1109/CVPR.2006.264;
    Lowe: Distinctive image features from scale-invariant keypoints (2004), doi:10.1023/B:VISI.0000029664.99615.94;
    Arandjelović, Zisserman: Three things everyone should know to improve object retrieval (2012),
    doi:10.1109/CVPR.2012.6248018

    Examples
    --------
    >>> from rankloom.rankers.contract import sample_items
    >>> images = sample_items("images")
    >>> VocabularyRanker(levels=2).fit([*images, images[0]]).rank(depth=2).items[0].tolist()
    [0, 8]
    """

    part: ClassVar[str] = "images"
    comparable: ClassVar[bool] = True  #: queries are images, too
    symmetric: ClassVar[bool] = True  #: of two sets of visual words
    exhaustive: ClassVar[bool] = True  #: a list has all images that share a visual word
    overlap: ClassVar[str] = "minimum"  # l1 of two rows that sum to 1 is 2 - 2 times the sum of the smaller weights

    branch: Count = 10
    levels: Count = 6
    contrast: Fraction = CONTRAST
    vocabulary: FilePath | None = None
    seed: Annotated[int, Ge(0)] = 0

    def digest(self) -> str:
        """Return a digest of its settings, its descriptors of a probe image and the version of rankloom."""
        tree = None if self.vocabulary is None else VocabularyTree.read(self.vocabulary)
        settings = repr((FORMAT, __version__, self.branch, self.levels, self.seed)).encode()
        arrays = () if tree is None else (tree.centers.tobytes(), tree.children.tobytes())
        return digest_bytes(settings, self._sift_digest().encode(), *arrays)

    def fit(self, items: Contents, *, cache: Cache | None = None) -> FittedVocabulary:
        """Find the words of images: `ImageFile`, arrays, paths or bytes of files; their descriptors are cached."""
        descriptors = self.descriptors(items, cache=cache)
        tree = self._tree(descriptors, cache or Cache(None))
        counts = word_counts(tree, descriptors)
        statistics = Statistics.of(counts, tree.n_words)
        weights = weighed(self, statistics, counts)
        return FittedVocabulary(vocabulary=tree, cache=cache, scheme=self, statistics=statistics, **weights)

    def restored(self, arrays: Mapping[str, Array]) -> FittedVocabulary:
        tree = VocabularyTree.checked({name: arrays[name] for name in ("centers", "children")})
        weights = restored_weights(arrays, tree.n_words)
        return FittedVocabulary(vocabulary=tree, cache=None, scheme=self, **weights).with_postings(arrays)

    def weigh(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        weights = weighted(counts, statistics, "tf-idf")
        return scaled(weights, sums(weights))

    def descriptors(self, items: Contents, *, cache: Cache | None = None) -> list[Rows]:
        """Return the local descriptors of images. Raise UnreadableItemsError if some cannot be read."""
        key = self._sift_digest() if cache is not None and cache.folder is not None else ""
        store = FeatureStore(cache or Cache(None), key, None, segment=SEGMENT)

        def describe(image: Pixels) -> Bytes:
            return root_sift(image, self.contrast).ravel()

        found = extract_images(items, describe, "voc", store=store)
        return [flat.reshape(-1, LENGTH) for flat in found]

    def _sift_digest(self) -> str:
        probe = root_sift(_probe(), self.contrast)
        settings = repr((FORMAT, __version__, LONGEST_SIDE, MAX_SCALE, self.contrast))
        return digest_bytes(settings.encode(), probe.tobytes())

    def _tree(self, descriptors: Sequence[Rows], cache: Cache) -> VocabularyTree:
        """Return the vocabulary: given, cached, or trained."""
        if self.vocabulary is not None:
            return VocabularyTree.read(self.vocabulary)
        by_digest = sorted((digest_bytes(rows.tobytes()), i) for i, rows in enumerate(descriptors))
        settings = repr((FORMAT, __version__, MAX_TRAINING, self.branch, self.levels, self.seed))
        key = digest_bytes(b"vocabulary", settings.encode(), *(digest.encode() for digest, _ in by_digest))
        cached = cache.load(key)
        if cached is not None:
            try:
                return VocabularyTree.checked(cached)
            except InputError:  # invalid content is recomputed
                pass
        rows = np.concatenate([np.empty((0, LENGTH), np.uint8), *(descriptors[i] for _, i in by_digest)])
        sample = rows[:: -(-len(rows) // MAX_TRAINING) or 1]
        tree = VocabularyTree.train(sample, branch=self.branch, levels=self.levels, seed=self.seed)
        cache.save(key, tree.arrays())
        return tree


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedVocabulary(WeightModel):
    """The images of a collection as visual words, which is `Updatable`; see `WeightModel`."""

    scheme: VocabularyRanker
    vocabulary: VocabularyTree  #: stays as it is when images are added or removed
    cache: Cache | None  #: of descriptors of queries

    def query_counts(self, queries: Contents) -> csr_matrix:
        with all_readable():
            return self._counts(queries, self.cache)

    def appended(self, items: Contents, *, cache: Cache | None = None) -> Self:
        return self.with_counts(self._counts(items, cache))

    def arrays(self) -> dict[str, Array]:
        return {**self.vocabulary.arrays(), **self.weight_arrays()}

    def _counts(self, items: Contents, cache: Cache | None) -> csr_matrix:
        return word_counts(self.vocabulary, self.scheme.descriptors(items, cache=cache))


def root_sift(image: Image, contrast: float = CONTRAST) -> Rows:
    """Return the SIFT descriptors of an image: the square roots of their shares of the sum, times 512, rounded.

    Rows are sorted, so that the order in which keypoints are found does not matter. An image without keypoints, and any
    of one row or column, has none.

    Examples
    --------
    >>> root_sift(np.zeros((50, 50, 3), np.uint8)).shape
    (0, 128)
    """
    cv2 = _opencv()
    gray = luma(image).astype(np.uint8)
    scale = min(MAX_SCALE, LONGEST_SIDE / max(gray.shape))
    size = tuple(max(2, round(side * scale)) for side in gray.shape[::-1])
    gray = cv2.resize(gray, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    _, found = cv2.SIFT_create(contrastThreshold=contrast).detectAndCompute(gray, None)
    if found is None:
        return np.empty((0, LENGTH), np.uint8)
    shares = found / np.maximum(found.sum(axis=1, keepdims=True), 1)
    rows = np.minimum(np.rint(512 * np.sqrt(shares)), 255).astype(np.uint8)
    return np.sort(rows.view(f"V{LENGTH}").ravel()).view(np.uint8).reshape(-1, LENGTH)


def word_counts(tree: VocabularyTree, descriptors: Sequence[Rows]) -> csr_matrix:
    """Return how often each word occurs in each image, an array of shape (n_images, n_words)."""
    from scipy.sparse import csr_matrix

    ptr = np.concatenate([[0], np.cumsum([len(rows) for rows in descriptors], dtype=np.int64)])
    words = np.empty(ptr[-1], np.int64)

    def work(start: int, stop: int) -> None:
        words[ptr[start] : ptr[stop]] = tree.words(np.concatenate(descriptors[start:stop]))

    run_blocks(work, len(descriptors), stage="Finding words", block=BLOCK)
    counts = csr_matrix((np.ones(len(words)), words, ptr), (len(descriptors), tree.n_words))
    counts.sum_duplicates()
    return counts


def _probe() -> Image:
    """Return an image with some keypoints, without a random number generator."""
    y, x = np.mgrid[:64, :80].astype(np.int64)
    gray = ((x // 9 * 5 + y // 7 * 11) % 8 * 32).astype(np.uint8)
    return np.repeat(gray[:, :, None], 3, axis=2)


def _opencv() -> Any:
    with needs_extra("The ranker voc", "opencv-python-headless", "local"):
        import cv2
    return cv2
