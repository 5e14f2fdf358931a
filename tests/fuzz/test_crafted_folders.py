"""Folders with random damage and digests that are right: refused in a sentence, or answered, by any use.

RANKLOOM_FUZZ_API sets the number of cases; with NUMBA_BOUNDSCHECK=1, a kernel that leaves its arrays fails, too.
"""

import json
import os
from contextlib import contextmanager, suppress
from functools import cache
from random import Random

import numpy as np
import pytest
from starlette.testclient import TestClient

import rankloom as rl
from command import run, sentence
from rankloom.io.folder import META, meta_checksum, open_folder
from rankloom.io.folder_writer import save_folder
from rankloom.web import make_app

CASES = int(os.environ.get("RANKLOOM_FUZZ_API", 20_000)) // 10
POINTS = np.random.default_rng(0).random((40, 4))
RANKERS = [rl.Ranks.from_vectors(POINTS[:, columns], "l2", 8) for columns in ([0, 1], [2, 3])]
QUERIES = [ranks.rows([1, 2, 3]) for ranks in RANKERS]
WORDS = ["heat", "slab", "flow", "wing", "shock", "wave", "plate", "jet"]
FLOATS = [0.0, -1.0, 1e-300, 5.0, 1e38, 1e300, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, 5, 39, 40, 41, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**62, -1, -(2**31)]
NUMBERS = {"f": FLOATS, "i": INTEGERS, "u": INTEGERS}
PLAIN = [0, 1, 2, 7, 1000, -5, 1.5, True, False, None, "max", "last", "x", [], ["a", "b"], [True], {}, [1, 2], 2**40]
PLAIN += [10**400, float("nan")]


def document(number):
    random = np.random.default_rng(number)
    text = " ".join(random.choice(WORDS, 12))
    fields = {"id": f"d{number}", "text": text, "year": 1960 + number, "tags": [text[:4]], "v": [number, number % 7, 1]}
    return {**fields, "half": number / 2, "on": f"{1960 + number}-01-02", "image": random.integers(0, 255, (8, 8, 3))}


def encode(texts):
    return np.array([[text.count(word) + 0.1 for word in WORDS] for text in texts], np.float32)


def searcher():
    """A searcher that has grown, and whose lists were refilled."""
    rankers = {"okapi": "okapi", "jaccard": "jaccard", "v": "vectors(part=v, algorithm=cells)", "dense": encode}
    rankers["bic"] = "bic"
    documents = [{**row, "image": row["image"].astype(np.uint8)} for row in map(document, range(43))]
    made = rl.Searcher.build(documents[:40], rankers, depth=8, cutoff=5)
    made.add(documents[40:42])
    made.add(documents[42:])
    made.delete([f"d{number}" for number in range(7, 15)])
    return made


def sharded(index, path):
    index.save(path, shards=3)
    return type(index).open(path)


