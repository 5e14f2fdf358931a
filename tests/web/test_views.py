"""The views of a searcher: titles, classes and images come from its documents or a collection."""

import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest
from sample_texts import documents, encode
from web_collection import baskets, encoded, image

import rankloom as rl
from rankloom.datasets import Collection, Queries, emoji
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.ranks import Ids
from rankloom.web import Tour
from rankloom.web.stories import story
from rankloom.web.views import Views

PETS = [
    {"id": "a", "title": "Tom", "text": "a cat sat on the mat", "label": "cat"},
    {"id": "b", "name": "Rex", "text": "the dog chased the cat", "label": "dog"},
    {"id": "c", "text": "a dog and a bone", "label": None},
]


@pytest.fixture(scope="module")
def views(searcher):
    return Views(searcher, baskets())


@pytest.fixture(scope="module")
def pets():
    return Views(rl.Searcher.build(PETS, ["okapi", "jaccard"]))


def test_titles_are_fields_or_else_ids(pets):
    assert [pets.title(number) for number in range(3)] == ["Tom", "Rex", "c"]
    assert pets.browse(find="re")["items"][0]["id"] == "b"


def test_classes_come_from_the_documents(pets):
    assert pets.browse()["labels"] == ["cat", "dog"]
    assert [one["id"] for one in pets.browse(label="cat")["items"]] == ["a"]
    views = Views(rl.Searcher.build([*PETS, {"id": "d", "text": "a cat", "label": "cat"}], ["okapi"]))
    hits = views.search(views.item_query(0), views.defaults)["results"]
    assert {hit["id"]: hit["relevant"] for hit in hits} == {"b": False, "c": False, "d": True}


def test_documents_without_classes_have_no_measures():
    views = Views(rl.Searcher.build(["a cat", "a dog", "cat and dog"], ["okapi"]))
    found = views.search(views.item_query(0), views.defaults)
    assert found["measures"] is None
    assert {hit["relevant"] for hit in found["results"]} == {None}


def test_views_do_not_see_later_updates():
    searcher = rl.Searcher.build(PETS, ["okapi", "jaccard"])
    before = Views(searcher)
    searcher.add([{"id": "d", "text": "a cat and a cat"}])
    assert (len(before), len(Views(searcher))) == (3, 4)
    assert "d" not in [hit["id"] for hit in before.search(before.text_query("cat"), before.defaults)["results"]]


def test_images_are_those_of_the_collection_or_files_named_by_documents(tmp_path, searcher):
    path = tmp_path / "red.png"
    path.write_bytes(encoded(image("red")))
    documents = [{"id": "a", "text": "red", "image": str(path)}, {"id": "b", "text": "blue"}]
    views = Views(rl.Searcher.build(documents, ["okapi"]))
    assert views.image_url(0).startswith("/image/0?v=")
    assert views.image_url(1) is None
    assert views.gallery.file(0)[1] == "image/png"
    assert Views(searcher).image_url(0) is None
    assert Views(searcher, baskets()).image_url(0) is not None


def test_documents_name_images_by_url_not_by_path(tmp_path):
    path = tmp_path / "red.png"
    path.write_bytes(encoded(image("red")))
    views = Views(rl.Searcher.build([{"id": "a", "text": "red", "image": str(path)}], ["okapi"]))
    assert views.document(0) == {"id": "a", "text": "red", "image": views.image_url(0)}
    assert views.document(0, ["text", "nothing"]) == {"text": "red"}


def test_version_of_an_image_changes_with_its_content(searcher):
    items = baskets()
    other = Collection(items.name, items.ids, {**items.parts, "images": items.parts["images"][::-1]})
    one, same, changed = (Views(searcher, collection) for collection in (items, baskets(), other))
    assert one.image_url(0) == same.image_url(0) != changed.image_url(0)


def test_blocks_of_a_sheet_are_not_named_as_files():
    searcher = rl.Searcher.build(emoji(first=20), ["jaccard"])
    assert "image" not in searcher.documents[0]
    assert Views(searcher).title(0) == "grinning face"
    assert Views(searcher, emoji(first=20)).image_url(0) is not None


def test_external_queries_go_to_the_rankers_that_accept_them(views):
    for query, names in (
        (views.text_query("blue figs"), ["okapi", "jaccard"]),
        (views.image_query("x", image("green", 30)), ["bic", "gch"]),
    ):
        found = views.search(query, views.defaults)
        assert [one["ranker"] for one in found["lists"] if one["accepts"]] == names
        assert [one["items"] for one in found["lists"] if not one["accepts"]] == [[], []]
        assert all(hit["positions"].keys() == set(views.searcher.rankers) for hit in found["results"])
    assert {hit["label"] for hit in found["results"][:6]} == {"green"}


def test_error_names_the_rankers_that_accept_the_query(views):
    with pytest.raises(InputError, match=r"accepts texts; choose from okapi, jaccard"):
        views.search(views.text_query("fig"), views.choose({"rankers": ("bic",)}))


