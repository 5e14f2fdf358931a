import numpy as np
import pytest

import rankloom as rl
from rankloom.datasets import Collection, files
from rankloom.errors import InputError, UnknownNameError
from rankloom.io import write_ranks
from rankloom.rankers import Matrix, RankFile, rank_collection

BY_ORDER = "has no ids: its rows are assumed to be in the order of the collection. To match them by id, give list_file"
D = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "a.run"
    rl.write_run(rl.Ranks.from_dict({"x": {"x": 2.0, "y": 1.0}, "y": {"y": 3.0, "x": 2.0, "z": 1.0}}), path)
    return str(path)


def test_lists_of_items_follow_the_order_of_the_collection(run):
    ranks = RankFile(path=run).fit(["z", "y", "x"]).rank()
    assert ranks.items.tolist() == [[-1, -1, -1], [1, 2, 0], [2, 1, -1]]


def test_lists_of_queries_are_found_by_id(run):
    ranks = RankFile(path=run).fit([]).rank(queries=["y", "q"], depth=2)
    assert ranks.to_dict() == {"y": {"y": 3.0, "x": 2.0}, "q": {}}


def test_items_may_have_a_separate_file(run, tmp_path):
    other = tmp_path / "items.run"
    rl.write_run(rl.Ranks.from_dict({"u": ["u", "v"], "v": ["v", "u"]}), other)
    fitted = RankFile(path=run, items=str(other)).fit(["u", "v"])
    assert fitted.rank().items.tolist() == [[0, 1], [1, 0]]
    assert fitted.rank(queries=["x"]).query_id(0) == "x"


def test_numbered_lists_must_match_the_number_of_items(tmp_path):
    path = tmp_path / "lists.npz"
    write_ranks(rl.Ranks([[0, 1], [1, 0]]), path)
    with pytest.warns(UserWarning, match=BY_ORDER):
        assert RankFile(path=str(path)).fit(["a", "b"]).rank().items.tolist() == [[0, 1], [1, 0]]
    with (
        pytest.warns(UserWarning, match=BY_ORDER),
        pytest.raises(InputError, match="has 2 lists of 2 items; the collection has 3"),
    ):
        RankFile(path=str(path)).fit(["a", "b", "c"]).rank()


def test_ids_must_match_the_collection(run):
    with pytest.raises(InputError, match="lists an item that is not in the collection"):
        RankFile(path=run).fit(["x", "y"]).rank()
    with pytest.raises(InputError, match="has no list for any of the queries, such as 'q1'; it has 'x', 'y'"):
        RankFile(path=run).fit([]).rank(queries=["q1"])


def shuffled_labels(folder, order):
    path = folder / "labels.txt"
    path.write_text("".join(f"d{i}:{'xyz'[i // 10]}\n" for i in order))
    return files(labels=path)


@pytest.fixture
def points(tmp_path):
    """Vectors, distances, similarities and UDLF lists of 30 items in 3 classes, and a file of their ids."""
    rng = np.random.default_rng(3)
    vectors = np.repeat(rng.normal(size=(3, 4)), 10, axis=0) + 0.3 * rng.normal(size=(30, 4))
    distances = np.abs(vectors[:, None] - vectors).sum(-1)
    ranks = rl.Ranks.from_distances(distances)
    rl.io.write_udlf_ranks(ranks, tmp_path / "lists.txt")
    np.save(tmp_path / "vectors.npy", vectors)
    np.savetxt(tmp_path / "vectors.csv", vectors, delimiter=",")
    np.savez(tmp_path / "vectors.npz", vectors=vectors, ids=[f"d{i}" for i in range(30)])
    np.save(tmp_path / "distances.npy", distances)
    np.savetxt(tmp_path / "distances.txt", distances)
    np.save(tmp_path / "similarities.npy", 1 / (1 + distances))
    (tmp_path / "list.txt").write_text("".join(f"d{i}\n" for i in range(30)))
    return tmp_path


