"""A library agrees with the index, methods and rankers that it is made of."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from web_collection import baskets, image

import rankloom as rl
from rankloom.datasets import emoji
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.web import Library
from rankloom.web.queries import Choice, ImageQuery, ItemQuery, TextQuery


def test_search_by_item_agrees_with_an_index(library):
    index = rl.FusionIndex.build(list(library.ranks.values()), cutoff=4)
    found = library.search(ItemQuery(3), library.defaults)
    expected = index.search(items=[3], k=20)
    assert np.array_equal(found.items, expected.items)
    assert np.array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("method", ["rrf", "combsum", "borda", "sca"])
def test_other_methods_agree_with_fuse(library, method):
    choice = library.choose({"method": method, "k": 5})
    expected = rl.fuse(list(library.ranks.values()), method=method, k=5)
    assert np.array_equal(library.search(ItemQuery(7), choice).items[0], expected.items[7])


def test_image_query_goes_to_image_rankers_only(library):
    query = ImageQuery("green", image("green", 30))
    lists = library.lists(query, library.defaults)
    assert [name for name, ranks in lists.items() if (ranks.items != -1).any()] == ["bic", "gch"]
    found = library.search(query, library.defaults)
    assert {library.collection.labels[number] for number in found.items[0, :6].tolist()} == {"green"}


def test_text_query_goes_to_text_rankers_only(library):
    lists = library.lists(TextQuery("blue figs"), library.defaults)
    assert [name for name, ranks in lists.items() if (ranks.items != -1).any()] == ["okapi", "jaccard"]
    assert library.search(TextQuery("blue figs"), library.defaults).items[0, 0] == 15


def test_unknown_words_find_nothing(library):
    assert (library.search(TextQuery("zebra"), library.defaults).items == -1).all()


def test_error_names_the_rankers_that_accept_the_query(library):
    with pytest.raises(InputError, match=r"accepts text; choose from okapi, jaccard"):
        library.search(TextQuery("fig"), library.choose({"rankers": ("bic",)}))


def test_collection_methods_do_not_answer_external_queries(library):
    assert "rkgraph" in library.methods(ItemQuery(0))
    assert "rkgraph" not in library.methods(TextQuery("fig"))
    assert "fg" in library.methods(TextQuery("fig"))
    with pytest.raises(InputError, match="does not answer external queries"):
        library.search(TextQuery("fig"), library.choose({"method": "rkgraph"}))


def test_rankers_can_be_left_out(library):
    choice = library.choose({"rankers": ("jaccard", "bic")})
    assert choice.rankers == ("bic", "jaccard")  # in the library's order: one choice, one index
    expected = rl.FusionIndex.build([library.ranks["bic"], library.ranks["jaccard"]], cutoff=4)
    assert np.array_equal(library.search(ItemQuery(2), choice).items, expected.search(items=[2], k=20).items)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "rff"}, "Did you mean 'rrf'"),
        ({"rankers": ("bik",)}, "Did you mean 'bic'"),
        ({"rankers": ()}, "at least one ranker"),
    ],
)
def test_invalid_choice_is_an_error(library, changes, message):
    with pytest.raises(InputError, match=message):
        library.choose(changes)


def test_contributions_add_up_to_the_similarity(library):
    found = library.search(ItemQuery(4), library.defaults)
    number, score = int(found.items[0, 1]), float(found.scores[0, 1])
    why = library.compare(ItemQuery(4), number, library.defaults).why
    assert sum(part.contribution for part in why.parts) == pytest.approx(score, abs=1e-6)


def test_queries_are_not_cached_on_disk(tmp_path):
    library = Library.open(baskets(), ["bic"], cache=Cache(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    library.search(ImageQuery("new", image("red", 40)), library.defaults)
    assert before
    assert sorted(tmp_path.rglob("*")) == before


def test_second_start_has_the_same_lists(tmp_path):
    first = Library.open(baskets(), ["bic", "okapi"], cache=Cache(tmp_path))
    again = Library.open(baskets(), ["bic", "okapi"], cache=Cache(tmp_path))
    assert first.version == again.version
    assert np.array_equal(first.ranks["bic"].items, again.ranks["bic"].items)


def test_version_changes_with_the_images():
    one = baskets()
    other = replace(one, parts={**one.parts, "images": one.parts["images"][::-1]})
    assert Library.open(one, ["okapi"]).version == Library.open(baskets(), ["okapi"]).version
    assert Library.open(one, ["okapi"]).version != Library.open(other, ["okapi"]).version


def test_query_image_is_released(library):
    query = ImageQuery("gone", image("red", 31))
    content = weakref.ref(query.content)
    library.search(query, library.defaults)
    del query
    gc.collect()
    assert content() is None


def test_index_on_disk_is_searched_by_its_ids(tmp_path):
    names = ["a", "b", "c"]
    ranks = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], item_ids=names, query_ids=names)
    rl.FusionIndex.build([ranks, ranks], cutoff=2).save(tmp_path / "x.loom")
    library = Library.of_index(rl.FusionIndex.open(tmp_path / "x.loom"), "x.loom")
    assert list(library.collection.ids) == names
    assert library.methods() == ["fg"]
    assert library.search(ItemQuery(0), library.defaults).items[0].tolist()[:2] == [0, 1]
    with pytest.raises(UnknownNameError, match="Unknown method"):
        library.choose({"method": "rrf"})
    with pytest.raises(InputError, match="cannot be changed"):
        library.choose({"cutoff": 3})


def test_index_of_another_choice_is_built_once(library):
    choice = Choice(("bic", "okapi"), cutoff=2)
    assert not library.ready(choice)
    assert library.index(choice) is library.index(choice)
    assert library.ready(choice)


def test_query_image_is_reduced_to_the_size_of_the_collection():
    library = Library.open(emoji(first=60), ["bic", "las"], cache=Cache(None))
    assert library.image_side == 64
    large = library.collection.part("images")[10].load().repeat(5, axis=0).repeat(5, axis=1)
    found = library.search(ImageQuery("large", large), library.defaults)
    assert found.items[0, 0] == 10


def test_text_query_gets_no_virtual_positions():
    library = Library.open(emoji(first=60), ["jaccard", "bow"], cache=Cache(None))
    query = TextQuery("happy face")
    lists = list(library.lists(query, library.defaults).values())
    expected = library.index(library.defaults).search(lists, k=5, virtual=False)
    assert library.search(query, library.defaults, 5).items.tolist() == expected.items.tolist()
    compared = library.compare(query, int(expected.items[0, 0]), library.defaults)
    assert compared.why.similarity == pytest.approx(float(expected.scores[0, 0]), abs=1e-6)


def test_image_query_gets_virtual_positions():
    library = Library.open(emoji(first=60), ["bic", "las"], cache=Cache(None))
    query = ImageQuery("one", library.collection.part("images")[10].load())
    lists = list(library.lists(query, library.defaults).values())
    expected = library.index(library.defaults).search(lists, k=5, virtual=True)
    assert library.search(query, library.defaults, 5).items.tolist() == expected.items.tolist()


@pytest.mark.parametrize("method", ["weft", "vote"])
def test_weft_and_vote_use_the_rankers_that_accept_a_query(library, method):
    choice = library.choose({"method": method, "k": 5})
    query = TextQuery("blue figs")
    names = ["okapi", "jaccard"]
    lists = [library.lists(query, choice)[name] for name in names]
    expected = rl.fuse(lists, method, 5, collection=[library.ranks[name] for name in names])
    assert np.array_equal(library.search(query, choice).items, expected.items)


@pytest.mark.parametrize("method", ["weft", "vote"])
def test_weft_and_vote_of_an_item_agree_with_fuse(library, method):
    choice = library.choose({"method": method, "k": 5})
    found = library.search(ItemQuery(7), choice)
    assert np.array_equal(found.items[0], rl.fuse(list(library.ranks.values()), method, 5).items[7])
    assert library.ready(choice)