def test_methods_that_can_answer_are_offered(views):
    items = views.search(views.item_query(0), views.defaults)["methods"]
    words = views.search(views.text_query("fig"), views.defaults)["methods"]
    assert {"auto", "fg", "rkgraph"} <= set(items)
    assert {"auto", "fg", "vote"} <= set(words)
    assert "rkgraph" not in words


def test_rankers_are_in_the_order_of_the_searcher(views):
    assert views.choose({"rankers": ("jaccard", "bic")}).rankers == ("bic", "jaccard")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "rff"}, "Did you mean 'rrf'"),
        ({"rankers": ("bik",)}, "Did you mean 'bic'"),
        ({"rankers": ()}, "at least one ranker"),
    ],
)
def test_invalid_choice_is_an_error(views, changes, message):
    with pytest.raises(InputError, match=message):
        views.choose(changes)


def test_words_are_marked_only_if_a_text_ranker_uses_them():
    texts = [f"the common word{'' if n else ', an otter'} and item{n}" for n in range(30)]
    views = Views(rl.Searcher.build(texts, ["okapi", "jaccard"]))
    query = views.text_query("the common otter and a unicorn")
    assert views.answer(query, views.defaults).terms == {"otter"}
    assert views.answer(views.item_query(0), views.defaults).terms == {"otter", "item0"}


def test_image_rankers_mark_no_words(views):
    query = views.item_query(3)
    assert views.answer(query, views.choose({"rankers": ("bic",)})).terms == frozenset()
    assert "fig" in views.answer(query, views.choose({"rankers": ("bic", "jaccard")})).terms


def test_item_on_no_list_is_found_through_its_neighbors():
    # Each text shares its last word with the next one only, so "a b" leads to "c d" through "b c".
    words = [f"w{n}" for n in range(300)]
    chain = [f"{one} {other}" for one, other in pairwise(words)]
    views = Views(rl.Searcher.build(chain, ["okapi"], cutoff=4))
    hits = views.search(views.item_query(100), views.defaults)["results"]
    far = next(hit for hit in hits if hit["number"] == 102)
    assert set(far["positions"].values()) == {None}
    assert "101" in far["through"]
    assert next(hit for hit in hits if hit["number"] == 101)["through"] is None


def test_judged_queries_have_marks_and_measures():
    qrels = {"q1": {"b": 2, "c": 1, "a": 0}}
    queries = Queries(Ids(["q1", "q2"]), qrels, {"texts": ["a  dog", "never judged"]})
    items = Collection("pets", Ids(list("abc")), {"texts": [one["text"] for one in PETS]}, queries=queries)
    views = Views(rl.Searcher.build(items, ["okapi", "jaccard"]), items)
    assert views.browse()["queries"] == ["a dog"]
    found = views.search(views.text_query("a dog"), views.defaults)
    assert [(hit["id"], hit["relevant"]) for hit in found["results"]] == [("c", True), ("b", True), ("a", False)]
    assert found["measures"]["ndcg@10"] == round((1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3)), 4)
    assert found["measures"]["p@10"] == 0.2
    assert views.search(views.text_query("a cat"), views.defaults)["measures"] is None


def test_document_is_read_in_full(pets):
    long = " ".join(f"word{n}" for n in range(500))
    views = Views(rl.Searcher.build([{"id": "x", "text": long, "year": 1961}, *PETS], ["okapi"]))
    read = views.read(0)
    assert (read["item"]["text"], read["fields"]) == (long, {"year": 1961})
    assert len(views.card(0)["text"]) < 300


def test_examples_that_cannot_be_searched_are_left_out():
    searcher = rl.Searcher.build(PETS, ["okapi", "jaccard"])
    examples = [{"item": "a"}, {"query": "dog"}]
    assert len(Views(searcher, tour=Tour(examples=examples)).browse()["stories"]) == 2
    searcher.delete(["a"])
    assert [one["query"]["title"] for one in Views(searcher, tour=Tour(examples=examples)).browse()["stories"]] == [
        "dog"
    ]
    images = rl.Searcher.build(baskets(), ["bic"])
    assert Views(images, baskets(), tour=Tour(examples=[{"query": "dog"}])).browse()["stories"] == []


def test_items_without_a_class_are_not_a_class():
    views = Views(rl.Searcher.build([*PETS, {"id": "d", "text": "a dog", "label": None}], ["okapi"]))
    found = [views.search(views.item_query(number), views.defaults)["measures"] for number in range(3)]
    assert found == [None] * 3  # the only one of its class, or without a class


def test_story_shows_each_ranker_then_rrf_and_the_default(views):
    rows = story(views, {"query": "blue figs"})["rows"]
    assert [row["name"] for row in rows] == ["okapi", "jaccard", "rrf", "vote"]
    rows = story(views, {"item": "red/fig <3>.png"})["rows"]
    assert [row["name"] for row in rows] == ["bic", "gch", "okapi", "jaccard", "rrf", "weft"]
    assert [row["fused"] for row in rows] == [False] * 4 + [True] * 2


