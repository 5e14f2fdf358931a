"""Rankers by embeddings: vectors are checked, cached and compared with stored ones."""

import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.rankers import EncoderRanker, UnreadableItemsError, check_ranker, is_updatable, traits_of
from rankloom.threads import running

TEXTS = ["heat in slabs", "heart disease", "heat", "a flow of heat", "wings"]


class Letters:
    """Counts the letters of texts; remembers the batches."""

    def __init__(self, dtype=np.float32, width=26):
        self.batches, self.dtype, self.width = [], dtype, width

    def __call__(self, texts):
        self.batches.append(len(texts))
        counts = [[text.count(chr(ord("a") + letter)) for letter in range(self.width)] for text in texts]
        return np.array(counts, self.dtype).reshape(-1, self.width)


def colors(images):
    return np.array([image.mean(axis=(0, 1)) for image in images])


def test_lists_are_those_of_the_vectors():
    encode = Letters()
    fitted = EncoderRanker("letters", encode).fit(TEXTS)
    assert is_updatable(fitted)
    expected = rl.Ranks.from_vectors(Letters()(TEXTS), "cosine")
    assert fitted.rank().scores.tobytes() == expected.scores.tobytes()
    found = fitted.rank(queries=["heat"], depth=1)
    assert found.items.tolist() == [[2]]
    assert fitted.rank_vectors(encode(["wings"]), depth=1).items.tolist() == [[4]]


def test_an_encoder_is_a_ranker():
    check_ranker(EncoderRanker("letters", Letters()))
    check_ranker(EncoderRanker("colors", colors, "images", "l2"))


def test_texts_are_not_comparable_with_queries_and_images_are():
    assert not traits_of(EncoderRanker("letters", Letters())).comparable
    assert traits_of(EncoderRanker("colors", colors, "images")).comparable
    assert traits_of(EncoderRanker("letters", Letters(), comparable=True)).comparable


def test_items_are_encoded_in_batches_with_progress():
    encode, steps = Letters(), []
    with running(progress=lambda *step: steps.append(step)):
        EncoderRanker("letters", encode, batch=2).fit(TEXTS)
    assert encode.batches == [2, 2, 1]
    assert steps == [("Encoding letters", done, 5) for done in (2, 4, 5)]


def test_updates_equal_a_fresh_fit():
    ranker = EncoderRanker("letters", Letters())
    updated = ranker.fit(TEXTS[:3]).appended(TEXTS[3:]).subset(np.array([4, 0, 3]))
    fresh = ranker.fit([TEXTS[4], TEXTS[0], TEXTS[3]])
    assert updated.rank().scores.tobytes() == fresh.rank().scores.tobytes()
    assert ranker.fit([]).appended(TEXTS).rank().scores.tobytes() == ranker.fit(TEXTS).rank().scores.tobytes()
    assert ranker.fit([]).rank(queries=["heat"]).items.shape == (1, 0)


def test_a_cached_item_is_not_encoded_again(tmp_path):
    cache = Cache(tmp_path)
    first = EncoderRanker("letters", Letters()).fit(TEXTS[:3], cache=cache)
    encode = Letters()
    second = EncoderRanker("letters", encode).fit([*TEXTS, TEXTS[4]], cache=cache)
    assert encode.batches[-1] == 2  # the others are probes
    assert second.vectors[:3].tobytes() == first.vectors.tobytes()
    assert second.vectors.tobytes() == Letters()([*TEXTS, TEXTS[4]]).tobytes()
    other = EncoderRanker("letters", lambda texts: Letters()(texts) * 2).fit(TEXTS[:1], cache=cache)
    np.testing.assert_array_equal(other.vectors, 2 * Letters()(TEXTS[:1]))


def test_a_restored_ranker_needs_no_encoder_for_items_and_vectors():
    fitted = EncoderRanker("letters", Letters()).fit(TEXTS)
    restored = EncoderRanker("letters").restored(fitted.arrays())
    assert restored.rank().scores.tobytes() == fitted.rank().scores.tobytes()
    assert restored.rank_vectors(fitted.vectors[:1], depth=1).items.tolist() == [[0]]
    with pytest.raises(InputError, match="The ranker letters has no encoder for new texts; give the one"):
        restored.rank(queries=["heat"])


WRONG = {
    "a row too few": (
        lambda texts: np.zeros((len(texts) - 1, 3)),
        r"row for each of 5 texts; got float64 of shape \(4",
    ),
    "one vector": (lambda texts: np.zeros(3), r"got float64 of shape \(3,\)"),
    "whole numbers": (lambda texts: np.zeros((len(texts), 3), int), "matrix of floats .*; got int64"),
    "objects": (lambda texts: [None] * len(texts), "matrix of floats"),
    "not a number": (lambda texts: np.full((len(texts), 3), np.nan), "must return finite numbers; got nan"),
}


@pytest.mark.parametrize(("encode", "message"), WRONG.values(), ids=WRONG)
def test_invalid_vectors_are_errors_that_name_the_ranker(encode, message):
    with pytest.raises(InputError, match=f"The encoder of mine .*{message}"):
        EncoderRanker("mine", encode).fit(TEXTS)


def test_vectors_of_different_lengths_are_rejected():
    ranker = EncoderRanker("mine", lambda texts: np.ones((len(texts), len(texts[0]))), batch=1)
    with pytest.raises(InputError, match=r"mine must return vectors of one length; got \[4, 5"):
        ranker.fit(TEXTS)


def test_invalid_options_are_rejected():
    with pytest.raises(UnknownNameError, match="Unknown part of an encoder 'sounds'; choose from images, texts"):
        EncoderRanker("mine", Letters(), "sounds")
    with pytest.raises(UnknownNameError, match="Unknown metric 'cos'"):
        EncoderRanker("mine", Letters(), metric="cos")
    with pytest.raises(InputError, match="batch must be a whole number"):
        EncoderRanker("mine", Letters(), batch=0)
    with pytest.raises(InputError, match="queries must be a list of texts"):
        EncoderRanker("mine", Letters()).fit(TEXTS).rank(queries="heat")


def test_unreadable_images_are_named():
    pytest.importorskip("PIL")
    images = [np.full((2, 2, 3), gray, np.uint8) for gray in (0, 90, 40)]
    ranker = EncoderRanker("colors", colors, "images", "l2")
    with pytest.raises(UnreadableItemsError) as caught:
        ranker.fit([images[0], b"junk", images[1]])
    assert list(caught.value.reasons) == [1]
    fitted = ranker.fit(images)
    with pytest.raises(InputError, match="Cannot read the queries: The image is not an image"):
        fitted.rank(queries=[b"junk"])
    with pytest.raises(UnreadableItemsError) as caught:
        fitted.appended([images[0], b"junk"])
    assert list(caught.value.reasons) == [1]
