"""Folders of arrays: each commit is a generation, and a reader sees one of them."""

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from faults import fill_disk
from rankloom.errors import IndexFileError, InputError, RankloomWarning
from rankloom.io import folder, folder_writer
from rankloom.io.array_file import SMALL
from rankloom.io.folder import META, meta_checksum, open_folder, verify_folder
from rankloom.io.folder_writer import LOCK, NEW_META, save_folder, writing

KIND = "box"
METADATA = {"kind": KIND, "note": "é"}
ARRAYS = {"a": np.arange(5, dtype=np.int32), "b": np.zeros((3, 2)), "none": np.empty(0, np.float32)}
WRITTEN = [LOCK, META]


def opened(path, **options):
    return open_folder(path, kind=KIND, **options)


def save(path, arrays, *, overwrite=True, **options):
    return save_folder(path, arrays, METADATA, overwrite=overwrite, **options)


def assert_holds(path, arrays):
    got = opened(path, verify=True).arrays
    assert got.keys() == arrays.keys()
    for name, array in arrays.items():
        assert got[name].dtype == array.dtype
        np.testing.assert_array_equal(got[name], array)


def names(path):
    return sorted(found.name for found in path.iterdir())


def test_saved_arrays_are_opened(tmp_path):
    save(tmp_path / "x", ARRAYS)
    assert_holds(tmp_path / "x", ARRAYS)
    assert opened(tmp_path / "x").meta["note"] == "é"
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == sorted(["a.g1.npy", "b.g1.npy", "none.g1.npy", *WRITTEN])


def test_names_may_have_dots(tmp_path):
    arrays = {"index0.row_ptr": np.arange(3), "lists-1": np.arange(2)}
    save(tmp_path / "x", arrays)
    assert_holds(tmp_path / "x", arrays)


def test_arrays_are_opened_read_only_and_large_ones_mapped(tmp_path):
    save(tmp_path / "x", {"large": np.arange(SMALL, dtype=np.int32), "small": np.arange(3)})
    for verify in (True, False):
        got = opened(tmp_path / "x", verify=verify).arrays
        assert not got["large"].flags.writeable
        assert not got["small"].flags.writeable
        assert isinstance(got["large"].base, np.memmap)


def test_arrays_of_any_layout_are_saved_in_row_order(tmp_path):
    arrays = {"t": np.arange(6 * SMALL).reshape(6, SMALL).T, "every_other": np.arange(20)[::2]}
    save(tmp_path / "x", arrays)
    assert_holds(tmp_path / "x", arrays)


def test_object_arrays_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        save(tmp_path / "x", {"o": np.array([{}], object)})
    assert names(tmp_path) == []


# -- generations --------------------------------------------------------------------------------------------------


def test_a_generation_stays_until_the_next_but_one(tmp_path):
    path = tmp_path / "x"
    for generation in (1, 2, 3):
        assert save(path, {"a": np.full(3, generation)}).head.generation == generation
        kept = [f"a.g{number}.npy" for number in (generation - 1, generation) if number]
        assert names(path) == sorted([*kept, *WRITTEN])


