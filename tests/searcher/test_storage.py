"""A searcher on disk: saved whole, opened the same, refused when it does not fit; killed at any moment."""

import copy
import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from sample_texts import documents, encode

import rankloom as rl
from rankloom.errors import IndexFileError, InputError
from rankloom.io.folder import open_folder
from rankloom.io.folder_writer import save_folder
from rankloom.searcher.documents import Documents

QUERIES = ["thermal flow in a boundary layer", "the patient's heart", "king and queen"]
RANKERS = {"bm25": "okapi(b=0.5)", "pairs": "2grams-jaccard", "graph": "gnf-mcs", "dense": encode}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("searchers") / "shop.loom"
    searcher = rl.Searcher.build(documents(50), RANKERS, depth=20)
    searcher.save(path)
    return searcher, path


def answers(searcher, **options):
    return [[(hit.id, hit.score, dict(hit.ranks)) for hit in one] for one in searcher.search(QUERIES, k=9, **options)]


@pytest.mark.parametrize("verify", [False, True])
def test_an_opened_searcher_answers_as_before(saved, verify):
    searcher, path = saved
    opened = rl.Searcher.open(path, encoders={"dense": encode}, verify=verify)
    assert list(opened.documents) == list(searcher.documents)
    for method in ("auto", "weft", "fg", "rrf"):
        assert answers(opened, method=method) == answers(searcher, method=method)
    assert [hit.id for hit in opened.search(item="d3")] == [hit.id for hit in searcher.search(item="d3")]
    assert answers(opened, where={"year": 2001}) == answers(searcher, where={"year": 2001})


def test_an_opened_searcher_can_be_updated_and_saved_again(saved, tmp_path):
    searcher, path = saved
    opened = rl.Searcher.open(path, encoders={"dense": encode})
    twin = rl.Searcher(searcher.state)
    for one in (opened, twin):
        one.add(documents(7, 3, 500))
        one.delete(["d1", "d500"])
    assert answers(opened) == answers(twin)
    opened.save(tmp_path / "more.loom")
    assert answers(rl.Searcher.open(tmp_path / "more.loom", encoders={"dense": encode})) == answers(twin)


def test_the_encoder_must_be_given_again(saved):
    _, path = saved
    with pytest.raises(InputError, match=r"'dense' was given as a function.*encoders=\{'dense': function\}"):
        rl.Searcher.open(path)
    with pytest.raises(InputError, match="no ranker 'bm25' that needs an encoder"):
        rl.Searcher.open(path, encoders={"dense": encode, "bm25": encode})


def test_another_encoder_is_refused(saved):
    _, path = saved
    with pytest.raises(InputError, match="returns 5 numbers, but the stored vectors have 32"):
        rl.Searcher.open(path, encoders={"dense": lambda texts: np.ones((len(texts), 5))})
    with pytest.raises(InputError, match=r"different vectors for stored texts \(cosine -?0\.\d{4}, at least 0.999"):
        rl.Searcher.open(path, encoders={"dense": lambda texts: -encode(texts) + 3})
    for encoders, got in (
        ([encode], "<function"),
        (encode, "<function"),
        ("dense", "'dense'"),
        ({"dense": dict}, "dict"),
    ):
        with pytest.raises(InputError, match=f"(Give encoders by the names of rankers|must be a function).*{got}"):
            rl.Searcher.open(path, encoders=encoders)


def test_an_encoder_that_is_right_for_the_first_document_only_is_refused(tmp_path):
    texts = [one["text"] for one in documents(50)]
    rl.Searcher.build(texts, {"dense": encode}).save(tmp_path / "s.loom")

    def other(contents):
        return np.where([[text == texts[0]] for text in contents], encode(contents), encode(contents)[:, ::-1])

    with pytest.raises(InputError, match=r"different vectors for stored texts \(cosine"):
        rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": other})


def mean_color(images):
    return np.array([one.reshape(-1, 3).mean(axis=0) + 1 for one in images])


def test_another_encoder_of_images_is_refused_without_the_images(tmp_path):
    path = tmp_path / "s.loom"
    images = np.random.default_rng(3).integers(0, 256, (20, 6, 5, 3), np.uint8) // np.arange(1, 21)[:, None, None, None]
    searcher = rl.Searcher.build([{"image": one.astype(np.uint8)} for one in images], {"color": mean_color})
    searcher.save(path)
    opened = rl.Searcher.open(path, encoders={"color": mean_color})
    assert opened.search(image=images[3], k=5)[0].id == "3"
    with pytest.raises(InputError, match=r"different vectors for stored images \(cosine 0\.\d{4}"):
        rl.Searcher.open(path, encoders={"color": lambda images: mean_color(images) * [1, 1, 3]})


