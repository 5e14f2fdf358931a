"""Indexes and searchers with random damage and checksums that are right: `open` rejects them, or every search works.

RANKLOOM_FUZZ_API sets the number of cases; with NUMBA_BOUNDSCHECK=1, a kernel that leaves its arrays fails, too.
"""

import shutil
from functools import cache
from random import Random

import numpy as np
import pytest
from cases import SEEDS, cases
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.io.folder import open_folder
from rankloom.io.folder_writer import save_folder

FUZZ = cases("RANKLOOM_FUZZ_API", 100, 10)
POINTS = np.random.default_rng(0).random((40, 4))
RANKERS = [rl.Ranks.from_vectors(POINTS[:, columns], "l2", 8) for columns in ([0, 1], [2, 3])]
QUERIES = [ranks.rows([1, 2, 3]) for ranks in RANKERS]
BUILDS = [
    lambda: rl.FusionIndex.build(RANKERS, cutoff=5),
    lambda: rl.FusionIndex.build(RANKERS, cutoff=5, graph_norm="minmax"),
    lambda: rl.WeftIndex.build(RANKERS, cutoff=5),
]
FLOATS = [0.0, -1.0, 1e-300, 5.0, 1e38, 1e300, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, 5, 39, 40, 41, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**62, -1, -(2**31)]
NUMBERS = {"f": FLOATS, "i": INTEGERS, "u": INTEGERS}
SETTINGS = [0, 1, 2, 7, 1000, -5, 1.5, True, False, None, "max", "last", "x", [], ["a", "b"], [True]]


@cache
def built(number):
    return BUILDS[number]()


def damaged(array, random):
    """Return an array with some numbers or its order, length or type changed."""
    if random.random() < 0.7:
        flat = array.reshape(-1)
        start, count = random.randrange(array.size), random.choice([1, 2, array.size])
        with np.errstate(all="ignore"):
            flat[start : start + count] = np.array(random.choice(NUMBERS[array.dtype.kind])).astype(array.dtype)
        return array
    with np.errstate(all="ignore"):
        return random.choice([array[::-1].copy(), np.roll(array, 1), array[:-1], array.astype(np.float16)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for all cases."""
    return tmp_path_factory.mktemp("crafted") / "x.loom"


def craft(path, arrays, meta, random):
    """Save arrays and settings with one or two of them changed."""
    arrays, settings = {name: np.array(array) for name, array in arrays.items()}, dict(meta["settings"])
    for name in random.sample([*arrays, *settings], random.choice([1, 2])):
        if name in settings:
            settings[name] = random.choice(SETTINGS)
        elif arrays[name].size:
            arrays[name] = damaged(arrays[name], random)
    shutil.rmtree(path, ignore_errors=True)
    save_folder(path, arrays, {**meta, "settings": settings})


@FUZZ
@given(st.sampled_from(range(len(BUILDS))), SEEDS)
def test_a_crafted_index_is_rejected_or_searched(folder, number, seed):
    index = built(number)
    meta = {"kind": index.KIND, "settings": index.settings.to_dict()}
    craft(folder, index.arrays, meta, Random(seed))
    try:
        index = type(index).open(folder)
        index.search(k=7)
        index.search(QUERIES, k=7)
        index.search(QUERIES, k=7, virtual=True)
        index.explain(3, 4)
    except rl.RankloomError:
        return


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    """The folder of a saved searcher: a path, because Hypothesis prints the fixtures of a case it replays."""
    words = ["heat", "slab", "flow", "wing", "shock", "wave", "plate", "jet"]
    texts = [" ".join(np.random.default_rng(i).choice(words, 12)) for i in range(30)]
    path = tmp_path_factory.mktemp("searcher") / "x.loom"
    rl.Searcher.build(texts, rankers=["okapi", "jaccard", "bow"]).save(path)
    return path


@FUZZ
@given(SEEDS)
def test_a_crafted_searcher_is_rejected_or_searched(folder, searcher, seed):
    made = open_folder(searcher, kind="rankloom searcher")
    craft(folder, made.arrays, made.meta, Random(seed))
    try:
        opened = rl.Searcher.open(folder)
        answer = opened.search("heat wave", k=5)
        opened.search(item="3", k=5)
        for hit in answer:
            answer.explain(hit.id)
            assert hit.document
    except rl.RankloomError:
        return
