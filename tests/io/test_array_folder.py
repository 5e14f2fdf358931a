"""Folders of arrays: saved atomically, and opened only if unchanged."""

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
from rankloom.errors import IndexFileError, InputError
from rankloom.io import array_folder as folder
from rankloom.io.array_folder import META, SMALL, open_folder, save_folder
from rankloom.io.file_lock import locked

KIND = "box"
METADATA = {"kind": KIND, "format": 2, "note": "é"}
ARRAYS = {"a": np.arange(5, dtype=np.int32), "b": np.zeros((3, 2)), "none": np.empty(0, np.float32)}


def opened(path, **options):
    return open_folder(path, kind=KIND, formats=range(1, 3), **options)


def assert_holds(path, arrays):
    got, _ = opened(path)
    assert got.keys() == arrays.keys()
    for name, array in arrays.items():
        assert got[name].dtype == array.dtype
        np.testing.assert_array_equal(got[name], array)


def names(path):
    return sorted(found.name for found in path.iterdir())


def test_saved_arrays_are_opened(tmp_path):
    save_folder(tmp_path / "x", ARRAYS, METADATA)
    assert_holds(tmp_path / "x", ARRAYS)
    assert opened(tmp_path / "x")[1]["note"] == "é"
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == ["a.npy", "b.npy", META, "none.npy"]


def test_names_may_have_dots(tmp_path):
    arrays = {"index0.row_ptr": np.arange(3), "lists-1": np.arange(2)}
    save_folder(tmp_path / "x", arrays, METADATA)
    assert_holds(tmp_path / "x", arrays)


def test_arrays_are_opened_read_only_and_large_ones_mapped(tmp_path):
    large = {"large": np.arange(SMALL, dtype=np.int32), "small": np.arange(3)}
    save_folder(tmp_path / "x", large, METADATA)
    for verify in (True, False):
        got, _ = opened(tmp_path / "x", verify=verify)
        assert not got["large"].flags.writeable
        assert not got["small"].flags.writeable
        assert isinstance(got["large"].base, np.memmap)


def test_arrays_of_any_layout_are_saved_in_row_order(tmp_path):
    arrays = {"t": np.arange(6 * SMALL).reshape(6, SMALL).T, "every_other": np.arange(20)[::2]}
    save_folder(tmp_path / "x", arrays, METADATA)
    assert_holds(tmp_path / "x", arrays)


def test_object_arrays_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        save_folder(tmp_path / "x", {"o": np.array([{}], object)}, METADATA)
    assert names(tmp_path) == []


def test_a_second_save_replaces_the_first(tmp_path):
    save_folder(tmp_path / "x", ARRAYS, METADATA)
    save_folder(tmp_path / "x", {"c": np.ones(2)}, METADATA)
    assert_holds(tmp_path / "x", {"c": np.ones(2)})
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == ["c.npy", META]


def test_a_second_save_works_without_an_atomic_exchange(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_exchange", lambda a, b: False)
    test_a_second_save_replaces_the_first(tmp_path)


def test_mapped_arrays_outlive_their_folder(tmp_path):
    save_folder(tmp_path / "x", {"a": np.arange(SMALL)}, METADATA)
    before, _ = opened(tmp_path / "x")
    save_folder(tmp_path / "x", {"a": np.zeros(SMALL, int)}, METADATA)
    np.testing.assert_array_equal(before["a"], np.arange(SMALL))


def test_an_opened_folder_can_be_saved_to_the_same_path(tmp_path):
    save_folder(tmp_path / "x", {"a": np.arange(SMALL)}, METADATA)
    save_folder(tmp_path / "x", opened(tmp_path / "x")[0], METADATA)
    assert_holds(tmp_path / "x", {"a": np.arange(SMALL)})


def test_a_symbolic_link_is_followed(tmp_path):
    save_folder(tmp_path / "real", ARRAYS, METADATA)
    (tmp_path / "link").symlink_to("real")
    save_folder(tmp_path / "link", {"c": np.ones(2)}, METADATA)
    assert names(tmp_path) == ["link", "real"]
    assert (tmp_path / "link").is_symlink()
    assert_holds(tmp_path / "real", {"c": np.ones(2)})


def test_the_working_folder_can_be_saved_to(tmp_path, monkeypatch):
    save_folder(tmp_path / "x", ARRAYS, METADATA)
    monkeypatch.chdir(tmp_path / "x")
    save_folder(folder.Path("."), {"c": np.ones(2)}, METADATA)
    assert_holds(tmp_path / "x", {"c": np.ones(2)})


# -- what is never overwritten --------------------------------------------------------------------------------


def test_a_foreign_folder_is_not_replaced(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"x exists and is not a box; choose another path, or remove it first\."):
        save_folder(tmp_path / "x", ARRAYS, METADATA)
    assert (tmp_path / "x" / "thesis.tex").read_text() == "years of work"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("text", ['{"kind": "another program\'s"}', "{}", "[]", "not JSON", "", "[" * 100_000])
def test_a_folder_with_foreign_metadata_is_not_replaced(tmp_path, text):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / META).write_text(text)
    with pytest.raises(InputError, match="exists and is not a box"):
        save_folder(tmp_path / "x", ARRAYS, METADATA)
    assert (tmp_path / "x" / META).read_text() == text
    with pytest.raises(IndexFileError, match=META):
        opened(tmp_path / "x")


