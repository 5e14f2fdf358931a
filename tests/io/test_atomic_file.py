import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faults import fill_disk
from rankloom import Ranks, write_run
from rankloom.errors import InputError
from rankloom.io import atomic_file, atomic_write, write_npz


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_is_written_as_utf8_with_line_feeds(tmp_path):
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("é\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa9\n"
    assert names(tmp_path) == ["a.txt"]


def test_bytes_are_written_unchanged(tmp_path):
    with atomic_write(str(tmp_path / "a.bin"), "wb") as file:
        file.write(b"\x00\r\n\xff")
    assert (tmp_path / "a.bin").read_bytes() == b"\x00\r\n\xff"


@pytest.mark.parametrize(("mode", "content"), [("w", "text"), ("wb", b"text")])
def test_gz_files_are_compressed_and_do_not_depend_on_name_or_time(tmp_path, mode, content, monkeypatch):
    for name, now in (("a.gz", 1.0), ("b.gz", 2e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        with atomic_write(tmp_path / name, mode) as file:
            file.write(content)
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("name", ["a.txt", "a.gz"])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_failed_write_leaves_only_the_old_file(tmp_path, name, error):
    (tmp_path / name).write_text("old")

    def fail():
        with atomic_write(tmp_path / name) as file:
            file.write("half of the n")
            raise error

    with pytest.raises(error):
        fail()
    assert (tmp_path / name).read_text() == "old"
    assert names(tmp_path) == [name]


def test_the_file_appears_when_the_block_ends(tmp_path):
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("x")
        assert not (tmp_path / "a.txt").exists()
        assert all(name.startswith(".") for name in names(tmp_path))


def test_the_permissions_of_the_old_file_are_preserved(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_write(tmp_path / "link.txt") as file:
        file.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def error_of(path):
    with pytest.raises(InputError) as caught, atomic_write(path):
        pytest.fail("the block must not be entered")
    return str(caught.value)


def test_a_missing_folder_is_an_error(tmp_path):
    path = tmp_path / "no" / "a.txt"
    assert error_of(path) == f"Cannot write {path}: the folder {path.parent} does not exist; create it first."


def test_folders_and_devices_are_errors(tmp_path):
    assert error_of(tmp_path) == f"Cannot write {tmp_path}: it is a folder; give the path of a file."
    if Path(os.devnull).exists():
        assert "not a regular file" in error_of(os.devnull)


def test_a_file_instead_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "a").write_text("")
    assert error_of(tmp_path / "a" / "b.txt").startswith(f"Cannot write {tmp_path / 'a' / 'b.txt'}: ")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_an_error(tmp_path):
    tmp_path.chmod(0o500)
    message = error_of(tmp_path / "a.txt")
    tmp_path.chmod(0o700)
    assert message == f"Cannot write {tmp_path / 'a.txt'}: Permission denied."


def test_a_full_disk_is_an_error_and_the_old_file_stays(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr("os.fsync", full)
    with (
        pytest.raises(InputError, match=r"^Cannot write .*a\.txt: No space left on device\.$"),
        atomic_write(tmp_path / "a.txt") as file,
    ):
        file.write("new")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def looped(tmp_path):
    """Return a symbolic link that leads to itself, by way of another."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    return tmp_path / "a"


def test_a_loop_of_links_is_an_input_error(tmp_path):
    path = looped(tmp_path)
    for target in (path, path / "below"):
        with (
            pytest.raises(InputError, match=r"Too many levels of symbolic links|does not exist"),
            atomic_write(target),
        ):
            pass
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "x.npz"])
def test_a_full_disk_is_named_and_nothing_is_left(tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("old")
    fill_disk(monkeypatch, 100)
    ranks = Ranks.from_vectors(np.random.default_rng(0).normal(size=(50, 3)))
    with pytest.raises(InputError, match=f"Cannot write .*{name}: No space left on device."):
        write_npz(ranks, tmp_path / name) if name == "x.npz" else write_run(ranks, tmp_path / name)
    assert names(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "old"


# -- processes that were killed -----------------------------------------------------------------------------------

WRITER = """
import sys, time
from rankloom.io import atomic_file, atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def writer(path, seconds):
    """Return a process in the midst of writing a file."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, path, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    return process


def write(path):
    atomic_file._remove_abandoned.cache_clear()  # as in a new process
    with atomic_write(path) as file:
        file.write("whole")


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and locks")
def test_the_temporary_file_of_a_killed_process_is_removed_and_that_of_a_running_one_is_not(tmp_path):
    with writer(tmp_path / "a.txt", 60) as killed, writer(tmp_path / "b.txt", 3) as running:
        before = names(tmp_path)
        killed.kill()
        killed.wait()
        assert names(tmp_path) == before
        write(tmp_path / "c.txt")
        assert len(names(tmp_path)) == 2
        assert running.wait() == 0
    assert names(tmp_path) == ["b.txt", "c.txt"]


def test_other_hidden_files_are_not_removed(tmp_path):
    others = [".rankloom-notes.tmp", ".rankloom-0123456789abcdef.tmp~", ".x.tmp"]
    for name in others:
        (tmp_path / name).touch()
    write(tmp_path / "a.txt")
    assert names(tmp_path) == sorted([*others, "a.txt"])


def test_without_locks_only_old_temporary_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.io.file_lock.fcntl", None)  # Windows
    young, old = (tmp_path / f".rankloom-{digit * 16}.tmp" for digit in "01")
    for path in (young, old):
        path.touch()
    os.utime(old, (0, 0))
    write(tmp_path / "a.txt")
    assert names(tmp_path) == [young.name, "a.txt"]


def test_a_temporary_file_that_is_claimed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    touch, removed = Path.touch, []

    def claim(path, **options):
        touch(path, **options)
        if not removed:
            removed.append(path)
            path.unlink()

    monkeypatch.setattr(Path, "touch", claim)
    write(tmp_path / "a.txt")
    assert removed
    assert (tmp_path / "a.txt").read_text() == "whole"
    assert names(tmp_path) == ["a.txt"]
