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
from command import run, sentence
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
    arrays = {name: np.array(array) for name, array in arrays.items()}
    settings = meta["settings"]
    if not isinstance(settings, dict):
        settings = {}
    settings = dict(settings)
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
    """The folder of a searcher that has grown: a path, because Hypothesis prints the fixtures of a case it replays."""
    words = ["heat", "slab", "flow", "wing", "shock", "wave", "plate", "jet"]
    texts = [" ".join(np.random.default_rng(i).choice(words, 12)) for i in range(42)]
    rows = [{"id": f"d{i}", "text": text, "year": 1960 + i, "v": [i, i % 7, 1.0]} for i, text in enumerate(texts)]
    searcher = rl.Searcher.build(rows[:40], ["okapi", "jaccard", "vectors(part=v)"], depth=12, cutoff=4)
    searcher.add(rows[40:])
    searcher.delete(["d7"])
    path = tmp_path_factory.mktemp("searcher") / "x.loom"
    searcher.save(path)
    return path


def changed_plain(value, random):
    """Return metadata with one value in it changed, which may be deep inside."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(sorted(value))
        return {**value, name: changed_plain(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        return [*value[:at], changed_plain(value[at], random), *value[at + 1 :]]
    return random.choice([*SETTINGS, [1, 2], 2**40, 10**400, float("nan"), {}])


@FUZZ
@given(SEEDS)
def test_a_crafted_searcher_is_rejected_or_searched(folder, searcher, seed):
    made = open_folder(searcher, kind="rankloom searcher")
    random = Random(seed)
    meta = dict(made.meta)
    if random.random() < 0.3:
        name = random.choice(["settings", "rankers", "indexes", "added"])
        meta[name] = changed_plain(meta[name], random)
    craft(folder, made.arrays, meta, random)
    try:
        opened = rl.Searcher.open(folder)
        answer = opened.search("heat wave", k=5)
        opened.search(item="d3", k=5)
        opened.search(item="d41", k=5, where={"year": {"gte": 1970}})
        opened.add([{"id": "new", "text": "heat in a jet", "year": 3, "v": [1.0, 2.0, 3.0]}])
        opened.delete(["d5"])
        opened.search("heat wave", k=5, method="weft")
        for hit in answer:
            answer.explain(hit.id)
            assert hit.document
    except rl.RankloomError:
        return


@pytest.mark.parametrize("seed", range(30))
def test_commands_refuse_a_crafted_searcher_in_a_sentence_or_answer(folder, searcher, seed):
    made, random = open_folder(searcher, kind="rankloom searcher"), Random(seed)
    craft(folder, made.arrays, made.meta, random)
    for arguments in (("search", folder, "heat wave", "-k", "3"), ("verify", folder)):
        done = run(*arguments)
        assert done.exit_code in (0, 1)
        assert done.exit_code == 0 or sentence(done)
