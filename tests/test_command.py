"""Ctrl+C ends the command with exit code 130, no traceback and what is written, whenever it comes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: The script that pip writes, with a line to wait for: before it there is only Python starting.
PROGRAM = """
import sys
class Announced:
    def find_spec(self, name, path=None, target=None):
        if name == "rankloom":
            print("up", flush=True)
sys.meta_path.insert(0, Announced())
from rankloom_command import main
sys.exit(main())
"""
#: A command that takes long: a plug-in that waits for a signal, in a destructor or an import that hides it.
WAITING = """
import time
print("waiting", flush=True)
{wait}
"""
HIDDEN = {
    "plain": "time.sleep(60)",
    "import error": "try:\n    time.sleep(60)\nexcept BaseException:\n    raise ImportError('numpy is broken')",
    "destructor": "class Late:\n    def __del__(self):\n        time.sleep(60)\nLate()\ntime.sleep(60)",
    "cleanup": "try:\n    time.sleep(60)\nfinally:\n    open('cleaned', 'w').close()",
}


def started(*arguments, **options):
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        **options,
    )
    assert process.stdout.readline() == "up\n"
    return process


@pytest.mark.parametrize(
    "delay",
    [0.0, 0.1, 0.3, *(pytest.param(delay, marks=pytest.mark.long) for delay in (0.02, 0.05, 0.2, 0.5, 0.8, 1.2))],
)
def test_interrupt_while_starting_is_exit_code_130(delay, tmp_path):
    process = started("demo", "--no-serve", "--no-cache", cwd=tmp_path)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "Stopped; nothing written.\n")


@pytest.mark.parametrize("wait", HIDDEN.values(), ids=HIDDEN)
def test_interrupt_while_running_is_exit_code_130(wait, tmp_path):
    (tmp_path / "plugin.py").write_text(WAITING.format(wait=wait))
    process = started("rank", "emoji", "-o", "out", "--plugin", "plugin.py", cwd=tmp_path)
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.endswith("Stopped; nothing written.\n")
    assert (tmp_path / "cleaned").exists() == ("cleaned" in wait)


def test_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as under nohup
    try:
        process = started("--version")
    finally:
        signal.signal(signal.SIGINT, before)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_wheel_includes_the_command():
    wheel = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    files = {file.distribution_path for file in wheel.recurse_included_files()}
    assert {"rankloom_command.py", "rankloom/__init__.py", "rankloom/cli/__init__.py"} <= files
    assert wheel.metadata.core.scripts == {"rankloom": "rankloom_command:main"}
