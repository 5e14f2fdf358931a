"""Limits of what is read into memory."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from rankloom.datasets import open_collection
from rankloom.errors import InputError
from rankloom.io import read_labels, read_qrels, read_run, read_udlf_ranks
from rankloom.io.text_file import numbered_lines

MEGABYTE = 1 << 20


@pytest.fixture
def short(monkeypatch):
    """Lines of at most 20 bytes."""
    monkeypatch.setattr("rankloom.io.text_file.MAX_LINE_BYTES", 20)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_line_may_be_as_long_as_the_limit_and_no_longer(tmp_path, short, suffix):
    path = tmp_path / f"lines.txt{suffix}"
    write = gzip.open if suffix else open
    with write(path, "wb") as file:
        file.write(b"x" * 19 + b"\n" + b"y" * 20)
    assert [len(line) for _, line in numbered_lines(path)] == [20, 20]
    with write(path, "wb") as file:
        file.write(b"x\n" + b"y" * 21)
    with pytest.raises(InputError, match=r":2: a line may have at most 20 bytes; this one is longer\."):
        list(numbered_lines(path))


def test_a_line_of_a_table_has_the_same_limit(tmp_path, short):
    path = tmp_path / "t.csv"
    path.write_text("id,text\na,short\nb," + "x" * 30 + "\n")
    with pytest.raises(InputError, match=r"t.csv:3: a line may have at most 20 bytes"):
        open_collection(str(path))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
@pytest.mark.parametrize("read", [read_run, read_qrels, read_labels, read_udlf_ranks])
def test_an_endless_file_is_an_error(read):
    with pytest.raises(InputError, match="/dev/zero:1: a line may have at most 16,777,216 bytes"):
        read("/dev/zero")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_gzip_bomb_without_a_line_feed_takes_little_memory(tmp_path):
    bomb = tmp_path / "bomb.run.gz"
    with gzip.open(bomb, "wb") as file:
        for _ in range(400):
            file.write(bytes(MEGABYTE))
    assert bomb.stat().st_size < MEGABYTE
    code = (
        "import sys, rankloom\n"
        "try: rankloom.read_run(sys.argv[1])\n"
        "except rankloom.RankloomError as error: print(error)\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(bomb)], capture_output=True, text=True, check=True)
    message, peak = done.stdout.splitlines()
    assert message == f"{bomb}:1: a line may have at most 16,777,216 bytes; this one is longer."
    assert int(peak) * 1024 < 300 * MEGABYTE