def test_arrays_of_the_snapshot_are_not_written_again(tmp_path):
    path = tmp_path / "x"
    base = save(path, {"a": np.arange(SMALL), "b": np.arange(3)})
    for more in range(3):
        files = {name: (path / about["file"]).stat() for name, about in base.head.files.items() if name in "ab"}
        base = save(path, {**base.arrays, f"c{more}": np.arange(more)}, base=base, overwrite=False)
        for name, before in files.items():
            now = (path / base.head.files[name]["file"]).stat()
            assert (now.st_ino, now.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert_holds(path, {"a": np.arange(SMALL), "b": np.arange(3), **{f"c{n}": np.arange(n) for n in range(3)}})
    assert "a.g1.npy" in names(path)


def test_equal_arrays_that_are_other_objects_are_written(tmp_path):
    base = save(tmp_path / "x", {"a": np.arange(3)})
    again = save(tmp_path / "x", {"a": np.arange(3)}, base=base)
    assert again.head.files["a"]["file"] == "a.g2.npy"


def test_a_snapshot_of_another_folder_is_written_as_a_whole(tmp_path):
    base = save(tmp_path / "x", ARRAYS)
    save(tmp_path / "y", base.arrays, base=base, overwrite=False)
    assert_holds(tmp_path / "y", ARRAYS)


def test_foreign_files_are_left_alone(tmp_path):
    save(tmp_path / "x", ARRAYS)
    foreign = {"notes.txt": b"mine", ".DS_Store": b"\0", "a.npy": b"not ours", "a.g1.npy.bak": b""}
    for name, content in foreign.items():
        (tmp_path / "x" / name).write_bytes(content)
    (tmp_path / "x" / "folder").mkdir()
    for turn in range(3):
        save(tmp_path / "x", {"c": np.full(2, turn)})
    assert {name: (tmp_path / "x" / name).read_bytes() for name in foreign} == foreign
    assert (tmp_path / "x" / "folder").is_dir()


def test_a_writer_of_an_older_generation_is_told(tmp_path):
    path = tmp_path / "x"
    save(path, ARRAYS)
    mine, theirs = opened(path), opened(path)
    save(path, {"c": np.ones(2)}, base=theirs, overwrite=False)
    with pytest.raises(
        InputError, match=r"x has changed since it was opened: it was at generation 1, and is at 2\. Op"
    ):
        save(path, {"d": np.ones(2)}, base=mine, overwrite=False)
    assert_holds(path, {"c": np.ones(2)})
    assert save(path, {"d": np.ones(2)}, base=mine).head.generation == 3


def test_a_folder_that_was_made_again_is_not_taken_for_the_one_opened(tmp_path):
    path = tmp_path / "x"
    mine = save(path, ARRAYS)
    shutil.rmtree(path)
    save(path, {"c": np.ones(2)})
    with pytest.raises(InputError, match="has changed since it was opened"):
        save(path, ARRAYS, base=mine, overwrite=False)


def test_what_is_there_is_not_replaced_without_overwrite(tmp_path):
    save(tmp_path / "x", ARRAYS)
    with pytest.raises(InputError, match=r"x already exists; choose another path, or replace it with overwrite=True\."):
        save(tmp_path / "x", ARRAYS, overwrite=False)


def test_writers_wait_for_each_other_and_say_so(tmp_path, monkeypatch):
    path, entered, leave = tmp_path / "x", threading.Event(), threading.Event()
    monkeypatch.setattr("rankloom.io.file_lock.WARN_SECONDS", 0.1)

    def hold():
        with writing(path, KIND) as writer:
            entered.set()
            leave.wait(60)
            writer.commit(ARRAYS, METADATA)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert entered.wait(60)
        message = r"Another process writes to .*x, and did not end within 0\.2 s; try again later"
        with (
            pytest.warns(RankloomWarning, match="Waiting for another process that writes to"),
            pytest.raises(InputError, match=message),
        ):
            save(path, ARRAYS, timeout=0.2)
    finally:
        leave.set()
        holder.join()
    assert save(path, ARRAYS).head.generation == 2


@pytest.mark.parametrize("step", ["is_dir", "mkdir", "open"])
def test_a_folder_that_a_failing_writer_removes_meanwhile_is_made_again(tmp_path, monkeypatch, step):
    """It is removed once another writer has found it there, as it checks it, makes it, or opens its lock."""
    path, removed = tmp_path / "x", []
    path.mkdir()
    owner = os if step == "open" else Path
    call = getattr(owner, step)

    def overtaken(given, *args, **options):
        if removed or Path(given) not in (path, path / LOCK):
            return call(given, *args, **options)
        path.rmdir()
        removed.append(given)
        if step == "mkdir":
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(given))
        return True if step == "is_dir" else call(given, *args, **options)

    monkeypatch.setattr(owner, step, overtaken)
    save(path, ARRAYS)
    assert removed
    assert_holds(path, ARRAYS)


def test_a_lock_that_cannot_be_opened_is_an_error(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / LOCK).symlink_to(tmp_path / "nowhere" / LOCK)
    with pytest.raises(InputError, match=r"Cannot write an index at .*x: No such file or directory\."):
        save(tmp_path / "x", ARRAYS)


@pytest.mark.filterwarnings("ignore:Waiting for another process")  # on a busy machine
def test_threads_that_write_at_once_make_one_generation_each(tmp_path):
    path, generations = tmp_path / "x", []

    def work():
        for _ in range(20):
            generations.append(save(path, {"a": np.arange(3)}).head.generation)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(generations) == list(range(1, 61))


