"""What all commands share: help, exit codes, errors as one sentence."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import rankloom as rl
from command import run, sentence
from rankloom.cli import app

COMMANDS = typer.main.get_command(app).commands
PROGRAM = str(Path(sys.executable).with_name("rankloom"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert re.search(rf"Examples?:\s+rankloom {command}\b", result.stdout)


def test_every_command_that_takes_names_loads_plugins():
    without = {name for name, command in COMMANDS.items() if "plugin" not in {p.name for p in command.params}}
    assert without == {"demo"}


def test_version_is_printed():
    assert run("--version").stdout.strip() == rl.__version__


def test_wrong_usage_is_exit_code_2():
    assert run("fuse").exit_code == 2
    assert run("search", "x", "-k", "0").exit_code == 2


def test_without_a_terminal_there_is_no_progress_bar(item_runs, tmp_path):
    shell = {"capture_output": True, "text": True, "cwd": tmp_path, "env": dict(os.environ)}
    done = subprocess.run([PROGRAM, "index", *map(str, item_runs), "-o", "x.loom"], **shell)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "x.loom: 30 items, 2 rankers\n")
    failed = subprocess.run([PROGRAM, "search", "y.loom"], **shell)
    assert failed.returncode == 1
    assert failed.stderr == "Error: There is no index at y.loom; build one with 'rankloom index'.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_full_disk_under_the_standard_output_is_one_sentence(index):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PROGRAM, "search", str(index)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: Cannot write the output: No space left on device.\n"


def test_unreadable_file_is_named(monkeypatch, judged):
    def unreadable(*_, **__):
        raise PermissionError(13, "Permission denied", "secret.run")

    monkeypatch.setattr("rankloom.cli.evaluate.read_all", unreadable)
    found = sentence(run("evaluate", judged.path("good"), "--qrels", judged.qrels))
    assert found == "Cannot use secret.run: Permission denied."


def test_symbols_are_replaced_if_the_terminal_cannot_show_them(judged):
    code = "from rankloom.cli import main; main()"
    paths = map(str, judged.paths("fair", "good", "poor"))
    command = [sys.executable, "-c", code, "compare", *paths, "--qrels", str(judged.qrels)]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("|")[-2].strip() for line in lines if "good.run" in line or "poor.run" in line] == ["-", "+"]
    assert "+ ours is statistically better" in done.stdout