def test_probes_differ_and_remain_when_their_documents_are_deleted(tmp_path):
    path = tmp_path / "s.loom"
    texts = ["the same words"] * 40 + ["heat", "king", "queen heart", "a thermal flow", "boundary", "patient", "zebra"]
    searcher = rl.Searcher.build(texts, {"dense": encode})
    probes = searcher.state.retrievers["dense"].probes
    assert set(probes.contents) == set(texts)
    searcher.delete([str(number) for number in range(1, len(texts))])
    searcher.save(path)
    without = rl.Searcher.open(path, encoders={"dense": None})
    without.save(tmp_path / "again.loom")
    opened = rl.Searcher.open(tmp_path / "again.loom", encoders={"dense": encode})
    assert opened.state.retrievers["dense"].probes.vectors.tobytes() == probes.vectors.tobytes()
    with pytest.raises(InputError, match="different vectors for stored texts"):
        rl.Searcher.open(path, encoders={"dense": lambda texts: encode(texts)[:, ::-1]})


def test_an_encoder_of_zeros_is_the_same_encoder(tmp_path):
    rl.Searcher.build(["a", "b"], {"d": lambda texts: np.zeros((len(texts), 3)), "bm25": "bm25"}).save(
        tmp_path / "s.loom"
    )
    rl.Searcher.open(tmp_path / "s.loom", encoders={"d": lambda texts: np.zeros((len(texts), 3))})
    with pytest.raises(InputError, match=r"cosine 0\.0000"):
        rl.Searcher.open(tmp_path / "s.loom", encoders={"d": lambda texts: np.ones((len(texts), 3))})


def test_another_searcher_is_replaced_only_if_asked(tmp_path):
    path, other = tmp_path / "a.loom", tmp_path / "b.loom"
    first, second = (rl.Searcher.build([text], ["bm25"]) for text in ("a cat", "a dog"))
    first.save(path)
    first.save(path)  # its own
    with pytest.raises(InputError, match=r"a\.loom already exists; choose another path, or .* with overwrite=True"):
        second.save(path)
    assert rl.Searcher.open(path).document("0")["text"] == "a cat"
    opened = rl.Searcher.open(path)
    opened.save(tmp_path / "." / "a.loom")  # the one it was opened from
    opened.save(other)
    other.mkdir(exist_ok=True)
    with pytest.raises(InputError, match="already exists"):
        second.save(str(other))
    second.save(other, overwrite=True)
    assert rl.Searcher.open(other).document("0")["text"] == "a dog"
    (tmp_path / "empty").mkdir()
    second.save(tmp_path / "empty")
    with pytest.raises(InputError, match="is not a rankloom searcher"):
        second.save(tmp_path, overwrite=True)


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_a_searcher_its_hits_and_an_index_are_not_pickled_or_deep_copied(saved, duplicate):
    with pytest.raises(InputError, match="cannot be pickled or deep-copied; save it to a folder, and open that"):
        duplicate(saved[0])
    with pytest.raises(InputError, match="cannot be pickled or copied; of a hit, take its id, score and document"):
        duplicate(saved[0].search("cat")[0])
    lists = rl.Ranks([[0, 1], [1, 0]], kind="collection")
    for kind in (rl.FusionIndex, rl.WeftIndex):
        with pytest.raises(InputError, match=r"An index cannot be pickled or copied; .* save it to a folder"):
            duplicate(kind.build([lists], cutoff=2))


def test_a_copy_of_a_searcher_is_updated_on_its_own():
    searcher = rl.Searcher.build(["a cat", "a dog"], ["bm25"])
    copied = copy.copy(searcher)
    copied.delete(["0"])
    assert (len(searcher), len(copied)) == (2, 1)


def test_without_its_encoder_items_can_still_be_searched(saved):
    searcher, path = saved
    opened = rl.Searcher.open(path, encoders={"dense": None})
    assert [hit.id for hit in opened.search(item="d4")] == [hit.id for hit in searcher.search(item="d4")]
    assert list(opened.search("heart").lists) == ["bm25", "pairs", "graph"]