def test_mapped_arrays_outlive_their_generation(tmp_path):
    before = save(tmp_path / "x", {"a": np.arange(SMALL)}) and opened(tmp_path / "x").arrays
    for value in range(3):
        save(tmp_path / "x", {"a": np.full(SMALL, value)})
    np.testing.assert_array_equal(before["a"], np.arange(SMALL))


def test_an_open_that_lost_the_race_reads_again(tmp_path, monkeypatch):
    path, reads = tmp_path / "x", []
    save(path, {"a": np.zeros(3)})
    read = folder.read_meta

    def overtaken(given):
        text = read(given)
        reads.append(text)
        if len(reads) == 1:
            for value in (1.0, 2.0):
                save(path, {"a": np.full(3, value)})
        return text

    monkeypatch.setattr(folder, "read_meta", overtaken)
    assert opened(path).arrays["a"].tolist() == [2.0] * 3
    assert opened(path).head.generation == 3


def test_a_symbolic_link_is_followed(tmp_path):
    save(tmp_path / "real", ARRAYS)
    (tmp_path / "link").symlink_to("real")
    save(tmp_path / "link", {"c": np.ones(2)})
    assert names(tmp_path) == ["link", "real"]
    assert (tmp_path / "link").is_symlink()
    assert_holds(tmp_path / "real", {"c": np.ones(2)})


def test_the_working_folder_can_be_saved_to(tmp_path, monkeypatch):
    save(tmp_path / "x", ARRAYS)
    monkeypatch.chdir(tmp_path / "x")
    save(Path(), {"c": np.ones(2)})
    assert_holds(tmp_path / "x", {"c": np.ones(2)})


# -- what is never overwritten --------------------------------------------------------------------------------


def test_a_foreign_folder_is_not_replaced(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"x exists and is not a box; choose another path, or remove it first\."):
        save(tmp_path / "x", ARRAYS)
    assert names(tmp_path / "x") == ["thesis.tex"]


@pytest.mark.parametrize("text", ['{"kind": "another program\'s"}', "{}", "[]", "not JSON", "", "[" * 100_000])
def test_a_folder_with_foreign_metadata_is_not_replaced(tmp_path, text):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / META).write_text(text)
    with pytest.raises(InputError, match="exists and is not a box"):
        save(tmp_path / "x", ARRAYS)
    assert (tmp_path / "x" / META).read_text() == text
    with pytest.raises(IndexFileError, match=META):
        opened(tmp_path / "x")


