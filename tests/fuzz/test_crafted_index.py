"""Indexes with random damage and checksums that are right: `open` rejects them, or every search works.

RANKLOOM_FUZZ_API sets the number of cases; with NUMBA_BOUNDSCHECK=1, a kernel that leaves its arrays fails, too.
"""

import shutil

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.io.array_folder import save_folder

FUZZ = cases("RANKLOOM_FUZZ_API", 100, 10)
POINTS = np.random.default_rng(0).random((40, 4))
RANKERS = [rl.Ranks.from_vectors(POINTS[:, columns], "l2", 8) for columns in ([0, 1], [2, 3])]
QUERIES = [ranks.rows([1, 2, 3]) for ranks in RANKERS]
BUILT = [
    rl.FusionIndex.build(RANKERS, cutoff=5),
    rl.FusionIndex.build(RANKERS, cutoff=5, graph_norm="minmax"),
    rl.WeftIndex.build(RANKERS, cutoff=5),
]
FLOATS = [0.0, -1.0, 1e-300, 5.0, 1e38, 1e300, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, 5, 39, 40, 41, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**62, -1, -(2**31)]
SETTINGS = [0, 1, 2, 7, 10**6, 2**31 - 1, 2**31, 1.5, True, False, None, "max", "last", "x", [], ["a", "b"], [True]]


def put(array, values, position, count):
    with np.errstate(all="ignore"):
        array.reshape(-1)[position % array.size :][:count] = np.array(values).astype(array.dtype)
    return array


@st.composite
def changes(draw, array):
    """A function that damages an array."""
    values = draw(st.sampled_from(FLOATS if array.dtype.kind == "f" else INTEGERS))
    position, count = draw(st.integers(0, 10_000)), draw(st.sampled_from([1, 2, 10_000]))
    return draw(
        st.sampled_from(
            [
                lambda array: put(array, values, position, count),
                lambda array: put(array, values, 0, 10_000),
                lambda array: array[::-1].copy(),
                lambda array: np.roll(array, 1),
                lambda array: array[:-1],
                lambda array: array.astype(np.float16),
            ]
        )
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for all cases."""
    return tmp_path_factory.mktemp("crafted") / "x.loom"


def craft(path, index, data):
    """Save an index with one or two arrays or settings changed."""
    arrays = {name: np.array(array) for name, array in index._arrays.items()}
    settings = index.settings.to_dict()
    for name in data.draw(st.lists(st.sampled_from([*arrays, *settings]), min_size=1, max_size=2, unique=True)):
        if name in settings:
            settings[name] = data.draw(st.sampled_from(SETTINGS))
        else:
            arrays[name] = data.draw(changes(arrays[name]))(arrays[name])
    shutil.rmtree(path, ignore_errors=True)
    save_folder(path, arrays, {"kind": index.KIND, "format": 1, "settings": settings})


@FUZZ
@given(st.sampled_from(range(len(BUILT))), st.data())
def test_a_crafted_index_is_rejected_or_searched(folder, number, data):
    craft(folder, BUILT[number], data)
    try:
        index = type(BUILT[number]).open(folder)
        index.search(k=7)
        index.search(QUERIES, k=7)
        index.search(QUERIES, k=7, virtual=True)
        index.explain(3, 4)
    except rl.RankloomError:
        return