def test_the_settings_of_an_encoder_are_saved(tmp_path):
    from rankloom.rankers import EncoderRanker

    searcher = rl.Searcher.build(documents(30), {"d": EncoderRanker("d", encode, metric="l2", comparable=True)})
    searcher.save(tmp_path / "s.loom")
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"d": encode})
    assert opened.search("heart", k=5).method == searcher.search("heart", k=5).method == "weft"
    assert [hit.id for hit in opened.search("heart", k=5)] == [hit.id for hit in searcher.search("heart", k=5)]


def test_errors_of_an_encoder_are_its_own(saved):
    def fails(texts):
        raise KeyError("no such word")

    with pytest.raises(KeyError, match="no such word"):
        rl.Searcher.open(saved[1], encoders={"dense": fails})
    with pytest.raises(InputError, match="must be a function; got 'static'"):
        rl.Searcher.open(saved[1], encoders={"dense": "static"})


def test_an_update_does_not_hide_damage(tmp_path):
    """What has not changed is not written again, and keeps its digest."""
    from rankloom.searcher.searcher import updating

    path = tmp_path / "s.loom"
    rl.Searcher.build(documents(20), ["bm25", "bow"]).save(path)
    file = path / "ranker0_words.g1.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with updating(path) as opened:
        opened.delete(["d1"])
    with pytest.raises(IndexFileError, match=r"ranker0_words.*damaged"):
        rl.Searcher.open(path, verify=True)


def test_a_ranker_that_is_an_object_cannot_be_saved(tmp_path):
    from rankloom.rankers import RANKERS as KNOWN

    searcher = rl.Searcher.build(documents(5), {"words": KNOWN.make("bow")})
    with pytest.raises(InputError, match="'words' was given as an object; to save it, register it"):
        searcher.save(tmp_path / "x.loom")


def test_other_folders_are_refused(saved, tmp_path):
    _, path = saved
    with pytest.raises(IndexFileError, match="There is no"):
        rl.Searcher.open(tmp_path / "none")
    with pytest.raises(IndexFileError, match="is not a rankloom index"):
        rl.FusionIndex.open(path)
    rl.FusionIndex.build([rl.Ranks([[0]])]).save(tmp_path / "plain.loom")
    with pytest.raises(IndexFileError, match="is not a rankloom searcher"):
        rl.Searcher.open(tmp_path / "plain.loom")
    with pytest.raises(InputError, match="is not a rankloom searcher; choose another path"):
        rl.Searcher.build(["a"], ["bm25"]).save(tmp_path / "plain.loom")


def test_damage_is_found_when_verified(saved, tmp_path):
    import shutil

    _, path = saved
    for name in sorted(one.name for one in path.iterdir() if one.suffix == ".npy"):
        copied = tmp_path / name
        shutil.copytree(path, copied)
        content = bytearray((copied / name).read_bytes())
        content[-1] ^= 255
        (copied / name).write_bytes(content)
        with pytest.raises(IndexFileError, match="damaged"):
            rl.Searcher.open(copied, encoders={"dense": encode}, verify=True)
        (copied / name).write_bytes(content[:-1])
        with pytest.raises(IndexFileError, match="damaged"):
            rl.Searcher.open(copied, encoders={"dense": encode})


def crafted(saved, path, name, change):
    """Save the arrays of a searcher with one changed, its checksum computed afterwards."""
    folder = open_folder(saved[1], kind="rankloom searcher")
    arrays = {one: np.array(array) for one, array in folder.arrays.items()}
    arrays[name] = change(arrays[name])
    save_folder(path, arrays, folder.meta)
    return path


def put(position, value):
    def change(array):
        array[position] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ranker0_sizes", lambda array: array[:-1], "posting lists do not match the items"),
        ("ranker0_post_texts", put(0, 10**6), "posting lists or the weights of the items have numbers out of range"),
        ("ranker0_post_ptr", put(1, 10**6), "posting lists or the weights of the items have numbers out of range"),
        ("ranker0_post_weights", lambda array: array.astype(np.float32), "posting lists do not match each other"),
        ("ranker0_text_terms", put(0, 10**6), "numbers out of range"),
        ("ranker0_text_ptr", put(-1, 0), "numbers out of range"),  # scipy takes it for an empty matrix
        ("ranker0_own_terms", put(0, -5), "numbers out of range"),
        ("index0_lists", put((0, 0, 0), 10**6), "lists.npy has values out of range"),
        ("lists0_items", put((0, 0), 10**6), "lists item 1000000"),
    ],
)
def test_crafted_numbers_are_found(saved, tmp_path, name, change, message):
    path = crafted(saved, tmp_path / "x.loom", name, change)
    with pytest.raises(rl.RankloomError, match=message):
        rl.Searcher.open(path, encoders={"dense": encode})