@pytest.mark.parametrize(
    "ranker",
    [
        "file(path={0}/lists.txt, format=udlf, list_file={0}/list.txt)",
        "vectors(path={0}/vectors.npy, metric=l1, list_file={0}/list.txt)",
        "vectors(path={0}/vectors.csv, metric=l1, list_file={0}/list.txt)",
        "vectors(path={0}/vectors.npz, metric=l1)",
        "matrix(path={0}/distances.npy, list_file={0}/list.txt)",
        "matrix(path={0}/distances.txt, list_file={0}/list.txt)",
        "matrix(path={0}/similarities.npy, list_file={0}/list.txt, meaning=similarity)",
    ],
)
def test_the_order_of_the_labels_does_not_matter_where_ids_are_known(points, ranker):
    orders = [np.arange(30), np.random.default_rng(1).permutation(30)]
    found = []
    for order in orders:
        collection = shuffled_labels(points, order)
        ranks = rank_collection(collection, ranker.format(points), depth=12).lists[ranker.format(points)].queries
        found.append((ranks.to_dict().keys(), rl.evaluate(ranks, labels=collection.labels, measures=["map", "ns"])))
        assert all(next(iter(row)) == query for query, row in ranks.to_dict().items())
    assert found[0][1] == found[1][1]
    assert found[0][1]["ns"] > 3


@pytest.mark.parametrize(
    "ranker",
    ["file(path={0}/lists.txt, format=udlf)", "vectors(path={0}/vectors.npy)", "matrix(path={0}/distances.npy)"],
)
def test_there_is_a_warning_where_only_the_order_is_known(points, ranker):
    with pytest.warns(UserWarning, match=BY_ORDER) as caught:
        rank_collection(shuffled_labels(points, range(30)), ranker.format(points))
    assert len(caught) == 1


def test_a_file_may_have_more_items_than_the_collection(points):
    some = ["d20", "d3", "d4"]
    whole = np.load(points / "distances.npy")[np.ix_([20, 3, 4], [20, 3, 4])]
    fitted = Matrix(path=str(points / "distances.npy"), list_file=str(points / "list.txt")).fit(some)
    assert (fitted.rank().items == rl.Ranks.from_distances(whole).items).all()


def test_an_item_without_a_row_is_an_error(points):
    with pytest.raises(InputError, match=r"no row for the item 'x' \(2 missing\); it has 'd0', 'd1', 'd2'\."):
        Matrix(path=str(points / "distances.npy"), list_file=str(points / "list.txt")).fit(["d1", "x", "y"])


def test_a_list_file_must_fit_the_lists(points, run):
    (points / "short.txt").write_text("d0\n")
    lists = str(points / "lists.txt")
    with pytest.raises(InputError, match=r"lists\.txt lists 30 items, but .*short\.txt has 1 ids"):
        RankFile(path=lists, format="udlf", list_file=str(points / "short.txt")).fit(["d0"])
    with pytest.raises(InputError, match=r"a\.run has ids of its own; leave list_file out"):
        RankFile(path=run, list_file=str(points / "list.txt")).fit(["x"])


def test_lists_of_queries_without_ids_are_taken_in_order_with_a_warning(tmp_path):
    path = tmp_path / "queries.npz"
    write_ranks(rl.Ranks([[0, 1], [2, 0]], item_ids=["a", "b", "c"]), path)
    fitted = RankFile(path=str(path)).fit(["a", "b", "c"])
    with pytest.warns(UserWarning, match=BY_ORDER):
        found = fitted.rank(queries=["1", "2"])  # not the rows of these numbers, which would be 2 and 3
    assert found.to_dict() == {"1": {"a": 1.0, "b": 0.5}, "2": {"c": 1.0, "a": 0.5}}
    with pytest.raises(InputError, match="has no ids, and 2 lists for 1 queries"):
        fitted.rank(queries=["1"])


def test_lists_of_queries_are_not_taken_for_those_of_the_items(tmp_path):
    path = tmp_path / "queries.npz"
    ranks = rl.Ranks([[0, 1], [1, 0]], item_ids=["1", "2"], query_ids=["1", "2"], kind="queries")
    write_ranks(ranks, path)
    with pytest.raises(InputError, match=r"queries\.npz has lists of queries, but those of the items are needed"):
        RankFile(path=str(path)).fit(["1", "2"]).rank()


