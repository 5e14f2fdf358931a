"""Indexes whose files were made wrong, with checksums that are right: `open` rejects them."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from brute import random_collection
from rankloom import FusionIndex, WeftIndex
from rankloom._kernels.weft import search
from rankloom.errors import IndexFileError
from rankloom.io.folder_writer import save_folder

KINDS = (FusionIndex, WeftIndex)


@cache
def built(cls):
    return cls.build(random_collection(1, n=40, m=2, depth=8), keep_scores=False)


def crafted(path, cls, changes, settings=None):
    """Save an index with some arrays or settings replaced, its checksums computed afterwards."""
    index = built(cls)
    arrays = {name: np.array(array) for name, array in index.arrays.items()}
    for name, change in changes.items():
        arrays[name] = change(arrays[name])
    described = index.settings.to_dict() if settings is None else settings(index.settings.to_dict())
    meta = {"kind": cls.KIND, "settings": described, "sizes": {}, "versions": {}}
    save_folder(path, arrays, meta)


def changed(position, value):
    def change(array):
        array.reshape(-1)[position] = value
        return array

    return change


def twice(array):
    array[1] = array[0]  # rows have several entries here
    return array


WRONG = {
    "an item twice in a row": ("row_items", twice),
    "a row twice in a posting list": ("post_rows", twice),
    "an item out of range": ("row_items", changed(3, 10**6)),
    "a row out of range": ("post_rows", changed(3, 10**6)),
    "pointers that fall": ("row_ptr", changed(2, 10**6)),
    "pointers that do not start at 0": ("post_ptr", changed(0, 1)),
    "a number twice": ("numbers", changed(0, 1)),
    "a negative number": ("numbers", changed(0, -5)),
    "places that are not the inverse": ("places", lambda array: array[::-1].copy()),
    "another dtype": ("row_ptr", lambda array: array.astype(np.int32)),
    "another shape": ("places", lambda array: array[:-1]),
}


@pytest.mark.parametrize("cls", KINDS)
@pytest.mark.parametrize(("name", "change"), WRONG.values(), ids=WRONG)
def test_wrong_numbers_are_rejected(tmp_path, cls, name, change):
    name = name if name in built(cls).arrays else name.replace("row_", "post_").replace("items", "rows")
    crafted(tmp_path / "x.loom", cls, {name: change})
    with pytest.raises(IndexFileError, match=r"The index at .*x.loom is damaged: .*; build it again"):
        cls.open(tmp_path / "x.loom")


@pytest.mark.parametrize(
    ("name", "value"),
    [("row_weights", np.nan), ("row_weights", np.inf), ("row_nearness", -1.0), ("norms", np.nan), ("post_least", -1.0)],
)
def test_weights_that_are_not_finite_or_negative_are_rejected(tmp_path, name, value):
    crafted(tmp_path / "x.loom", FusionIndex, {name: changed(5, value)})
    with pytest.raises(IndexFileError, match=f"{name}.npy has values out of range"):
        FusionIndex.open(tmp_path / "x.loom")


@pytest.mark.parametrize(
    "settings",
    [
        lambda s: {**s, "n_rankers": 10**9},
        lambda s: {**s, "n_rankers": 0},
        lambda s: {**s, "cutoff": "ten"},
        lambda s: {**s, "cutoff": True},
        lambda s: {**s, "reposition": 1},
        lambda s: {**s, "rankers": [1, 2]},
        lambda s: {**s, "rankers": ["a", "b", "c"]},
        lambda s: {**s, "comparable": [True]},
        lambda s: {**s, "absent": "middle"},
        lambda s: {**s, "surprise": 1},
        lambda s: {name: value for name, value in s.items() if name != "depth"},
        lambda s: None,
        lambda s: [],
    ],
)
@pytest.mark.parametrize("cls", KINDS)
def test_settings_that_are_not_valid_are_rejected(tmp_path, cls, settings):
    crafted(tmp_path / "x.loom", cls, {}, settings)
    with pytest.raises(IndexFileError, match="is damaged: it"):
        cls.open(tmp_path / "x.loom")


def test_rows_are_expanded_by_no_more_entries_than_they_can_have(tmp_path):
    """A search with external queries would allocate what this setting says."""
    crafted(tmp_path / "x.loom", WeftIndex, {}, lambda s: {**s, "expand": 2**31 - 1})
    with pytest.raises(IndexFileError, match="its settings are not valid"):
        WeftIndex.open(tmp_path / "x.loom")


@pytest.mark.parametrize(("cls", "name"), [(FusionIndex, "norms"), (WeftIndex, "row_sizes")])
@pytest.mark.parametrize("value", [0, 1])
def test_sizes_that_are_too_small_divide_by_nothing(tmp_path, cls, name, value):
    crafted(tmp_path / "x.loom", cls, {name: lambda array: np.full_like(array, value)})
    found = cls.open(tmp_path / "x.loom").search(k=5)
    assert np.isfinite(found.scores).all()


def test_weights_that_are_too_large_are_no_danger(tmp_path, monkeypatch):
    """The sums of some fields wrap around; the search is interpreted, which checks its indices."""
    sizes = {"row_sizes": lambda array: np.full_like(array, [256, 16776961, 16776961])}
    crafted(tmp_path / "x.loom", WeftIndex, {"post_weights": lambda array: np.full_like(array, 65535), **sizes})
    index = WeftIndex.open(tmp_path / "x.loom", verify=True)
    monkeypatch.setattr(search, "search", getattr(search.search, "py_func", search.search))
    assert np.isfinite(index.search(k=1).scores).all()


@pytest.mark.parametrize("cls", KINDS)
def test_an_index_that_was_saved_as_it_is_passes(tmp_path, cls):
    crafted(tmp_path / "x.loom", cls, {})
    assert len(cls.open(tmp_path / "x.loom")) == 40


def test_the_tests_above_run_the_code_of_this_tree():
    assert Path(sys.modules["rankloom"].__file__).is_relative_to(Path(__file__).parents[2])
