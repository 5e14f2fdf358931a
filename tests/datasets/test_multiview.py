"""Items with several feature matrices in one file."""

import numpy as np
import pytest

from rankloom.datasets import multiview, open_collection
from rankloom.errors import InputError
from rankloom.rankers import rank_collection

VIEWS = {"X0": np.array([[0.0, 7.0], [1.0, 7.0], [9.0, 7.0]]), "X1": np.array([[1], [5], [4]])}


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves arrays and returns the path."""

    def save(**arrays):
        np.savez(tmp_path / "pets.npz", **arrays)
        return str(tmp_path / "pets.npz")

    return save


def test_each_view_is_a_part_to_rank_by(saved):
    found = open_collection(f"multiview(path={saved(y=[1, 1, 2], **VIEWS)})")
    assert (found.name, found.labels, list(found.ids)) == ("pets", ("1", "1", "2"), ["1", "2", "3"])
    ranking = rank_collection(found, ["vectors(part=view0, metric=l1)", "vectors(part=view1, metric=l1)"], depth=2)
    assert [one.items.items[1].tolist() for one in ranking.lists.values()] == [[1, 0], [1, 2]]


def test_views_have_the_names_in_the_file(saved):
    assert list(multiview(saved(y=[1, 1, 2], names=["shape", "color"], **VIEWS)).parts) == ["shape", "color"]


def test_standardized_columns_have_mean_0_and_deviation_1(saved):
    view = multiview(saved(y=[1, 1, 2], **VIEWS), standardize=True).part("view0")
    np.testing.assert_allclose(view.mean(axis=0), [0, 0], atol=1e-12)
    np.testing.assert_allclose(view.std(axis=0), [1, 0])  # the second column is constant


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": [1, 2]}, "must have labels y and matrices X0, X1, ...; got y"),
        ({"y": [1, 2], "X0": [1, 2]}, "X0 must be a matrix with a row for each of 2 items"),
        ({"y": [1, 2], "X0": [[1]]}, "X0 must be a matrix with a row for each of 2 items"),
        ({"y": [1], "X0": [[1]], "X1": [[1]], "names": ["a", "a"]}, "a different name for each of 2 views; got a, a"),
        ({"y": [1], "X0": [[1]], "names": ["ids"]}, "a different name for each of 1 views; got ids"),
    ],
)
def test_a_file_with_other_arrays_is_rejected(saved, arrays, message):
    with pytest.raises(InputError, match=message):
        multiview(saved(**arrays))


@pytest.mark.parametrize(("name", "n", "views", "classes"), [("msrc-v1", 210, 5, 7), ("citeseer", 3312, 2, 6)])
def test_the_shared_collections_are_complete(shared, name, n, views, classes):
    found = multiview(shared / "data" / "multiview" / f"{name}.npz")
    assert (len(found), len(found.parts), len(set(found.labels))) == (n, views, classes)
