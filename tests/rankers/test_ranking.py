"""rank_collection: spellings, external queries, the cache, and unreadable items."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rankloom.datasets import Collection, Queries, folder
from rankloom.datasets.images import ImageFile
from rankloom.errors import InputError
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, UnreadableItemsError, Vectors, rank_collection
from rankloom.ranks import Ids, Ranks
from rankloom.registry import Call

Image = pytest.importorskip("PIL.Image")

NEAR = {"near": "vectors(metric=l2)"}
LINE = np.array([[0.0], [5.0], [1.0]])


def line(**more):
    return Collection("line", Ids(["a", "b", "c"]), {"vectors": LINE}, **more)


def external():
    return Queries(Ids(["q"]), {"q": {"b": 1}}, {"vectors": np.array([[4.0]])})


def save(folder_, *names):
    """Write random images."""
    random = np.random.default_rng(len(names))
    for name in names:
        path = folder_ / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (8, 9, 3), np.uint8)).save(path)


@pytest.fixture
def fits(monkeypatch):
    """Record each time the ranker `vectors` is fitted."""
    seen = []
    fit = Vectors.fit
    monkeypatch.setattr(Vectors, "fit", lambda self, items, **more: seen.append(len(items)) or fit(self, items, **more))
    return seen


def test_every_item_is_a_query_without_external_queries():
    lists = rank_collection(line(labels=("x", "y", "x")), NEAR, depth=2).lists["near"]
    assert lists.queries.to_dict() == {
        "a": {"a": 0.0, "c": -1.0},
        "b": {"b": 0.0, "c": -4.0},
        "c": {"c": 0.0, "a": -1.0},
    }
    assert lists.items is lists.queries
    assert lists.seconds > 0


def test_external_queries_and_items_have_lists():
    lists = rank_collection(line(queries=external()), NEAR).lists["near"]
    assert lists.queries.to_dict() == {"q": {"b": -1.0, "c": -3.0, "a": -4.0}}
    assert list(lists.items.query_ids) == ["a", "b", "c"]
    assert lists.items.items[:, 0].tolist() == [0, 1, 2]
    assert rank_collection(line(queries=external()), NEAR, items=False).lists["near"].items is None


def test_a_ranker_may_be_a_spelling_a_call_or_an_object():
    spelling = "vectors(metric=l2)"
    first, *others = (
        rank_collection(line(), {"near": ranker}).lists["near"].queries
        for ranker in (spelling, Call.parse(spelling), Vectors(metric="l2"))
    )
    for other in others:
        np.testing.assert_array_equal(first.items, other.items)


def test_a_list_of_spellings_names_the_lists_by_spelling():
    rankers = ["vectors(metric=l2)", "vectors"]
    ranking = rank_collection(line(), rankers, depth=2)
    assert list(ranking.lists) == rankers
    assert ranking.lists["vectors(metric=l2)"].queries.to_dict() == (
        rank_collection(line(), NEAR, depth=2).lists["near"].queries.to_dict()
    )
    with pytest.raises(InputError, match=r"Unknown ranker 'bik'; .* Did you mean 'bic'"):
        rank_collection(line(), ["vectors", "bik"])


def test_a_second_run_uses_the_cache(tmp_path, fits):
    cache = Cache(tmp_path)
    first, second = (rank_collection(line(queries=external()), NEAR, cache=cache).lists["near"] for _ in range(2))
    assert fits == [3]
    for kind in ("queries", "items"):
        one, other = getattr(first, kind), getattr(second, kind)
        np.testing.assert_array_equal(one.items, other.items)
        np.testing.assert_array_equal(one.scores, other.scores)
        assert (one.item_ids, one.query_ids, one.n_items) == (other.item_ids, other.query_ids, other.n_items)


def test_the_cache_key_covers_depth_options_content_and_queries(tmp_path, fits):
    cache = Cache(tmp_path)
    rank_collection(line(), NEAR, cache=cache)
    rank_collection(line(), NEAR, cache=cache, depth=2)
    rank_collection(line(), {"near": "vectors(metric=l1)"}, cache=cache)
    rank_collection(Collection("line", Ids(["a", "b", "c"]), {"vectors": LINE + 1}), NEAR, cache=cache)
    rank_collection(line(queries=external()), NEAR, cache=cache)
    assert len(fits) == 5
    rank_collection(line(labels=("x", "y", "x")), NEAR, cache=cache)  # labels do not matter
    assert len(fits) == 5


def test_a_damaged_cache_file_is_recomputed(tmp_path, fits):
    cache = Cache(tmp_path)
    rank_collection(line(), NEAR, cache=cache)
    [file] = tmp_path.rglob("*.npz")
    good = dict(np.load(file))
    others = [
        {"items": np.array([[0, 0]]), "n_items": np.array(3)},
        {**good, "items": good["items"][:2], "scores": good["scores"][:2]},
        {**good, "n_items": np.array([3, 3])},
        {**good, "n_items": np.array(4)},
        {**good, "seconds": np.array("soon")},
    ]
    for content in (b"junk", *others):
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            np.savez(file, **content)
        ranks = rank_collection(line(), NEAR, cache=cache).lists["near"].queries
        assert ranks.items[:, 0].tolist() == [0, 1, 2]
    assert len(fits) == 7


def test_a_file_in_an_option_is_keyed_by_its_content(tmp_path, monkeypatch):
    @dataclass
    class Scaled:
        path: str
        part: str = "vectors"

        def digest(self):
            return "1"

        def fit(self, items, *, cache=None, progress=None):
            scale = float(Path(self.path).read_text())
            return Vectors(metric="l2").fit(np.asarray(items) * scale)

    monkeypatch.setitem(RANKERS._known, "scaled", Scaled)
    cache, path = Cache(tmp_path / "cache"), tmp_path / "scale.txt"
    call = {"s": Call.of("scaled", {"path": str(path)})}
    tops = []
    for scale in ("1", "2"):
        path.write_text(scale)
        tops.append(float(rank_collection(line(), call, cache=cache).lists["s"].queries.scores[0, 1]))
    assert tops == [-1.0, -2.0]
    path.rename(tmp_path / "moved.txt")
    monkeypatch.setattr(Scaled, "fit", None)  # fails if called
    moved = {"s": Call.of("scaled", {"path": str(tmp_path / "moved.txt")})}
    assert float(rank_collection(line(), moved, cache=cache).lists["s"].queries.scores[0, 1]) == -2.0


@pytest.mark.parametrize("value", ["x" * 5000, "a\0b", ".", ""])
def test_an_option_that_is_not_a_file_is_keyed_by_its_value(tmp_path, monkeypatch, value):
    monkeypatch.setitem(RANKERS._known, "noted", lambda note: Vectors(metric="l2"))
    ranking = rank_collection(line(), {"n": Call.of("noted", {"note": value})}, cache=Cache(tmp_path))
    assert ranking.lists["n"].queries.n_items == 3


def test_lists_of_a_plug_in_are_cached_only_if_it_has_a_digest(tmp_path, monkeypatch):
    @dataclass
    class Plain:
        part: str = "vectors"
        metric: str = "l2"

        def fit(self, items, *, cache=None, progress=None):
            fits.append(type(self).__name__)
            return Vectors(metric="l2").fit(items)

    class Versioned(Plain):
        def digest(self):
            return "2.0"

    fits = []
    cache = Cache(tmp_path)
    for maker in (Plain, Versioned):
        monkeypatch.setitem(RANKERS._known, "mine", maker)
        for _ in range(2):
            rank_collection(line(), {"mine": "mine"}, cache=cache)
    assert fits == ["Plain", "Plain", "Versioned"]


def test_an_image_path_is_keyed_by_its_content(tmp_path):
    tops = []
    for top in ("a", "b"):
        for name, color in (("a", "red"), ("b", "blue"), ("c", "red" if top == "a" else "blue")):
            Image.new("RGB", (8, 9), color).save(tmp_path / f"{name}.png")
        paths = [str(tmp_path / f"{name}.png") for name in "abc"]
        images = Collection("images", Ids(["a", "b", "c"]), {"images": paths})
        done = rank_collection(images, {"gch": "gch"}, cache=Cache(tmp_path / "cache"))
        tops.append(list(done.lists["gch"].queries.to_dict()["c"])[1])
    assert tops == ["a", "b"]


def test_an_image_rewritten_while_ranking_is_not_cached(tmp_path, monkeypatch):
    save(tmp_path / "images", "a.png", "b.png")
    before = (tmp_path / "images" / "b.png").read_bytes()
    load = ImageFile.load

    def rewriting(image):
        Image.new("RGB", (80, 9), "blue").save(tmp_path / "images" / "b.png")
        return load(image)

    cache, gch = Cache(tmp_path / "cache"), {"gch": "gch"}
    monkeypatch.setattr(ImageFile, "load", rewriting)
    rank_collection(folder(tmp_path / "images"), gch, cache=cache)
    monkeypatch.undo()
    (tmp_path / "images" / "b.png").write_bytes(before)
    cached, fresh = (rank_collection(folder(tmp_path / "images"), gch, cache=c).lists["gch"] for c in (cache, None))
    np.testing.assert_array_equal(cached.queries.scores, fresh.queries.scores)


def test_run_files_are_not_cached_and_have_lists_of_queries_only(tmp_path):
    run = tmp_path / "a.run"
    call = {"run": Call.of("file", {"path": str(run)})}
    collection = Collection("runs", Ids(["d1"]), queries=Queries(Ids(["1"]), {"1": {"d1": 1}}))
    run.write_text("1 Q0 d1 1 2.0 x\n1 Q0 d9 2 1.0 x\n")
    lists = rank_collection(collection, call, cache=Cache(tmp_path / "cache")).lists["run"]
    assert lists.queries.to_dict() == {"1": {"d1": 2.0, "d9": 1.0}}
    assert lists.items is None
    run.write_text("1 Q0 d9 1 2.0 x\n")
    lists = rank_collection(collection, call, cache=Cache(tmp_path / "cache")).lists["run"]
    assert lists.queries.to_dict() == {"1": {"d9": 2.0}}


def test_an_unreadable_image_is_skipped_for_all_rankers(tmp_path):
    save(tmp_path / "p", "x/1.png", "x/2.png", "y/3.png", "y/4.png")
    (tmp_path / "p" / "x" / "2.png").write_bytes(b"")
    ranking = rank_collection(folder(str(tmp_path / "p")), {"b": "bic", "g": "gch"})
    assert list(ranking.collection.ids) == ["x/1.png", "y/3.png", "y/4.png"]
    assert ranking.collection.labels == ("x", "y", "y")
    assert {lists.queries.item_ids for lists in ranking.lists.values()} == {ranking.collection.ids}
    assert ranking.skipped == {"x/2.png": f"{tmp_path / 'p' / 'x' / '2.png'} is empty."}
    assert ranking.summary().splitlines()[0] == "Ranked 3 items of p by b, g. Skipped 1 unreadable:"
    assert "x/2.png: " in ranking.summary()


@pytest.mark.parametrize("cached", [False, True])
def test_a_missing_image_is_skipped(tmp_path, cached):
    save(tmp_path / "p", "1.png", "2.png", "3.png")
    collection = folder(str(tmp_path / "p"))
    (tmp_path / "p" / "1.png").unlink()
    ranking = rank_collection(collection, {"b": "bic"}, cache=Cache(tmp_path / "c" if cached else None))
    assert list(ranking.skipped) == ["1.png"]
    assert ranking.lists["b"].queries.n_items == 2


def test_strict_names_unreadable_items(tmp_path):
    save(tmp_path, "1.png", "2.png")
    (tmp_path / "2.png").write_bytes(b"no")
    with pytest.raises(UnreadableItemsError, match=r"Cannot read 1 of the items: .*2\.png is not an image"):
        rank_collection(folder(str(tmp_path)), {"b": "bic"}, strict=True)


def test_a_collection_without_readable_items_is_an_error(tmp_path):
    for name in "1234":
        (tmp_path / f"{name}.png").write_bytes(b"no")
    with pytest.raises(InputError, match=r"Cannot read 4 of the items: .* And 1 more\."):
        rank_collection(folder(str(tmp_path)), {"b": "bic"})


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_a_mismatch_of_rows_mentions_skipped_items(tmp_path):
    save(tmp_path / "images", "a.png", "b.png")
    (tmp_path / "images" / "c.png").write_bytes(b"junk")
    np.save(tmp_path / "x.npy", np.eye(3))
    rankers = {"gch": "gch", "x": Call.of("vectors", {"path": str(tmp_path / "x.npy")})}
    with pytest.raises(InputError, match=r"2 items; got .* Skipped 1 unreadable, such as c\.png: .* their rows"):
        rank_collection(folder(tmp_path / "images"), rankers)


def test_an_unreadable_items_error_without_items_is_raised():
    class Odd:
        part = "vectors"

        def fit(self, items, *, cache=None, progress=None):
            raise UnreadableItemsError({})

    with pytest.raises(UnreadableItemsError):
        rank_collection(line(), {"odd": Odd()})


def test_only_an_added_image_is_described(tmp_path, monkeypatch):
    from rankloom.rankers.image import image_features

    seen = []
    load = image_features.pixels
    monkeypatch.setattr(image_features, "pixels", lambda item: seen.append(item.path.name) or load(item))
    save(tmp_path / "p", "1.png", "2.png")
    cache = Cache(tmp_path / "cache")
    rank_collection(folder(str(tmp_path / "p")), {"b": "bic"}, cache=cache)
    save(tmp_path / "p", "3.png")
    ranks = rank_collection(folder(str(tmp_path / "p")), {"b": "bic"}, cache=cache).lists["b"].queries
    assert sorted(seen) == ["1.png", "2.png", "3.png"]
    assert ranks.items[:, 0].tolist() == [0, 1, 2]


def test_invalid_rankers_parts_and_depths_are_rejected():
    with pytest.raises(InputError, match=r"Unknown ranker 'bik'; .* Did you mean 'bic'"):
        rank_collection(line(), {"x": "bik"})
    with pytest.raises(InputError, match="The ranker 'bic' has no option 'side'; it has distance, longest_side"):
        rank_collection(line(), {"x": "bic(side=3)"})
    with pytest.raises(InputError, match="needs images, which these items lack; they have ids, vectors"):
        rank_collection(line(), {"x": "bic"})
    with pytest.raises(InputError, match="depth must be a whole number, at least 1; got 0"):
        rank_collection(line(), NEAR, depth=0)


def test_a_ranker_that_returns_too_few_lists_is_rejected():
    @dataclass
    class Half:
        part: str = "vectors"

        def fit(self, items, *, cache=None, progress=None):
            return self

        def rank(self, *, queries=None, depth=1000, progress=None):
            return Ranks([[0]], None, 3)

    with pytest.raises(InputError, match=r"must return 3 lists over 3 items; got 1 over 3\. Check it with"):
        rank_collection(line(), {"half": Half()})


def test_one_spelling_is_one_ranker():
    lists = rank_collection(line(), "vectors(metric=l2)", depth=2).lists
    assert list(lists) == ["vectors(metric=l2)"]
    assert lists["vectors(metric=l2)"].items.items.tolist() == [[0, 2], [1, 2], [2, 0]]


class Mute:
    """A plug-in that does not say whether its scores are comparable."""

    part = "vectors"

    def fit(self, items, *, cache=None, progress=None):
        return Vectors().fit(items)


def test_rankers_say_whether_scores_of_queries_and_items_are_comparable():
    vectors = np.eye(3)
    image = np.zeros((4, 4, 3), np.uint8)
    parts = {"vectors": vectors, "texts": ["a cat", "a dog", "a cow"], "images": [image, image + 9, image + 99]}
    collection = Collection("pets", Ids(list("abc")), parts, labels=("x", "y", "z"))
    spelled = {"v": "vectors", "w": "vectors(comparable=no)", "t": "okapi", "i": "bic", "m": Mute()}
    lists = rank_collection(collection, spelled).lists
    assert {name: one.traits.comparable for name, one in lists.items()} == {
        "v": True, "w": False, "t": False, "i": True, "m": False
    }  # fmt: skip


def test_comparable_holds_for_external_queries_too(tmp_path):
    vectors = np.eye(3)
    queries = Queries(Ids(["q"]), {"q": {"a": 1}}, {"vectors": vectors[:1]})
    collection = Collection("pets", Ids(list("abc")), {"vectors": vectors}, queries=queries)
    for _ in range(2):  # the second time from the cache
        assert rank_collection(collection, ["vectors"], cache=Cache(tmp_path)).lists["vectors"].traits.comparable
