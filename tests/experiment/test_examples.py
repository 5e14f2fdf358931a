"""The example queries of an experiment."""

import numpy as np
import pytest

from rankloom.datasets import Collection
from rankloom.datasets.collection import Queries
from rankloom.experiment.examples import MAX_EXAMPLES, MAX_TEXT, Examples, extreme_queries
from rankloom.experiment.results import Example, ExamplesRecord, Shown, from_json, to_json
from rankloom.ranks import Ids, Ranks


def test_the_largest_gains_come_first_and_ties_by_number():
    first = np.array([0.5, 0.9, 0.9, 0.2, 0.1, 0.8, 0.7])
    assert extreme_queries(first, np.full(7, 0.5)) == [1, 2, 5, 4, 3]
    assert extreme_queries(first, first) == []
    assert len(extreme_queries(np.linspace(0, 1, 100), np.full(100, 0.5))) == 2 * MAX_EXAMPLES


def test_a_labeled_collection_shows_classes_texts_and_images():
    red = np.zeros((80, 40, 3), np.uint8)
    red[..., 0] = 255
    pets = Collection(
        "pets", Ids(["a", "b"]), {"texts": ["a cat " * 50, "a dog"], "images": [red, red]}, labels=("cat", "dog")
    )
    shown = Examples(pets)
    query, answer = shown.query(0), shown.answer(0, Ranks([[0, 1], [1, 0]], item_ids=pets.ids))
    assert query.id == "a"
    assert len(query.text) == MAX_TEXT
    assert query.text.endswith("…")
    assert query.image.startswith("data:image/jpeg;base64,")
    assert [(one.id, one.relevant) for one in answer] == [("a", True), ("b", False)]


def test_judged_queries_are_numbered_as_in_the_judgments():
    queries = Queries(Ids(["q1", "q2"]), {"q2": {"a": 1, "b": 0}, "q1": {}}, {"texts": ["one", "two"]})
    letters = Collection("letters", Ids(["a", "b"]), {"texts": ["A", "B"]}, queries=queries)
    shown = Examples(letters)
    ranks = Ranks([[0], [1]], n_items=2, item_ids=letters.ids, query_ids=queries.ids, kind="queries")
    assert (shown.query(0).text, shown.query(1).text) == ("two", "one")
    assert shown.answer(0, ranks) == (Shown("b", "B"),)
    assert shown.answer(1, ranks) == (Shown("a", "A"),)


def test_an_image_that_cannot_be_read_is_left_out(tmp_path):
    letters = Collection("x", Ids(["a"]), {"images": [tmp_path / "missing.png"]}, labels=("x",))
    assert Examples(letters).query(0) == Shown("a", "x")


def test_records_are_read_back():
    one = Example(Shown("q", "text"), 1.0, 0.5, (Shown("a", relevant=True),), ())
    record = ExamplesRecord("all", "fg", "bic", (one,))
    assert from_json(to_json(record)).examples == (one,)
    assert one.gain == 0.5


@pytest.mark.parametrize("image", ["http://example.org/x.png", "javascript:alert(1)", "data:text/html;base64,AAAA"])
def test_only_images_inside_the_page_are_accepted(image):
    plain = to_json(ExamplesRecord("all", "fg", "bic", (Example(Shown("q"), 1.0, 0.5, (), ()),)))
    plain["examples"][0]["query"]["image"] = image
    with pytest.raises(ValueError, match="data URI"):
        from_json(plain)
