"""A library answers as the parts it is made of do."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from web_collection import baskets, picture

import rankloom as rl
from rankloom.datasets import emoji
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.web import Library
from rankloom.web.queries import Choice, Item, Picture, Words


def test_an_item_is_searched_as_an_index_of_the_same_lists_does(library):
    index = rl.FusionIndex.build(list(library.ranks.values()), cutoff=4)
    found = library.search(Item(3), library.standard)
    expected = index.search(items=[3], k=20)
    assert np.array_equal(found.items, expected.items)
    assert np.array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("method", ["rrf", "combsum", "borda", "sca"])
def test_other_methods_answer_as_fuse_does(library, method):
    choice = library.choose({"method": method, "k": 5})
    expected = rl.fuse(list(library.ranks.values()), method=method, k=5)
    assert np.array_equal(library.search(Item(7), choice).items[0], expected.items[7])


def test_a_picture_is_asked_of_rankers_of_pictures_and_finds_its_class_first(library):
    asked = Picture("green", picture("green", 30))
    lists = library.lists(asked, library.standard)
    assert [name for name, ranks in lists.items() if (ranks.items != -1).any()] == ["bic", "gch"]
    found = library.search(asked, library.standard)
    assert {library.collection.labels[number] for number in found.items[0, :6].tolist()} == {"green"}


def test_words_are_asked_of_rankers_of_texts_alone(library):
    lists = library.lists(Words("blue figs"), library.standard)
    assert [name for name, ranks in lists.items() if (ranks.items != -1).any()] == ["okapi", "jaccard"]
    assert library.search(Words("blue figs"), library.standard).items[0, 0] == 15


def test_words_that_no_text_has_find_nothing(library):
    assert (library.search(Words("zebra"), library.standard).items == -1).all()


def test_a_choice_without_a_ranker_that_takes_the_query_is_an_error_that_names_one(library):
    with pytest.raises(InputError, match=r"takes words; choose from okapi, jaccard"):
        library.search(Words("fig"), library.choose({"rankers": ("bic",)}))


def test_methods_of_the_whole_collection_are_not_offered_for_queries_from_outside(library):
    assert "rkgraph" in library.methods(Item(0))
    assert "rkgraph" not in library.methods(Words("fig"))
    assert "fg" in library.methods(Words("fig"))
    with pytest.raises(InputError, match="knows only items"):
        library.search(Words("fig"), library.choose({"method": "rkgraph"}))


def test_rankers_can_be_left_out(library):
    choice = library.choose({"rankers": ("jaccard", "bic")})
    assert choice.rankers == ("bic", "jaccard")  # in the library's order: one choice, one index
    expected = rl.FusionIndex.build([library.ranks["bic"], library.ranks["jaccard"]], cutoff=4)
    assert np.array_equal(library.search(Item(2), choice).items, expected.search(items=[2], k=20).items)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"method": "rff"}, "Did you mean 'rrf'"),
        ({"rankers": ("bik",)}, "Did you mean 'bic'"),
        ({"rankers": ()}, "at least one ranker"),
    ],
)
def test_a_choice_that_cannot_be_says_what_can(library, asked, message):
    with pytest.raises(InputError, match=message):
        library.choose(asked)


def test_parts_of_a_comparison_add_up_to_the_similarity_of_the_search(library):
    found = library.search(Item(4), library.standard)
    number, score = int(found.items[0, 1]), float(found.scores[0, 1])
    why = library.compare(Item(4), number, library.standard).why
    assert sum(part.contribution for part in why.parts) == pytest.approx(score, abs=1e-6)


def test_what_is_asked_leaves_nothing_in_the_cache(tmp_path):
    library = Library.open(baskets(), ["bic"], cache=Cache(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    library.search(Picture("new", picture("red", 40)), library.standard)
    assert before
    assert sorted(tmp_path.rglob("*")) == before


def test_lists_of_a_second_start_are_those_of_the_first(tmp_path):
    first = Library.open(baskets(), ["bic", "okapi"], cache=Cache(tmp_path))
    again = Library.open(baskets(), ["bic", "okapi"], cache=Cache(tmp_path))
    assert first.version == again.version
    assert np.array_equal(first.ranks["bic"].items, again.ranks["bic"].items)


def test_other_pictures_of_the_same_names_and_lists_are_another_version():
    one = baskets()
    other = replace(one, parts={**one.parts, "images": one.parts["images"][::-1]})
    assert Library.open(one, ["okapi"]).version == Library.open(baskets(), ["okapi"]).version
    assert Library.open(one, ["okapi"]).version != Library.open(other, ["okapi"]).version


def test_a_picture_that_was_asked_is_not_kept(library):
    asked = Picture("gone", picture("red", 31))
    kept = weakref.ref(asked.content)
    library.search(asked, library.standard)
    del asked
    gc.collect()
    assert kept() is None


def test_an_index_on_disk_is_searched_and_explained_by_its_names(tmp_path):
    names = ["a", "b", "c"]
    ranks = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], item_ids=names, query_ids=names)
    rl.FusionIndex.build([ranks, ranks], cutoff=2).save(tmp_path / "x.loom")
    library = Library.of_index(rl.FusionIndex.open(tmp_path / "x.loom"), "x.loom")
    assert list(library.collection.ids) == names
    assert library.methods() == ["fg"]
    assert library.search(Item(0), library.standard).items[0].tolist()[:2] == [0, 1]
    with pytest.raises(UnknownNameError, match="Unknown method"):
        library.choose({"method": "rrf"})
    with pytest.raises(InputError, match="can't be changed"):
        library.choose({"cutoff": 3})


def test_the_index_of_another_choice_is_made_once_and_kept(library):
    choice = Choice(("bic", "okapi"), cutoff=2)
    assert not library.ready(choice)
    assert library.index(choice) is library.index(choice)
    assert library.ready(choice)


def test_a_picture_of_another_size_is_brought_to_that_of_the_collection():
    library = Library.open(emoji(first=60), ["bic", "las"], cache=Cache(None))
    assert library.side == 64
    large = library.collection.part("images")[10].load().repeat(5, axis=0).repeat(5, axis=1)
    found = library.search(Picture("large", large), library.standard)
    assert found.items[0, 0] == 10


def test_words_are_used_as_they_come_without_virtual_positions():
    library = Library.open(emoji(first=60), ["jaccard", "bow"], cache=Cache(None))
    query = Words("happy face")
    lists = list(library.lists(query, library.standard).values())
    expected = library.index(library.standard).search(lists, k=5, virtual=False)
    assert library.search(query, library.standard, 5).items.tolist() == expected.items.tolist()
    compared = library.compare(query, int(expected.items[0, 0]), library.standard)
    assert compared.why.similarity == pytest.approx(float(expected.scores[0, 0]), abs=1e-6)
