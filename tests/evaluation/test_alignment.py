"""The check that the files of several rankers are in the same order, against all permutations and on real lists."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from rankloom import RankloomWarning, Ranks
from rankloom.errors import InputError
from rankloom.evaluation import check_alignment
from rankloom.evaluation.alignment import Neighbors, sharing


def renamed(ranks, new):
    """Return the lists with item i called new[i], rows included."""
    items = np.empty_like(ranks.items)
    items[new] = np.where(ranks.items >= 0, new[ranks.items], -1)
    return Ranks(items, n_items=ranks.n_items)


def shuffled(classes, seed=0):
    rng, new = np.random.default_rng(seed), np.arange(len(classes))
    for one in np.unique(classes):
        members = np.flatnonzero(classes == one)
        new[members] = rng.permutation(members)
    return new


def random_graph(rng, classes, share):
    inside = (classes[:, None] == classes) & ~np.eye(len(classes), dtype=bool)
    return inside & (rng.random(inside.shape) < share)


@pytest.mark.parametrize("sizes", [(5,), (4, 3), (3, 2, 1)])
def test_mean_and_deviation_are_those_of_all_permutations(sizes):
    rng, classes = np.random.default_rng(0), np.repeat(np.arange(len(sizes)), sizes)
    first, second = (random_graph(rng, classes, share) for share in (0.6, 0.4))
    starts = np.cumsum((0, *sizes))
    parts = [permutations(range(a, b)) for a, b in pairwise(starts)]
    orders = [np.concatenate(order).astype(int) for order in product(*parts)]
    counts = [int((first & second[np.ix_(order, order)]).sum()) for order in orders]
    graphs = [Neighbors(np.flatnonzero(one), len(classes), True) for one in (first, second)]
    found = sharing(*graphs, classes)
    assert found.shared == int((first & second).sum())
    assert (found.expected, found.deviation) == pytest.approx((np.mean(counts), np.std(counts)))


@pytest.fixture(scope="module")
def clusters():
    """Two views of 10 classes of 20 items that also differ within classes, and labels."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 20)
    own = 3 * rng.normal(size=(10, 4))[labels] + rng.normal(size=(200, 4))
    views = {
        name: Ranks.from_vectors(own + noise * rng.normal(size=own.shape), "l2", depth=60)
        for name, noise in (("a", 0.3), ("b", 0.6))
    }
    return views, labels


def test_rankers_in_the_same_order_pass(clusters):
    views, labels = clusters
    assert check_alignment(views, labels) == check_alignment(views) == ""


def test_ids_shuffled_within_classes_need_labels_to_be_seen(clusters):
    views, labels = clusters
    wrong = {"a": views["a"], "b": renamed(views["b"], shuffled(labels))}
    with pytest.warns(
        RankloomWarning, match=r"agree within classes no more than shuffled ids would: a and b \(\d+ nei"
    ):
        check_alignment(wrong, labels)
    assert check_alignment(wrong) == ""  # they still agree on classes


def test_ids_shuffled_altogether_are_seen_without_labels(clusters):
    views, _ = clusters
    with pytest.warns(RankloomWarning, match="Are their files in the same order"):
        check_alignment({"a": views["a"], "b": renamed(views["b"], np.random.default_rng(1).permutation(200))})


def test_files_numbered_as_text_are_seen_without_labels_too(clusters):
    views, labels = clusters
    ids = [f"{label}-{number}.png" for label in "abcdefghij" for number in range(1, 21)]
    as_text = np.array(sorted(range(200), key=ids.__getitem__))
    named = {name: Ranks(one.items, n_items=200, item_ids=ids, query_ids=ids) for name, one in views.items()}
    moved = renamed(views["b"], as_text)
    wrong = {"a": named["a"], "b": Ranks(moved.items, n_items=200, item_ids=ids, query_ids=ids)}
    assert check_alignment(named, labels) == check_alignment(named) == ""
    for known in (labels, None):
        with pytest.warns(RankloomWarning, match="as 1, 10, 2, not 1, 2, 10: a and b|no more than shuffled ids"):
            check_alignment(wrong, known)


def test_a_ranker_of_noise_is_no_alarm(clusters):
    views, labels = clusters
    noise = Ranks.from_vectors(np.random.default_rng(2).normal(size=(200, 4)), "l2", depth=60)
    noise = renamed(noise, np.random.default_rng(3).permutation(200))
    assert check_alignment({"a": views["a"], "noise": noise}, labels) == ""


def test_classes_as_small_as_the_lists_are_no_alarm():
    """Lists that hold the whole class agree whatever the order: nothing can be said."""
    labels = np.repeat(np.arange(50), 2)
    lists = Ranks(np.column_stack([np.arange(100), np.arange(100) ^ 1]))
    assert check_alignment({"a": lists, "b": renamed(lists, shuffled(labels))}, labels) == ""


def test_labels_must_match(clusters):
    with pytest.raises(InputError, match="labels must be one for each item, 200 in all; got 3"):
        check_alignment(clusters[0], [0, 1, 1])


@pytest.mark.long
def test_the_lists_of_the_paper_on_mpeg7(shared, tmp_path):
    """Within classes, the paper's AIR agrees with no ranker of ours: its files were numbered in another order."""
    from rankloom.datasets import open_collection
    from rankloom.rankers import rank_collection

    with np.load(shared / "data" / "mpeg7" / "air-top10.npz") as file:
        lists, ids = file["items"], file["ids"][:300]  # the first 15 classes
    for name in ids:
        (tmp_path / name).symlink_to(shared / "data" / "mpeg7" / "images" / name)
    collection = open_collection("mpeg7", path=tmp_path, check=False)
    done = rank_collection(collection, {"BAS": "bas", "SS": "ss"}, depth=60)
    place = np.array([list(collection.ids).index(name) for name in ids])
    kept = np.where(lists[:300] < 300, lists[:300], -1)
    order = np.argsort(kept < 0, axis=1, kind="stable")
    air = renamed(Ranks(np.take_along_axis(kept, order, axis=1), n_items=300), place)
    ours = {name: Ranks(one.queries.items, n_items=300) for name, one in done.lists.items()}
    assert check_alignment(ours, collection.labels) == ""
    with pytest.warns(RankloomWarning, match="BAS and AIR .*; SS and AIR"):
        check_alignment(ours | {"AIR": air}, collection.labels)
    by_text = np.lexsort((np.arange(300), collection.ids))
    moved = renamed(ours["BAS"], by_text)
    named = {"BAS": moved, "SS": ours["SS"]}
    named = {
        k: Ranks(v.items, n_items=300, item_ids=collection.ids, query_ids=collection.ids) for k, v in named.items()
    }
    with pytest.warns(RankloomWarning, match="as 1, 10, 2, not 1, 2, 10: BAS and SS"):
        check_alignment(named, collection.labels)


@pytest.mark.long
def test_soccer_as_it_is_and_shuffled_within_classes(shared):
    from rankloom.datasets import open_collection
    from rankloom.rankers import rank_collection

    collection = open_collection("soccer", path=shared / "data" / "soccer")
    done = rank_collection(collection, {"bic": "bic", "gch": "gch"}, depth=60)
    lists = {name: Ranks(one.queries.items, n_items=280) for name, one in done.lists.items()}
    assert check_alignment(lists, collection.labels) == check_alignment(lists) == ""
    codes = np.unique(collection.labels, return_inverse=True)[1]
    with pytest.warns(RankloomWarning, match="bic and gch"):
        check_alignment(lists | {"gch": renamed(lists["gch"], shuffled(codes))}, collection.labels)