def test_a_file_is_not_replaced(tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a box"):
        save_folder(tmp_path / "x", ARRAYS, METADATA)
    assert (tmp_path / "x").read_text() == "mine"
    with pytest.raises(IndexFileError, match="There is no index at"):
        opened(tmp_path / "x")


def test_a_missing_parent_is_an_error(tmp_path):
    with pytest.raises(
        InputError, match=r"Cannot write an index at .*x: the folder .*nowhere does not exist; create it first\."
    ):
        save_folder(tmp_path / "nowhere" / "x", ARRAYS, METADATA)


def test_a_parent_that_is_not_writable_is_an_error(tmp_path, monkeypatch):
    parent = tmp_path / "locked"
    parent.mkdir()
    if os.geteuid() == 0:  # root may write everywhere: simulate the refusal

        def refuse(self, *args, **kwargs):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

        monkeypatch.setattr(folder.Path, "mkdir", refuse)
    else:
        parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(InputError, match=r"Cannot write an index at .*x: Permission denied\."):
        save_folder(parent / "x", ARRAYS, METADATA)
    parent.chmod(stat.S_IRWXU)
    assert names(parent) == []


# -- failed saves -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("files", [0, 1, 2])
def test_a_full_disk_leaves_the_old_folder(tmp_path, monkeypatch, there, files):
    if there:
        save_folder(tmp_path / "x", ARRAYS, METADATA)
    write, written = np.lib.format.write_array, []

    def fill_up(stream, array, *args, **options):
        if len(written) == files:
            stream.write(b"half a fi")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(array)
        write(stream, array, *args, **options)

    monkeypatch.setattr(np.lib.format, "write_array", fill_up)
    with pytest.raises(IndexFileError, match=r"Cannot write an index at .*x: No space left on device\."):
        save_folder(tmp_path / "x", {name: array + 1 for name, array in ARRAYS.items()}, METADATA)
    assert names(tmp_path) == (["x"] if there else [])
    if there:
        assert_holds(tmp_path / "x", ARRAYS)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_leaves_the_old_folder(tmp_path, monkeypatch, error):
    save_folder(tmp_path / "x", ARRAYS, METADATA)

    def stop(*args, **options):
        raise error

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(error):
        save_folder(tmp_path / "x", {"c": np.ones(2)}, METADATA)
    assert names(tmp_path) == ["x"]
    assert_holds(tmp_path / "x", ARRAYS)


def leftover(path, suffix=folder.NEW):
    """Create the temporary folder that a killed save to `path` leaves."""
    temporary = path.parent / f".{path.name}.0123456789abcdef{suffix}"
    temporary.mkdir()
    (temporary / "a.npy").write_bytes(b"half")
    return temporary


def test_the_next_save_removes_leftovers_of_killed_saves(tmp_path):
    path = tmp_path / "x [1].loom"  # also a valid pattern
    save_folder(path, ARRAYS, METADATA)
    leftover(path)
    leftover(path, folder.OLD)
    save_folder(path, ARRAYS, METADATA)
    assert names(tmp_path) == ["x [1].loom"]


def test_other_folders_are_not_removed(tmp_path):
    path = tmp_path / "x"
    others = [
        leftover(path),  # of a save in progress: its process holds the lock
        leftover(tmp_path / "x.7"),  # of a path of which ours is a prefix
        leftover(tmp_path / "y"),
        tmp_path / f".x.notes{folder.NEW}",
    ]
    others[-1].mkdir()
    with locked(others[0]):
        save_folder(path, ARRAYS, METADATA)
    assert names(tmp_path) == sorted([*(other.name for other in others), "x"])


def test_without_locks_only_old_leftovers_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.io.file_lock.fcntl", None)  # Windows
    path = tmp_path / "x"
    save_folder(path, ARRAYS, METADATA)
    young = leftover(path)
    old = leftover(path, folder.OLD)
    os.utime(old, (0, 0))
    save_folder(path, ARRAYS, METADATA)
    assert names(tmp_path) == sorted([young.name, "x"])


def test_without_locks_the_old_folder_is_restored(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.io.file_lock.fcntl", None)
    save_folder(tmp_path / "x", ARRAYS, METADATA)
    old = (tmp_path / "x").rename(tmp_path / f".x.0123456789abcdef{folder.OLD}")
    os.utime(old, (0, 0))
    assert_holds(tmp_path / "x", ARRAYS)
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("failing", [1, 2])
def test_folder_in_use_on_windows_is_an_error_and_stays(tmp_path, monkeypatch, failing):
    save_folder(tmp_path / "x", ARRAYS, METADATA)
    renames = []
    rename = Path.rename

    def deny(path, target):
        renames.append(target)
        if len(renames) == failing:
            error = PermissionError(13, "Access is denied")
            error.winerror = 5
            raise error
        return rename(path, target)

    monkeypatch.setattr(folder, "_exchange", lambda a, b: False)
    monkeypatch.setattr(Path, "rename", deny)
    with pytest.raises(IndexFileError, match="it is open in another program or in this one; close it first"):
        save_folder(tmp_path / "x", {"c": np.ones(2)}, METADATA)
    assert_holds(tmp_path / "x", ARRAYS)
    assert names(tmp_path) == ["x"]


# Kills itself at a given step: before or after a sync, an exchange, a rename, a removal.
DYING = """
import os, shutil, signal, sys
from pathlib import Path
import numpy as np
from rankloom.io import array_folder as folder

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

os.fsync, shutil.rmtree = counted(os.fsync), counted(shutil.rmtree)
folder._exchange = counted(folder._exchange if sys.argv[4] == "exchange" else lambda a, b: False)
Path.rename = counted(Path.rename)
folder.save_folder(path, {name: np.full(3, value) for name in "ab"}, {"kind": "box", "format": 2})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.long
@pytest.mark.parametrize("steps", ["exchange", "two renames"])
@pytest.mark.parametrize("there", [True, False])
def test_a_save_killed_at_any_step_leaves_the_old_folder_or_the_new(tmp_path, there, steps):
    path = tmp_path / "x"
    states = [{name: np.full(3, value) for name in "ab"} for value in (1, 2)]
    codes = []
    while 0 not in codes:
        if there:
            save_folder(path, states[0], METADATA)
        elif path.exists():
            shutil.rmtree(path)
        codes.append(subprocess.run([sys.executable, "-c", DYING, path, "2", str(len(codes) + 1), steps]).returncode)
        if there or path.exists():
            values = {int(value) for array in opened(path)[0].values() for value in array}
            assert values in ({1}, {2})
        save_folder(path, states[1], METADATA)
        assert_holds(path, states[1])
        assert names(tmp_path) == ["x"]
    assert set(codes[:-1]) == {-signal.SIGKILL}
    assert len(codes) > 8


# -- opening ----------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(IndexFileError, match=r"There is no index at .*nowhere, which does not exist; make one"):
        opened(tmp_path / "nowhere")


def test_a_folder_of_another_kind_is_an_error(tmp_path):
    save_folder(tmp_path / "x", ARRAYS, {**METADATA, "kind": "crate"})
    with pytest.raises(IndexFileError, match=r"x is not a box: meta\.json says 'crate'\."):
        opened(tmp_path / "x")


@pytest.mark.parametrize("number", [0, 3, None, "2", [2]])
def test_an_unknown_format_is_an_error(tmp_path, number):
    save_folder(tmp_path / "x", ARRAYS, {**METADATA, "format": number})
    with pytest.raises(IndexFileError) as caught:
        opened(tmp_path / "x")
    assert f"has format {number}; this version reads 1 or 2. Build it again" in str(caught.value)


def test_modified_metadata_is_an_error(tmp_path):
    save_folder(tmp_path / "x", ARRAYS, METADATA)
    meta = json.loads((tmp_path / "x" / META).read_text(encoding="utf-8"))
    (tmp_path / "x" / META).write_text(json.dumps({**meta, "note": "e"}), encoding="utf-8")
    with pytest.raises(IndexFileError, match=r"meta\.json was modified after it was saved; build the index again\."):
        opened(tmp_path / "x")


ABOUT = {"dtype": "<i4", "shape": [5], "bytes": 148, "sha256": ""}
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
    "a path outside": {"../x/a": ABOUT},
    "no name": {"": ABOUT},
}


@pytest.mark.parametrize("files", WRONG_FILES.values(), ids=WRONG_FILES)
@pytest.mark.parametrize("verify", [True, False])
def test_metadata_made_wrong_with_a_right_checksum_is_an_error(tmp_path, files, verify):
    save_folder(tmp_path / "x", {"a": np.arange(5, dtype=np.int32)}, METADATA)
    meta = {**METADATA, "files": files}
    (tmp_path / "x" / META).write_text(json.dumps({**meta, "checksum": folder._meta_checksum(meta)}))
    with pytest.raises(IndexFileError, match=r"meta\.json is damaged: it does not describe the files; build the index"):
        opened(tmp_path / "x", verify=verify)
    meta["files"] = {"a": ABOUT}
    (tmp_path / "x" / META).write_text(json.dumps({**meta, "checksum": folder._meta_checksum(meta)}))
    assert opened(tmp_path / "x", verify=False)[0]["a"].tolist() == [0, 1, 2, 3, 4]


def test_unreadable_metadata_is_an_error(tmp_path):
    (tmp_path / "x" / META).mkdir(parents=True)
    with pytest.raises(IndexFileError, match=r"Cannot read .*meta\.json: Is a directory\."):
        opened(tmp_path / "x")


def test_a_damaged_header_is_harmless_even_unverified(tmp_path):
    """Type and shape are in the metadata, which has its own checksum."""
    save_folder(tmp_path / "x", {"a": np.arange(SMALL)}, METADATA)
    file = tmp_path / "x" / "a.npy"
    original = file.read_bytes()
    for position in range(128):
        file.write_bytes(original[:position] + b"(" + original[position + 1 :])
        np.testing.assert_array_equal(opened(tmp_path / "x", verify=False)[0]["a"], np.arange(SMALL))


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_a_file_of_another_size_is_an_error_even_unverified(tmp_path, length):
    save_folder(tmp_path / "x", {"a": np.arange(SMALL)}, METADATA)
    file = tmp_path / "x" / "a.npy"
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(IndexFileError, match=r"a\.npy is damaged: it has changed since it was saved; build the index"):
        opened(tmp_path / "x", verify=False)


def test_numpy_can_load_the_files(tmp_path):
    save_folder(tmp_path / "x", ARRAYS, METADATA)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(np.load(tmp_path / "x" / f"{name}.npy", allow_pickle=False), array)


def test_opening_during_a_save_in_another_thread_is_consistent(tmp_path):
    """The files of both states have the same sizes, so a mixture would open."""
    path = tmp_path / "x"
    states = [{name: np.full(SMALL, value) for name in "abcdef"} for value in (1, 2)]
    save_folder(path, states[0], METADATA)
    stop = threading.Event()

    def save():
        while not stop.is_set():
            for state in states:
                save_folder(path, state, METADATA)

    saver = threading.Thread(target=save)
    saver.start()
    try:
        for turn in range(100):
            got, _ = opened(path, verify=turn % 2 == 0)
            assert len({int(array[0]) for array in got.values()} | {int(array[-1]) for array in got.values()}) == 1
    finally:
        stop.set()
        saver.join()


def test_a_full_disk_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    fill_disk(monkeypatch, 200)
    with pytest.raises(IndexFileError, match=r"Cannot write an index at .*: No space left on device."):
        save_folder(tmp_path / "x", {"a": np.arange(50_000)}, METADATA)
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
            save_folder(disk / "x", {"a": np.arange(50_000)}, METADATA)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_loop_of_links_is_one_sentence(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match=r"Cannot write an index at .*: Too many levels of symbolic links."):
        save_folder(tmp_path / "a", ARRAYS, METADATA)
    with pytest.raises(IndexFileError, match=r"Cannot read .*: Too many levels of symbolic links."):
        opened(tmp_path / "a")