def test_a_damaged_document_is_an_error_when_it_is_read(saved, tmp_path):
    path = crafted(saved, tmp_path / "x.loom", "documents0_blob", put(0, 0))
    documents = rl.Searcher.open(path, encoders={"dense": None}).documents
    assert documents[1]
    with pytest.raises(IndexFileError, match="The stored document 0 is damaged: it is not a JSON object"):
        documents[0]


@pytest.mark.parametrize(("name", "value"), [("cutoff", None), ("depth", "x"), ("next_number", -1), ("fields", [1])])
def test_settings_that_are_not_valid_are_refused(saved, tmp_path, name, value):
    folder = open_folder(saved[1], kind="rankloom searcher")
    changed = {**folder.meta, "settings": {**folder.meta["settings"], name: value}}
    save_folder(tmp_path / "x.loom", folder.arrays, changed)
    with pytest.raises(InputError, match=f"{name} must be"):
        rl.Searcher.open(tmp_path / "x.loom", encoders={"dense": encode})


def test_a_searcher_of_a_later_format_is_refused(saved, tmp_path):
    import shutil

    copied = tmp_path / "later.loom"
    shutil.copytree(saved[1], copied)
    meta = json.loads((copied / "meta.json").read_text())
    meta["format"] = 99
    (copied / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(IndexFileError, match=r"later.loom has format 99; this version reads 3\. Build it again"):
        rl.Searcher.open(copied)


KILLS = """
import os, signal, sys, time
import rankloom as rl

path, rounds = sys.argv[1], int(sys.argv[2])
old = rl.Searcher.open(path)
old.search("king")  # loads the kernels, which children inherit

def add():
    searcher = rl.Searcher.open(path)
    searcher.add([{"id": f"new{n}", "text": "a heart and a king"} for n in range(20)])
    searcher.save(path)

for number in range(rounds):
    child = os.fork()
    if not child:
        add()
        os._exit(0)
    time.sleep(0.15 * number / rounds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    opened = rl.Searcher.open(path, verify=True)
    print(len(opened), len(opened.search("king", k=3)), flush=True)
    old.save(path, overwrite=True)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.exhaustive)])
def test_a_killed_add_leaves_the_old_or_the_new_state(tmp_path, kills):
    path = tmp_path / "shop.loom"
    rl.Searcher.build(documents(30), ["bm25", "bow-cosine"]).save(path)
    done = subprocess.run(
        [sys.executable, "-c", KILLS, str(path), str(kills)], capture_output=True, text=True, check=True
    )
    outcomes = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(outcomes) == kills
    assert {n for n, _ in outcomes} <= {30, 50}
    assert {found for _, found in outcomes} == {3}


FEW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
sys.argv = ["rankloom", *sys.argv[2:]]
from rankloom.cli import main
main()
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs resource")
@pytest.mark.parametrize("limit", [5, 20, 60])
def test_few_descriptors_are_one_sentence(tmp_path, limit):
    path, more = tmp_path / "x.loom", tmp_path / "more.csv"
    rl.Searcher.build(documents(300), ["okapi", "jaccard"]).save(path)  # has files that are mapped, which stay open
    more.write_text("id,text\nnew,heat\n")
    for command in (["search", str(path), "heat"], ["add", str(path), str(more)]):
        done = subprocess.run([sys.executable, "-c", FEW, str(limit), *command], capture_output=True, text=True)
        if done.returncode != 0:
            assert done.returncode == 1
            assert re.fullmatch(r"Error: Cannot .*: Too many open files\.\n", done.stderr), done.stderr
    assert len(rl.Searcher.open(path, verify=True)) in (300, 301)


@pytest.mark.parametrize(("name", "kind"), [("documents0_ptr", np.float16), ("documents0_blob", np.int64)])
def test_documents_of_another_type_are_rejected(name, kind):
    arrays = dict(Documents.of([{"id": "a", "text": "a cat"}]).arrays())
    with pytest.raises(InputError, match="Packed texts must be bytes with 64-bit starts, both 1-d; got "):
        Documents.restored({**arrays, name: arrays[name].astype(kind)})