def test_one_of_the_two_kinds_of_ids_is_enough(tmp_path):
    for number, ids in enumerate([{"item_ids": ["b", "a"]}, {"query_ids": ["b", "a"]}]):
        path = tmp_path / f"{number}.npz"
        write_ranks(rl.Ranks([[0, 1], [1, -1]], **ids), path)
        assert RankFile(path=str(path)).fit(["a", "b"]).rank().items.tolist() == [[0, -1], [1, 0]]
    write_ranks(rl.Ranks([[0, 1]], item_ids=["b", "a"]), path)
    with pytest.raises(InputError, match="needs a list for each item; it has 1 of 2 items"):
        RankFile(path=str(path)).fit(["a", "b"]).rank()


def test_duplicates_in_a_run_may_be_dropped(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("x Q0 x 1 2.0 t\nx Q0 x 2 1.0 t\n")
    with pytest.raises(InputError, match="duplicates='first'"):
        RankFile(path=str(path)).fit(["x"])
    assert RankFile(path=str(path), duplicates="first").fit(["x"]).rank().items.tolist() == [[0]]
    with pytest.raises(UnknownNameError, match="value of duplicates 'last'"):
        RankFile(path=str(path), duplicates="last")


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_matrix_of_distances_or_similarities(tmp_path):
    np.save(tmp_path / "d.npy", D)
    np.save(tmp_path / "s.npy", 9 - D)
    for ranker in (Matrix(path=str(tmp_path / "d.npy")), Matrix(path=str(tmp_path / "s.npy"), meaning="similarity")):
        assert ranker.fit("abc").rank(depth=2).items.tolist() == [[0, 2], [1, 2], [2, 0]]


@pytest.mark.filterwarnings("ignore:.*has no ids")
@pytest.mark.parametrize(("meaning", "other"), [("distance", "similarity"), ("similarity", "distance")])
def test_a_matrix_of_the_other_meaning_is_an_error(tmp_path, meaning, other):
    values = np.exp(-D) if meaning == "distance" else D
    np.save(tmp_path / "m.npy", values)
    with pytest.raises(InputError, match=rf"worst {meaning} .* for 100% of the items.* Give meaning={other}"):
        Matrix(path=str(tmp_path / "m.npy"), meaning=meaning).fit("abc")


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_the_check_of_the_diagonal_allows_what_may_be_meant(tmp_path):
    random = np.random.default_rng(5).random((40, 40))
    for number, values in enumerate([np.zeros((3, 3)), np.ones((1, 1)), random, random @ random.T]):
        np.save(tmp_path / f"{number}.npy", values)
        for meaning in ("distance", "similarity"):
            if number < 3 or meaning == "similarity":
                Matrix(path=str(tmp_path / f"{number}.npy"), meaning=meaning).fit([f"d{i}" for i in range(len(values))])


def test_files_are_checked_before_other_rankers_start(tmp_path, monkeypatch):
    np.save(tmp_path / "s.npy", np.exp(-D))
    monkeypatch.setattr("rankloom.rankers.Vectors.fit", None)  # would fail if it were called
    collection = Collection("points", rl.Ids(["a", "b", "c"]), {"vectors": D})
    with (
        pytest.warns(UserWarning, match=BY_ORDER),
        pytest.raises(InputError, match="Give meaning=similarity"),
    ):
        rank_collection(collection, ["vectors", f"matrix(path={tmp_path / 's.npy'})"])


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_an_invalid_matrix_is_rejected(tmp_path):
    np.save(tmp_path / "m.npy", np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"must have a column for each of 2 items; got \(2, 3\)"):
        Matrix(path=str(tmp_path / "m.npy")).fit("ab")
    with pytest.raises(InputError, match="There is no file"):
        Matrix(path=str(tmp_path / "no.npy")).fit("ab")
    with pytest.raises(UnknownNameError, match="Did you mean 'distance'"):
        Matrix(path="m.npy", meaning="distances")
    np.save(tmp_path / "ok.npy", np.zeros((1, 1)))
    with pytest.raises(InputError, match="cannot rank external queries"):
        Matrix(path=str(tmp_path / "ok.npy")).fit("a").rank(queries=["q"])