MADE = {
    "searcher": lambda path: searcher(),
    "graphs": lambda path: rl.FusionIndex.build(RANKERS, cutoff=5),
    "minmax": lambda path: rl.FusionIndex.build(RANKERS, cutoff=5, graph_norm="minmax"),
    "weft": lambda path: rl.WeftIndex.build(RANKERS, cutoff=5),
    "sharded graphs": lambda path: sharded(rl.FusionIndex.build(RANKERS, cutoff=5), path),
    "sharded weft": lambda path: sharded(rl.WeftIndex.build(RANKERS, cutoff=5), path),
}
TURNS = ["searcher"] * 5 + list(MADE)  # it has ten times as many arrays


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A function that returns a snapshot of a sound folder of each kind."""

    @cache
    def snapshot(name):
        path = tmp_path_factory.mktemp("sound") / "x.loom"
        MADE[name](path).save(path, overwrite=True)
        return open_folder(path, kind=str(json.loads((path / META).read_text())["kind"]))

    return snapshot


def damaged(array, random):
    """Return an array with some numbers or bytes, or its order, length or type changed."""
    array = np.array(array)
    if not array.size:
        return np.zeros((3, *array.shape[1:]), array.dtype)
    kind = random.random()
    with np.errstate(all="ignore"):
        if kind < 0.6:
            flat = array.reshape(-1)
            start, count = random.randrange(array.size), random.choice([1, 2, array.size])
            own = flat[start : start + count]  # gets values that are valid elsewhere, or one that may be
            new = random.choices(flat.tolist(), k=len(own)) if kind < 0.3 else random.choice(NUMBERS[array.dtype.kind])
            own[:] = np.array(new).astype(array.dtype)
            return array
        if kind < 0.8:
            data = bytearray(array.tobytes())
            start, count = random.randrange(len(data)), random.choice([1, 8, len(data)])
            data[start : start + count] = random.randbytes(len(data[start : start + count]))
            return np.frombuffer(bytes(data), array.dtype).reshape(array.shape)
        types = [np.float16, array.dtype.newbyteorder(), np.int64]
        more = [array[::-1], np.roll(array, 1), array[:-1], np.concatenate([array, array[-1:]]), array[None]]
        return random.choice([*more, *(array.astype(type) for type in types)])


def changed(value, random):
    """Return metadata with one value in it changed, which may be deep inside."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(sorted(value))
        return {**value, name: changed(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        return [*value[:at], changed(value[at], random), *value[at + 1 :]]
    return random.choice(PLAIN)


def craft(sound, case):
    """Put changes into a sound folder: in each array in turn or in metadata, and sometimes a second one."""
    random, turn, path = Random(case), case // len(TURNS), sound.path
    arrays, meta = dict(sound.arrays), dict(sound.meta)
    names = [*sorted(arrays), "meta", "meta"]
    chosen = {names[turn % len(names)], *random.sample(names, random.choice([0, 1]))}
    for name in chosen - {"meta"}:
        arrays[name] = damaged(arrays[name], random)
    if "meta" in chosen:
        name = random.choice(sorted(meta.keys() - {"kind"}))
        meta[name] = changed(meta[name], random)
    save_folder(path, arrays, meta, base=sound)
    if "meta" in chosen and random.random() < 0.5:  # what describes the files, too
        described = changed({**json.loads((path / META).read_text()), "checksum": None}, random)
        if isinstance(described, dict):
            described.pop("checksum", None)
            described["checksum"] = meta_checksum(described)
        (path / META).write_text(json.dumps(described))


@contextmanager
def crafted(sound, case):
    """Yield the path of a sound folder while it has changes."""
    meta = sound.path / META
    before = meta.read_bytes()
    try:
        craft(sound, case)
        yield sound.path
    finally:
        meta.write_bytes(before)  # files that it does not name are removed by the next writer


def uses(name, path):
    """Yield calls of what can be done with a folder."""
    if name != "searcher":
        kind = rl.WeftIndex if "weft" in name else rl.FusionIndex
        index = kind.open(path)
        yield lambda: index.search(k=7)
        yield lambda: index.search(QUERIES, k=7)
        yield lambda: index.search(QUERIES, k=7, virtual=True)
        yield lambda: index.explain(3, 4)
        if kind is rl.FusionIndex:
            yield lambda: index.graph(5)
            yield lambda: browse(rl.Searcher.of_index(index), "/item/3.json", "/item/3/why/4.json")
        return
    opened = rl.Searcher.open(path, encoders={"dense": encode})
    yield lambda: [opened.search("heat wave", k=5).explain(hit.id) for hit in opened.search("heat wave", k=5)]
    yield lambda: [hit.document for hit in opened.search("heat wave", k=50, method="rrf")]
    yield lambda: opened.search(item="d3", k=5)
    yield lambda: opened.search(item="d41", k=5, where={"year": {"gte": 1970}, "on": {"lt": "1990-01-01"}})
    yield lambda: opened.search("jet", k=5, where={"or": [{"tags": ["heat"]}, {"half": 3.5}, {"text": {"lt": "s"}}]})
    yield lambda: opened.search(item="d2", method="fg")
    pages = ["/", "/item/3.json", "/item/3/why/4.json", "/search.json?q=heat+wave", "/search/why/4.json?q=heat+wave"]
    yield lambda: browse(opened, *pages, "/documents/d41")
    yield lambda: opened.add([{**document(99), "id": "new", "image": document(99)["image"].astype(np.uint8)}])
    yield lambda: opened.delete([f"d{number}" for number in range(17, 19)])
    yield lambda: opened.search("heat wave", k=5, method="weft")
    yield opened.compact


def browse(searcher, *pages):
    """Visit pages of a searcher; an error that is not a sentence is raised."""
    with TestClient(make_app(searcher), base_url="http://localhost") as client:
        for page in pages:
            answer = client.get(page)
            assert answer.status_code < 500 or answer.json()["error"].endswith(".")
        client.post("/search", json={"query": "heat wave", "k": 5, "where": {"year": {"gte": 1970}}})


def attempt(made, case):
    """Use a crafted folder in all ways, whether or not earlier ones were refused."""
    name = TURNS[case % len(TURNS)]
    with crafted(made(name), case) as path, suppress(rl.RankloomError):
        for use in uses(name, path):
            with suppress(rl.RankloomError):
                use()


@pytest.mark.parametrize("name", MADE)
def test_a_sound_folder_is_answered(made, name):
    for use in uses(name, made(name).path):
        use()


@pytest.mark.filterwarnings("ignore::rankloom.RankloomWarning")
@pytest.mark.parametrize("cases", [range(33), pytest.param(range(CASES), marks=pytest.mark.exhaustive)])
def test_a_crafted_folder_is_refused_or_answered(tmp_path, made, cases):
    for case in cases:
        (tmp_path / "case").write_text(str(case))  # remains if the process crashes
        try:
            attempt(made, case)
        except Exception as error:
            raise AssertionError(f"case {case}: {error!r}") from error


@pytest.mark.filterwarnings("ignore::rankloom.RankloomWarning")
@pytest.mark.parametrize("case", range(30))
def test_commands_refuse_a_crafted_folder_in_a_sentence_or_answer(made, case):
    name = TURNS[case % len(TURNS)]
    with crafted(made(name), case) as path:
        commands = [("verify", path), ("info", path), ("search", path, "heat wave", "-k", "3")]
        for arguments in commands if name == "searcher" else commands[:1]:
            done = run(*arguments)
            assert done.exit_code in (0, 1)
            assert done.exit_code == 0 or sentence(done)