def test_thumbnails_of_a_story_lead_to_their_items_by_the_default_and_those_of_rrf_by_rrf(views):
    for row in story(views, {"item": "red/fig <3>.png"})["rows"]:
        suffix = "?method=rrf" if row["name"] == "rrf" else ""
        assert [one["url"] for one in row["items"]] == [f"/item/{one['number']}{suffix}" for one in row["items"]]
        assert 3 not in [one["number"] for one in row["items"]]


def test_a_tour_has_a_heading_and_plain_names_of_rankers(searcher):
    shown = Views(searcher, baskets(), tour=Tour("Better", {"bic": "colors at borders"})).browse()
    assert shown["heading"] == "Better"
    assert [one["title"] for one in shown["rankers"]] == ["colors at borders (bic)", "gch", "okapi", "jaccard"]
    assert Views(searcher, baskets()).browse()["heading"] == "baskets"


def test_query_images_are_neither_cached_on_disk_nor_kept(tmp_path):
    searcher = rl.Searcher.build(baskets(), ["bic"], cache=Cache(tmp_path))
    views = Views(searcher, baskets())
    before = sorted(tmp_path.rglob("*"))
    content = image("red", 40)
    gone = weakref.ref(content)
    views.search(views.image_query("new", content), views.defaults)
    assert sorted(tmp_path.rglob("*")) == before != []
    del content
    gc.collect()
    assert gone() is None


def test_query_image_is_reduced_to_the_size_of_the_collection():
    items = emoji(first=60)
    views = Views(rl.Searcher.build(items, ["bic", "las"]), items)
    assert views.gallery.side == 64
    large = items.part("images")[10].load().repeat(5, axis=0).repeat(5, axis=1)
    assert views.search(views.image_query("large", large), views.defaults)["results"][0]["number"] == 10


def test_index_on_disk_is_searched_by_its_ids(tmp_path):
    names = ["a", "b", "c"]
    ranks = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], item_ids=names, query_ids=names)
    rl.FusionIndex.build([ranks, ranks], cutoff=2).save(tmp_path / "x.loom")
    searcher = rl.Searcher.of_index(rl.FusionIndex.open(tmp_path / "x.loom"), "x.loom")
    assert list(searcher.ids) == names
    assert searcher.search(item="a", k=1)[0].document == {"id": "a"}
    views = Views(searcher)
    assert views.defaults.method == "fg"
    assert [hit["id"] for hit in views.search(views.item_query(0), views.defaults)["results"]] == ["b", "c"]
    batch = searcher.search(item=["a", "b"], k=1, offset=1)
    assert [[(hit.id, hit.position) for hit in answer] for answer in batch] == [[("b", 2)], [("a", 2)]]
    with pytest.raises(UnknownNameError, match="Unknown method"):
        views.choose({"method": "rrf"})
    with pytest.raises(InputError, match="cannot be changed"):
        views.search(views.item_query(0), views.choose({"cutoff": 3}))
    with pytest.raises(InputError, match="graphs only"):
        searcher.search("words")


def test_index_on_disk_agrees_with_the_index():
    random = np.random.default_rng(3)
    ranks = rl.Ranks.from_vectors(random.normal(size=(40, 4)), "l2", depth=20)
    index = rl.FusionIndex.build([ranks], cutoff=5)
    expected = index.search(items=[7], k=10, comparator="mcs")
    answer = rl.Searcher.of_index(index).search(item="7", method="fg(comparator=mcs)")
    assert [int(hit.id) for hit in answer] == expected.items[0].tolist()
    assert [hit.score for hit in answer] == expected.scores[0].tolist()


def test_a_searcher_over_an_index_cannot_be_updated_or_saved(tmp_path):
    searcher = rl.Searcher.of_index(rl.FusionIndex.build([rl.Ranks([[0, 1], [1, 0]])], cutoff=2))
    for change in (
        lambda: searcher.add(["new"]),
        lambda: searcher.delete(["0"]),
        lambda: searcher.save(tmp_path / "y"),
    ):
        with pytest.raises(InputError, match="no documents to add, delete or save"):
            change()


def test_the_page_shows_the_self_test_and_searches_as_the_searcher_does():
    from starlette.testclient import TestClient

    from rankloom.web import make_app

    rankers = {"bm25": "bm25", "dense": encode, "blind": lambda texts: np.ones((len(texts), 3), np.float32)}
    searcher = rl.Searcher.build(documents(80), rankers, self_test=True)
    with TestClient(make_app(searcher), base_url="http://127.0.0.1:8000") as client:
        assert "Self-test with 80 documents: bm25 ." in client.get("/").text
        answer = client.get("/search.json", params={"q": "heat in a slab"}).json()
    assert answer["choice"]["rankers"] == ["bm25", "dense"]
    expected = searcher.search("heat in a slab", k=5)
    assert [one["id"] for one in answer["results"][:5]] == [hit.id for hit in expected]