def test_a_file_is_not_replaced(tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a box"):
        save(tmp_path / "x", ARRAYS)
    assert (tmp_path / "x").read_text() == "mine"
    with pytest.raises(IndexFileError, match="There is no searcher or index at"):
        opened(tmp_path / "x")


def test_a_missing_parent_is_an_error(tmp_path):
    message = r"Cannot write an index at .*x: the folder .*nowhere does not exist; create it first\."
    with pytest.raises(InputError, match=message):
        save(tmp_path / "nowhere" / "x", ARRAYS)


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_that_is_not_writable_is_an_error(tmp_path, monkeypatch, there):
    if there:
        save(tmp_path / "x", ARRAYS)
    locked = tmp_path / "x" if there else tmp_path
    if os.geteuid() == 0:  # root may write everywhere: simulate the refusal

        def refuse(self, *args, **kwargs):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

        monkeypatch.setattr(folder_writer.Path, "mkdir", refuse)
        monkeypatch.setattr(folder_writer.os, "open", refuse)
    else:
        locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(InputError, match=r"Cannot write an index at .*x: Permission denied\."):
        save(tmp_path / "x", ARRAYS)
    if there:  # readers need no lock
        opened(tmp_path / "x")
    locked.chmod(stat.S_IRWXU)


# -- failed and killed commits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("files", [0, 1, 2])
def test_a_full_disk_leaves_the_old_generation(tmp_path, monkeypatch, there, files):
    if there:
        save(tmp_path / "x", ARRAYS)
    write, written = np.lib.format.write_array, []

    def fill_up(stream, array, *args, **options):
        if len(written) == files:
            stream.write(b"half a fi")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(array)
        write(stream, array, *args, **options)

    monkeypatch.setattr(np.lib.format, "write_array", fill_up)
    with pytest.raises(IndexFileError, match=r"Cannot write an index at .*x: No space left on device\."):
        save(tmp_path / "x", {name: array + 1 for name, array in ARRAYS.items()})
    assert names(tmp_path) == (["x"] if there else [])
    if there:
        assert_holds(tmp_path / "x", ARRAYS)
        assert len(names(tmp_path / "x")) == len(ARRAYS) + len(WRITTEN)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_leaves_the_old_generation(tmp_path, monkeypatch, error):
    save(tmp_path / "x", ARRAYS)

    def stop(*args, **options):
        raise error

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(error):
        save(tmp_path / "x", {"c": np.ones(2)})
    assert_holds(tmp_path / "x", ARRAYS)
    assert "c.g2.npy" not in names(tmp_path / "x")


def adopt(path, arrays):
    """Make arrays the next generation of a folder, from files that were written in another."""
    made = opened(path.with_name("made"))
    with writing(path, KIND) as writer:
        writer.adopt(made.path, made.head.files, METADATA)


def raising_at(monkeypatch, step, error):
    """Raise an error before or after the rename of `meta.json`, or at the sync of the folder that follows."""
    replace, sync = Path.replace, folder_writer.sync_folder

    def failing_replace(self, target):
        if step != "before":
            replace(self, target)
        if step != "sync":
            raise error

    def failing_sync(path):
        if not (path / NEW_META).exists():
            raise error
        sync(path)

    monkeypatch.setattr(Path, "replace", failing_replace)
    monkeypatch.setattr(folder_writer, "sync_folder", failing_sync)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
@pytest.mark.parametrize("write", [save, adopt])
@pytest.mark.parametrize("step", ["before", "after", "sync"])
@pytest.mark.parametrize("there", [True, False])
def test_an_error_at_the_rename_leaves_the_generation_that_is_named(tmp_path, monkeypatch, error, write, step, there):
    path, new = tmp_path / "x", {"c": np.ones(2)}
    save(tmp_path / "made", new)
    if there:
        save(path, ARRAYS)
    before = names(path) if there else []
    with monkeypatch.context() as patched:
        raising_at(patched, step, error)
        with pytest.raises((KeyboardInterrupt, IndexFileError)):
            write(path, new)
    if step == "before":
        assert (names(path) if path.exists() else []) == before
    else:
        assert_holds(path, new)
        assert opened(path).head.generation == 1 + there
    save(path, ARRAYS)
    assert_holds(path, ARRAYS)


def test_what_killed_writers_left_is_removed(tmp_path):
    path = tmp_path / "x [1].loom"
    path.mkdir()
    (path / "a.g1.npy").write_bytes(b"half")
    (path / NEW_META).write_bytes(b"{")
    (path / LOCK).touch()
    with pytest.raises(IndexFileError, match="There is no searcher or index at"):
        opened(path)
    save(path, {"c": np.ones(2)})
    (path / "a.g7.npy").write_bytes(b"half")
    save(path, {"c": np.zeros(2)})
    assert names(path) == ["c.g1.npy", "c.g2.npy", *WRITTEN]


# Kills itself at a given step: before or after a sync, a rename, a removal.
DYING = """
import os, signal, sys
from pathlib import Path
import numpy as np
from rankloom.io import folder_writer

path, value, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
steps = 0

def counted(call):
    def step(*args, **options):
        global steps
        for act in (None, call):
            result = act and act(*args, **options)
            steps += 1
            if steps == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return result
    return step

os.fsync = counted(os.fsync)
Path.replace, Path.unlink, Path.mkdir = counted(Path.replace), counted(Path.unlink), counted(Path.mkdir)
folder_writer.save_folder(path, {name: np.full(3, value) for name in "ab"}, {"kind": "box"}, overwrite=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.long
@pytest.mark.parametrize("there", [True, False])
def test_a_commit_killed_at_any_step_leaves_the_old_generation_or_the_new(tmp_path, there):
    path = tmp_path / "x"
    states = [{name: np.full(3, value) for name in "ab"} for value in (1, 2)]
    codes = []
    while 0 not in codes:
        shutil.rmtree(path, ignore_errors=True)
        if there:
            for _ in range(3):
                save(path, states[0])
        codes.append(subprocess.run([sys.executable, "-c", DYING, path, "2", str(len(codes) + 1)]).returncode)
        if there or (path / META).exists():
            values = {int(value) for array in opened(path).arrays.values() for value in array}
            assert values in ({1}, {2})
        save(path, states[1])
        assert_holds(path, states[1])
        assert len(names(path)) <= 2 * len(states[0]) + len(WRITTEN)
    assert set(codes[:-1]) == {-signal.SIGKILL}
    assert len(codes) > 8


# -- opening ----------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(
        IndexFileError, match=r"There is no searcher or index at .*nowhere, which does not exist; make one"
    ):
        opened(tmp_path / "nowhere")


def test_a_folder_of_another_kind_is_an_error(tmp_path):
    save_folder(tmp_path / "x", ARRAYS, {**METADATA, "kind": "crate"})
    with pytest.raises(IndexFileError, match=r"x is not a box: meta\.json says 'crate'\."):
        opened(tmp_path / "x")


def rewritten(path, *, remove=(), **changes):
    """Write `meta.json` with other values and a checksum that is right."""
    meta = json.loads((path / META).read_text(encoding="utf-8"))
    meta = {name: value for name, value in (meta | changes).items() if name not in ("checksum", *remove)}
    (path / META).write_text(json.dumps({**meta, "checksum": meta_checksum(meta)}), encoding="utf-8")


@pytest.mark.parametrize("number", [0, 4, None, "3", [3]])
def test_an_unknown_format_is_an_error(tmp_path, number):
    save(tmp_path / "x", ARRAYS)
    rewritten(tmp_path / "x", format=number)
    with pytest.raises(IndexFileError) as caught:
        opened(tmp_path / "x")
    assert f"has format {number}; this version reads 3. Build it again" in str(caught.value)


@pytest.mark.parametrize("number", [1, 2])
def test_an_old_format_is_one_sentence(tmp_path, number):
    save(tmp_path / "x", ARRAYS)
    rewritten(tmp_path / "x", format=number)
    for use in (opened, lambda path: save(path, ARRAYS)):
        with pytest.raises(
            IndexFileError, match=r"x was made by a version before 0\.1; remove it and build it again\."
        ):
            use(tmp_path / "x")


def test_modified_metadata_is_an_error_until_it_is_overwritten(tmp_path):
    save(tmp_path / "x", ARRAYS)
    meta = json.loads((tmp_path / "x" / META).read_text(encoding="utf-8"))
    (tmp_path / "x" / META).write_text(json.dumps({**meta, "note": "e"}), encoding="utf-8")
    with pytest.raises(IndexFileError, match=r"meta\.json was modified after it was saved; build the index again\."):
        opened(tmp_path / "x")
    with pytest.raises(InputError, match="already exists"):
        save(tmp_path / "x", ARRAYS, overwrite=False)
    save(tmp_path / "x", ARRAYS)
    assert_holds(tmp_path / "x", ARRAYS)


ABOUT = {"file": "a.g1.npy", "dtype": "<i4", "shape": [5], "bytes": 148, "sha256": ""}
WRONG_FILES = {
    "nothing": None,
    "a list": ["a"],
    "no description": {"a": None},
    "an empty description": {"a": {}},
    **{f"no {key}": {"a": {name: value for name, value in ABOUT.items() if name != key}} for key in ABOUT},
    "no such type": {"a": {**ABOUT, "dtype": "x"}},
    "a number as type": {"a": {**ABOUT, "dtype": 4}},
    "objects": {"a": {**ABOUT, "dtype": "|O"}},
    "a type with a shape": {"a": {**ABOUT, "dtype": "(5,)i4", "shape": []}},
    "a type with fields": {"a": {**ABOUT, "dtype": [["x", "<i4"]]}},
    "a number as shape": {"a": {**ABOUT, "shape": 5}},
    "a negative shape": {"a": {**ABOUT, "shape": [-5]}},
    "a shape of text": {"a": {**ABOUT, "shape": "5"}},
    "a shape beyond the file": {"a": {**ABOUT, "shape": [2**70]}},
    "text as size": {"a": {**ABOUT, "bytes": "148"}},
    "a number as checksum": {"a": {**ABOUT, "sha256": 5}},
    "a path outside": {"a": {**ABOUT, "file": "../x/a.g1.npy"}},
    "no name": {"a": {**ABOUT, "file": ""}},
}


@pytest.mark.parametrize("files", WRONG_FILES.values(), ids=WRONG_FILES)
@pytest.mark.parametrize("verify", [True, False])
def test_metadata_made_wrong_with_a_right_checksum_is_an_error(tmp_path, files, verify):
    save(tmp_path / "x", {"a": np.arange(5, dtype=np.int32)})
    rewritten(tmp_path / "x", files=files)
    with pytest.raises(IndexFileError, match=r"meta\.json is damaged: it does not describe the files; build the index"):
        opened(tmp_path / "x", verify=verify)
    rewritten(tmp_path / "x", files={"a": ABOUT})
    assert opened(tmp_path / "x").arrays["a"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "change", [{"generation": 0}, {"generation": True}, {"generation": 2**70}, {"previous": None}, {"previous": ["/x"]}]
)
def test_wrong_generations_are_an_error(tmp_path, change):
    save(tmp_path / "x", ARRAYS)
    rewritten(tmp_path / "x", **change)
    with pytest.raises(IndexFileError, match=r"meta\.json is damaged"):
        opened(tmp_path / "x")


def test_unreadable_metadata_is_an_error(tmp_path):
    (tmp_path / "x" / META).mkdir(parents=True)
    with pytest.raises(IndexFileError, match=r"Cannot read .*meta\.json: Is a directory\."):
        opened(tmp_path / "x")


def test_a_damaged_header_is_harmless_even_unverified(tmp_path):
    """Type and shape are in the metadata, which has its own checksum."""
    save(tmp_path / "x", {"a": np.arange(SMALL)})
    file = tmp_path / "x" / "a.g1.npy"
    original = file.read_bytes()
    for position in range(128):
        file.write_bytes(original[:position] + b"(" + original[position + 1 :])
        np.testing.assert_array_equal(opened(tmp_path / "x").arrays["a"], np.arange(SMALL))


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_a_file_of_another_size_is_an_error_even_unverified(tmp_path, length):
    save(tmp_path / "x", {"a": np.arange(SMALL)})
    file = tmp_path / "x" / "a.g1.npy"
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(IndexFileError, match=r"a\.g1\.npy is damaged: it has changed since it was saved; build the"):
        opened(tmp_path / "x")


def test_verification_finds_a_changed_byte_in_any_file(tmp_path):
    save(tmp_path / "x", ARRAYS)
    assert verify_folder(tmp_path / "x").generation == 1
    for name, about in opened(tmp_path / "x").head.files.items():
        file = tmp_path / "x" / about["file"]
        original = file.read_bytes()
        file.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
        with pytest.raises(IndexFileError, match=rf"{name}\.g1\.npy is damaged"):
            verify_folder(tmp_path / "x")
        file.write_bytes(original)


def test_numpy_can_load_the_files(tmp_path):
    save(tmp_path / "x", ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(np.load(tmp_path / "x" / f"{name}.g1.npy", allow_pickle=False), array)


def test_opening_during_a_save_in_another_thread_is_consistent(tmp_path):
    """The files of both states have the same sizes, so a mixture would open."""
    path = tmp_path / "x"
    states = [{name: np.full(SMALL, value) for name in "abcdef"} for value in (1, 2)]
    save(path, states[0])
    stop = threading.Event()

    def keep_saving():
        while not stop.is_set():
            for state in states:
                save(path, state)

    saver = threading.Thread(target=keep_saving)
    saver.start()
    try:
        for turn in range(100):
            got = opened(path, verify=turn % 2 == 0).arrays
            assert len({int(array[0]) for array in got.values()} | {int(array[-1]) for array in got.values()}) == 1
    finally:
        stop.set()
        saver.join()


def test_a_full_disk_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    fill_disk(monkeypatch, 200)
    with pytest.raises(IndexFileError, match=r"Cannot write an index at .*: No space left on device."):
        save(tmp_path / "x", {"a": np.arange(50_000)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="needs to mount a file system")
def test_a_disk_that_is_really_full_is_named(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("cannot mount a file system here")
    try:
        with pytest.raises(IndexFileError, match=r"Cannot write an index at .*: No space left on device."):
            save(disk / "x", {"a": np.arange(50_000)})
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_loop_of_links_is_one_sentence(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match=r"Cannot write an index at .*: Too many levels of symbolic links."):
        save(tmp_path / "a", ARRAYS)
    with pytest.raises(IndexFileError, match=r"Cannot read .*: Too many levels of symbolic links."):
        opened(tmp_path / "a")
