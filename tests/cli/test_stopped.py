"""What Ctrl+C says that a command has written."""

from pkgutil import resolve_name

import numpy as np
import pytest
from sample_texts import documents

import rankloom as rl
from command import run
from rankloom.cli import stopped

NOTHING = "Stopped; nothing written."


@pytest.fixture
def folder(tmp_path):
    """A searcher, a new document, and a results folder."""
    rl.Searcher.build(documents(20), ["bm25"]).save(tmp_path / "s.loom")
    (tmp_path / "new.jsonl").write_text('{"id": "new", "text": "a heart"}\n')
    return tmp_path


def interrupted(monkeypatch, target, *arguments, after=False):
    """Return what is said when a function is interrupted, before or after it does its work."""
    work = resolve_name(target) if after else None

    def interrupt(*given, **options):
        if after:
            work(*given, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(target, interrupt)
        assert run(*arguments).exit_code == 130
    return stopped()


def commands(folder, item_runs):
    out = folder / "out.loom"
    return {
        "build": ("build", folder / "new.jsonl", "--ranker", "bm25", "--no-cache", "-o", out),
        "add": ("add", folder / "s.loom", folder / "new.jsonl"),
        "delete": ("delete", folder / "s.loom", "d1"),
        "index": ("index", *item_runs, "-o", out),
    }


@pytest.mark.parametrize("command", ["build", "add", "delete", "index"])
def test_an_interrupted_save_leaves_the_old_folder_or_the_new_one(command, folder, item_runs, monkeypatch):
    arguments = commands(folder, item_runs)[command]
    before = {path.name for path in folder.iterdir()}
    assert interrupted(monkeypatch, "rankloom.io.folder_writer.FolderWriter._replace_meta", *arguments) == NOTHING
    assert {path.name for path in folder.iterdir()} == before
    written = interrupted(monkeypatch, "rankloom.io.folder_writer.FolderWriter._replace_meta", *arguments, after=True)
    assert written == f"Stopped; {folder / ('out.loom' if '-o' in arguments else 's.loom')} is written."


def test_an_interrupted_fusion_leaves_the_old_file_or_the_new_one(item_runs, tmp_path, monkeypatch):
    out = tmp_path / "fused.run"
    arguments = ("fuse", *item_runs, "--method", "rrf", "-o", out)
    assert interrupted(monkeypatch, "rankloom.io.atomic_file.os.fsync", *arguments) == NOTHING
    assert not out.exists()
    assert (
        interrupted(monkeypatch, "rankloom.cli.fuse.cli.write", *arguments, after=True) == f"Stopped; {out} is written."
    )


def test_the_cache_stays(tmp_path, monkeypatch):
    arguments = ("rank", "emoji(first=9)", "--ranker", "bow", "--cache", tmp_path / "cache", "-o", tmp_path / "out")
    assert interrupted(monkeypatch, "rankloom.rankers.rank_collection", *arguments) == NOTHING
    said = interrupted(monkeypatch, "rankloom.cli.rank.make_folder", *arguments)
    assert said == "Stopped; nothing written but the cache, which the next run uses."
    said = interrupted(monkeypatch, "rankloom.cli.rank.write_ranks", *arguments, after=True)
    assert said == f"Stopped; {tmp_path / 'out'} may be incomplete; run the command again."


def test_finished_steps_stay(spec, tmp_path, monkeypatch):
    arguments = ("experiment", spec, "--no-cache", "-o", tmp_path / "out")
    assert interrupted(monkeypatch, "rankloom.experiment.run", *arguments) == NOTHING
    said = interrupted(monkeypatch, "rankloom.report.render", *arguments)
    assert said == f"Stopped; {tmp_path / 'out'} keeps the finished steps, and the same command resumes."
    said = interrupted(monkeypatch, "rankloom.report.render", "report", tmp_path / "out", after=True)
    assert said == f"Stopped; {tmp_path / 'out'} may be incomplete; run the command again."


def test_finished_tasks_stay(tmp_path, monkeypatch):
    for table in (tmp_path / "a.npy", tmp_path / "b.npy"):
        np.save(table, rl.Ranks.from_vectors(np.eye(9)).items)
    arguments = ("index", tmp_path / "a.npy", tmp_path / "b.npy", "--memory", "1GB", "-o", tmp_path / "big.loom")
    said = interrupted(monkeypatch, "rankloom.index.base.install", *arguments)
    assert said == f"Stopped; {tmp_path / '.big.loom.building'} keeps the finished tasks, and the same command resumes."
    assert run(*arguments).exit_code == 0
    assert not (tmp_path / ".big.loom.building").exists()


def test_commands_that_only_print_write_nothing(judged, monkeypatch):
    arguments = ("evaluate", judged.path("good"), "--qrels", judged.qrels)
    assert interrupted(monkeypatch, "rankloom.cli.evaluate.cli.print_table", *arguments) == NOTHING
