import re

import numpy as np
import pytest

import rankloom as rl
from command import run, sentence
from rankloom.cli.rank import _file_names
from rankloom.index.cluster import connected
from rankloom.io import read_ranks
from rankloom.rankers.cluster_ranking import rank_by_parts
from rankloom.registry import Call


def test_lists_and_labels_are_written(tmp_path):
    table = tmp_path / "pets.csv"
    table.write_text("id,text,label\na,a small cat,cat\nb,a big cat,cat\nc,a dog,dog\n")
    ranker = f"file(path={tmp_path / 'x.run'})"
    rl.write_run(rl.Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"], "c": ["c"]}), tmp_path / "x.run")
    done = run("rank", table, "--ranker", ranker, "-o", tmp_path / "out", "--no-cache")
    assert done.exit_code == 0, done.output
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["file-x.npz", "labels.tsv"]
    ranks = read_ranks(tmp_path / "out" / "file-x.npz")
    assert list(ranks.to_dict()["a"]) == ["a", "b"]
    assert (tmp_path / "out" / "labels.tsv").read_text() == "a\tcat\nb\tcat\nc\tdog\n"
    assert re.search(r"Ranked 3 items", done.stderr)
    assert f"{ranker} is in file-x.npz" in done.stderr


def test_invalid_input_is_one_sentence(tmp_path):
    assert "There is no folder or collection" in sentence(
        run("rank", "nothing-of-that-name", "--ranker", "bic", "-o", tmp_path / "o")
    )
    (tmp_path / "pets.csv").write_text("id,text\na,x\n")
    given = (tmp_path / "pets.csv", "-o", tmp_path / "o", "--no-cache")
    assert "Unknown ranker 'bix'" in sentence(run("rank", *given, "--ranker", "bix"))
    assert "has no option" in sentence(run("rank", *given, "--ranker", "vectors(metrc=l2)"))
    assert not (tmp_path / "o").exists()


def test_output_is_checked_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.rankers.rank_collection", None)  # would fail if it were called
    (tmp_path / "pets.csv").write_text("id,text,label\na,x,cat\n")
    (tmp_path / "odd.csv").write_text('id,text,label\n"a\tb",x,cat\n')
    (tmp_path / "file").write_text("")
    given = ("--ranker", "bow", "--no-cache", "-o")
    for output in ("file", "file/deep/er"):
        assert "file is a file; give a folder" in sentence(
            run("rank", tmp_path / "pets.csv", *given, tmp_path / output)
        )
    assert "has a tab" in sentence(run("rank", tmp_path / "odd.csv", *given, tmp_path / "o"))


def test_labels_of_an_earlier_collection_are_removed(tmp_path):
    (tmp_path / "pets.csv").write_text("id,text\na,cat\nb,dog\n")
    rl.write_run(rl.Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"]}), tmp_path / "x.run")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "labels.tsv").write_text("old\tcat\n")
    (tmp_path / "out" / "file-old.npz").touch()
    ranker = f"file(path={tmp_path / 'x.run'})"
    done = run("rank", tmp_path / "pets.csv", "--ranker", ranker, "-o", tmp_path / "out", "--no-cache")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "out" / "labels.tsv").exists()


@pytest.mark.long
def test_lists_made_on_a_cluster_are_the_same(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setitem(rank_by_parts.__kwdefaults__, "part", 32)  # items per task
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(["heart", "skin", "liver", "fever", "pain"], 4)) for _ in range(90)]
    (tmp_path / "docs.csv").write_text("id,text\n" + "".join(f"d{i},{text}\n" for i, text in enumerate(texts)))
    np.savez(tmp_path / "emb.npz", vectors=rng.normal(size=(90, 6)), ids=[f"d{i}" for i in range(90)])
    vectors = [f"vectors(path={tmp_path / 'emb.npz'}{option})" for option in ("", ", algorithm=cells")]
    rankers = [word for one in ("okapi", "okapi(max_terms=2)", *vectors) for word in ("--ranker", one)]
    given = ("rank", tmp_path / "docs.csv", *rankers, "--depth", 20, "--no-cache", "-o")
    here = run(*given, tmp_path / "here")
    with connected("local", workers=2) as client:
        there = run(*given, tmp_path / "there", "--scheduler", client.scheduler.address)
    assert (here.exit_code, there.exit_code) == (0, 0), there.output
    assert here.stderr.replace("here", "there") == there.stderr
    files = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert files == ["okapi-max_terms=2.npz", "okapi.npz", "vectors-emb-cells.npz", "vectors-emb.npz"]
    for name in files:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_recall_of_approximate_lists_is_printed_and_written(tmp_path):
    (tmp_path / "docs.csv").write_text("id,text\na,cat\nb,dog\nc,cow\n")
    np.savez(tmp_path / "emb.npz", vectors=np.eye(3), ids=["a", "b", "c"])
    ranker = f"vectors(path={tmp_path / 'emb.npz'}, algorithm=cells)"
    done = run("rank", tmp_path / "docs.csv", "--ranker", ranker, "-o", tmp_path / "out", "--no-cache")
    assert f"  {ranker}: recall 100.0%.\n" in done.stderr
    assert read_ranks(tmp_path / "out" / "vectors-emb-cells.npz").recall == 1.0


def test_files_have_short_unique_names():
    names = {
        "bic": "bic",
        "vectors(path=data/emb.npy)": "vectors-emb",
        "vectors(path=other/emb.npy)": "vectors-emb-2",
        "vectors(path=data/EMB.npy)": "vectors-EMB-3",
        "vectors(metric=l2, part=pixels)": "vectors-l2-pixels",
        "file(path=runs/bm25.run.gz)": "file-bm25",
        "file(path=a.txt, format=udlf, list_file=list.txt)": "file-a-udlf",
        "matrix(path=sim.npz, meaning=similarity)": "matrix-sim-similarity",
        "okapi(b=0.75)": "okapi-b=0.75",
        "bic(longest_side=512)": "bic-longest_side=512",
        'file(path="a b/ü ?.run")': "file-ü",
        f"file(path={'x' * 300}.run)": "file-" + "x" * 55,
        f"file(path={'x' * 301}.run)": "file-" + "x" * 55 + "-2",
    }
    assert _file_names({ranker: Call.parse(ranker) for ranker in names}) == names
