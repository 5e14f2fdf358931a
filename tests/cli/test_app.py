"""What all commands share: help, exit codes, errors as one sentence."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer

import rankloom as rl
from command import run, sentence
from rankloom.cli.app import app

COMMANDS = typer.main.get_command(app).commands
MAIN = "from rankloom.cli import main; main()"
PROGRAM = str(Path(sys.executable).with_name("rankloom"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert re.search(rf"Examples?:\s+rankloom {command}\b", result.stdout)


def test_the_help_cuts_no_description_and_breaks_no_example(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    listed = run("--help").stdout
    assert "..." not in listed.replace("[ARGS]...", "")
    assert "balance of quality and diversity." in " ".join(listed.split())
    for command in COMMANDS:
        examples = run(command, "--help").stdout.split("\nOptions:")[0]
        for line in COMMANDS[command].help.splitlines():
            assert not line.startswith("rankloom ") or f"  {line}\n" in examples


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
    assert failed.stderr.startswith(
        "Error: There is no searcher or index at y.loom, which does not exist; make one with"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_full_disk_under_the_standard_output_is_one_sentence(index):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PROGRAM, "search", str(index)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: Cannot write the output: No space left on device.\n"


def test_unreadable_file_is_named(monkeypatch, judged):
    def unreadable(*_, **__):
        raise PermissionError(13, "Permission denied", "secret.run")

    monkeypatch.setattr("rankloom.cli.option_groups.RunOptions.read", unreadable)
    found = sentence(run("evaluate", judged.path("good"), "--qrels", judged.qrels))
    assert found == "Cannot use secret.run: Permission denied."


def test_a_table_is_complete_on_a_terminal_that_shows_ascii_only(judged):
    code = "from rankloom.cli import main; main()"
    paths = map(str, judged.paths("fair", "good", "poor"))
    command = [sys.executable, "-c", code, "compare", *paths, "--qrels", str(judged.qrels)]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    marks = [line.split("|")[3].strip() for line in lines if "good.run" in line or "poor.run" in line]
    assert [(one[0], one[-1]) for one in marks] == [("+", "*"), ("-", "*")]
    assert "Signed: difference from" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["fuse", "--help"], ["experiment", "--example", "--show"]]
)
def test_text_that_cannot_be_printed_is_one_sentence(arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", MAIN, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "Error: Cannot write the output: No space left on device.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_is_not_overwritten(item_runs):
    assert "is not a regular file" in sentence(run("fuse", *item_runs, "--method", "rrf", "-o", "/dev/full"))


def test_no_path_is_checked_by_the_parser():
    """It would answer an unreadable file with the usage and exit code 2."""
    hints = [get_type_hints(command.callback, include_extras=True) for command in app.registered_commands]
    paths = [hint for one in hints for hint in one.values() if "Path" in str(get_args(hint)[:1])]
    assert len(paths) > 20
    assert [hint for hint in paths for info in hint.__metadata__ if info.readable or info.writable or info.exists] == []


def test_an_unreadable_file_is_one_sentence(judged, monkeypatch):
    def denied(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.access", lambda *_, **__: False)
    monkeypatch.setattr("rankloom.io.text_file.Path.open", denied)
    found = sentence(run("evaluate", judged.path("good"), "--qrels", judged.qrels))
    assert found == f"Cannot read {judged.qrels}: Permission denied."


def test_a_loop_of_links_is_one_sentence(item_runs, tmp_path):
    loop = tmp_path / "a"
    loop.symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(loop)
    for arguments in (
        ("fuse", *item_runs, "--method", "rrf", "-o", loop),
        ("fuse", loop, "--method", "rrf", "-o", tmp_path / "x.run"),
        ("index", *item_runs, "-o", loop),
        ("search", loop),
        ("evaluate", loop, "--qrels", loop),
        ("experiment", "--example", "-o", loop),
        ("experiment", loop, "-o", tmp_path / "o"),
        ("rank", "emoji(first=3)", "--ranker", "bow", "-o", loop),
        ("report", loop),
    ):
        assert str(loop) in sentence(run(*arguments))


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(tmp_path):
    (tmp_path / "labels.txt").write_text("a:x\nb:x\n")
    (tmp_path / "lists.txt").write_text("0 1\n1 0\n")
    ranker = f"file(path={tmp_path / 'lists.txt'}, format=udlf)"
    collection = f"files(labels={tmp_path / 'labels.txt'})"
    done = run("rank", collection, "--ranker", ranker, "-o", tmp_path / "o", "--no-cache")
    assert done.exit_code == 0, done.output
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"Warning: {tmp_path / 'lists.txt'} has no ids: its rows are assumed to be in the order")
    assert not any("Warning" in line for line in rest)


@pytest.mark.parametrize("command", ["fuse", "index", "search", "evaluate", "compare", "correlate", "select"])
def test_duplicates_are_an_option_of_every_command_that_reads_runs(command, item_runs, index, judged, tmp_path):
    def doubled(path):
        text = path.read_text()
        path.write_text(text + text.splitlines()[0].replace(" 1 ", " 99 ", 1) + "\n")
        return path

    judged_runs = [doubled(path) for path in judged.paths("good", "fair")]
    items = [doubled(path) for path in item_runs]
    arguments = {
        "fuse": (*items, "--method", "rrf", "-o", tmp_path / "x.run"),
        "index": (*items, "-o", tmp_path / "x.loom", "--overwrite"),
        "search": (index, *items),
        "evaluate": (*judged_runs, "--qrels", judged.qrels),
        "compare": (*judged_runs, "--qrels", judged.qrels),
        "correlate": judged_runs,
        "select": (*judged_runs, "--qrels", judged.qrels),
    }[command]
    assert "or use --duplicates first" in sentence(run(command, *arguments))
    done = run(command, *arguments, "--duplicates", "first")
    assert done.exit_code == 0, done.output
    assert "choose from error, first" in sentence(run(command, *arguments, "--duplicates", "last"))


def test_a_message_is_one_line_of_limited_length(tmp_path):
    assert "a b.run" in sentence(run("fuse", f"{tmp_path}/a\nb.run", "--method", "rrf", "-o", tmp_path / "x.run"))
    assert len(sentence(run("fuse", "x" * 200, "--method", "y" * 5000, "-o", tmp_path / "x.run"))) < 2100


LINKS = {
    "path": lambda path, link: path,
    "relative": lambda path, link: path.parent / "." / ".." / path.parent.name / path.name,
    "absent": lambda path, link: path.parent / "absent" / ".." / path.name,
    "symbolic": lambda path, link: link.symlink_to(path) or link,
    "hard": lambda path, link: link.hardlink_to(path) or link,
}


@pytest.mark.parametrize("linked", LINKS.values(), ids=LINKS)
def test_an_output_that_is_an_input_is_refused(linked, item_runs, query_runs, index, spec, tmp_path):
    documents = tmp_path / "documents.jsonl"
    documents.write_text('{"id": "a", "text": "a cat"}\n{"id": "b", "text": "a dog"}\n')
    vectors = tmp_path / "emb.txt"
    vectors.write_text("1 0\n0 1\n")
    shop = tmp_path / "docs.loom"
    assert run("build", documents, "--ranker", "bm25", "-o", shop).exit_code == 0
    (tmp_path / "results").mkdir()
    (tmp_path / "ranks").mkdir()
    commands = [
        (query_runs[0], ["fuse", *query_runs, "--method", "rrf"]),
        (query_runs[1], ["fuse", f"a={query_runs[0]}", f"b={query_runs[1]}", "--method", "rrf"]),
        (item_runs[0], ["fuse", *query_runs, "--method", "weft", "--collection", *item_runs]),
        (query_runs[0], ["search", index, *query_runs]),
        (documents, ["search", shop, "--queries", documents]),
        (documents, ["search", shop, "--image", documents]),
        (item_runs[0], ["correlate", *item_runs]),
        (spec, ["report", tmp_path / "results", "--published", spec]),
    ]
    for number, (path, command) in enumerate(commands):
        before = path.read_bytes()
        output = linked(path, tmp_path / f"link{number}{path.suffix}")
        assert "would be overwritten" in sentence(run(*command, "-o", output)), command
        assert path.read_bytes() == before
    (tmp_path / "ranks" / "vectors-emb.npz").hardlink_to(vectors)
    rank = ["rank", documents, "--ranker", f"vectors(path={vectors})", "--no-cache", "-o", tmp_path / "ranks"]
    assert "would be overwritten" in sentence(run(*rank))
    (tmp_path / "results" / "experiment.toml").hardlink_to(spec)
    assert "would be overwritten" in sentence(run("experiment", spec, "-o", tmp_path / "results"))


def test_a_run_does_not_replace_a_table(query_runs, index, tmp_path):
    table = tmp_path / "docs.jsonl"
    table.write_text('{"text": "a cat"}\n')
    for command in (["fuse", *query_runs, "-o", table], ["search", index, *query_runs, "--run", table]):
        assert sentence(run(*command)).endswith("is not a run; write to another path, or remove it first.")
    assert table.read_text() == '{"text": "a cat"}\n'


def test_only_a_file_of_the_kind_that_is_written_is_replaced(item_runs, index, tmp_path):
    for name, content in [
        ("slugs.md", "Slugs eat q0 4 x.5 plants."),
        ("qrels", "q0 0 d1 1"),
        ("a.npz", "q0 Q0 d1 1 2 a"),
    ]:
        note = tmp_path / name
        note.write_text(content)
        for command in (["fuse", *item_runs], ["search", index, *item_runs], ["correlate", *item_runs]):
            assert f"{name} exists and is not a" in sentence(run(*command, "-o", note)), command
        assert "is not a page" in sentence(run("report", tmp_path, tmp_path, "-o", note))
        assert note.read_text() == content
    for name, content in [
        ("empty.run", ""),
        ("old.run", "\nq0 Q0 d1 1 2.5 a\n"),
        ("new.npz", None),
        ("new.run.gz", None),
    ]:
        if content is not None:
            (tmp_path / name).write_text(content)
        for _ in range(2):
            assert run("fuse", *item_runs, "--method", "rrf", "-o", tmp_path / name).exit_code == 0
    for _ in range(2):
        assert run("correlate", *item_runs, "-o", tmp_path / "heat.svg").exit_code == 0


def test_ranks_are_not_written_among_documents_or_over_labels(tmp_path):
    notes, data = tmp_path / "notes", tmp_path / "data"
    for folder, name in ((notes, "a.txt"), (data, "labels.tsv")):
        folder.mkdir()
        (folder / name).write_text("a\tcat\n")
    assert "would be overwritten" in sentence(run("rank", notes, "--ranker", "bm25", "-o", notes))
    assert "labels.tsv would be overwritten" in sentence(run("rank", notes, "--ranker", "bm25", "-o", data))
    for _ in range(2):
        assert run("rank", notes, "--ranker", "bm25", "-o", tmp_path / "ranks").exit_code == 0


def test_nothing_is_written_into_a_folder_that_is_an_input(query_runs, index, tmp_path):
    assert "would be overwritten" in sentence(run("search", index, *query_runs, "-o", index / "meta.json"))
    inside = index / "a.run"
    inside.write_bytes(query_runs[0].read_bytes())
    assert "would be overwritten" in sentence(run("index", inside, "-o", index))
