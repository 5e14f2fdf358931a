import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankloom as rl
from command import run, sentence

POINTS = np.random.default_rng(7).normal(size=(30, 4))
NAMES = rl.Ids(f"d{i}" for i in range(len(POINTS)))


@pytest.fixture
def items(tmp_path):
    """Two runs of a collection's own items, as an image and a text ranker would make them."""
    paths = []
    for name, columns, metric in (("a", slice(0, 2), "l2"), ("b", slice(2, 4), "l1")):
        ranks = rl.Ranks.from_vectors(POINTS[:, columns], metric, depth=20, item_ids=NAMES, query_ids=NAMES)
        paths.append(tmp_path / f"{name}-items.run")
        rl.write_run(ranks, paths[-1])
    return paths


@pytest.fixture
def queries(tmp_path):
    """Two runs of external queries."""
    paths = []
    asked = POINTS[:3] + 0.01
    for name, columns, metric in (("a", slice(0, 2), "l2"), ("b", slice(2, 4), "l1")):
        ranks = rl.Ranks.from_vectors(
            POINTS[:, columns],
            metric,
            depth=20,
            queries=asked[:, columns],
            item_ids=NAMES,
            query_ids=rl.Ids(["q0", "q1", "q2"]),
        )
        paths.append(tmp_path / f"{name}.run")
        rl.write_run(ranks, paths[-1])
    return paths


def test_fuse_fg_with_a_collection_writes_what_the_library_gives(items, queries, tmp_path):
    out = tmp_path / "fused.run"
    result = run("fuse", *queries, "--collection", *items, "--method", "fg", "-k", 5, "-o", out)
    assert result.exit_code == 0, result.output
    index = rl.FusionIndex.build([rl.read_run(path) for path in items])
    expected = index.search([rl.read_run(path) for path in queries], k=5)
    assert rl.read_run(out).to_dict() == expected.to_dict()


def test_collection_may_be_given_once_for_all_or_once_for_each(items, queries, tmp_path):
    first, second = tmp_path / "1.run", tmp_path / "2.run"
    run("fuse", *queries, "--collection", *items, "--method", "fg", "-o", first)
    run("fuse", "--collection", items[0], "--collection", items[1], "--method", "fg", "-o", second, *queries)
    assert first.read_bytes() == second.read_bytes()


def test_fuse_fg_of_a_collections_own_lists_needs_no_collection(items, tmp_path):
    out = tmp_path / "fused.run"
    assert run("fuse", *items, "-k", 3, "--method", "fg", "-o", out).exit_code == 0
    fused = rl.read_run(out)
    assert fused.n_queries == len(POINTS)
    assert all(next(iter(answers)) == query for query, answers in fused.to_dict().items())


def test_options_of_a_method_are_set_by_name(items, tmp_path):
    out = tmp_path / "fused.run"
    assert (
        run("fuse", *items, "--method", "rrf", "--set", "constant=1", "--set", "weights=1,0", "-o", out).exit_code == 0
    )
    expected = rl.fuse([rl.read_run(path) for path in items], "rrf", 100, constant=1, weights=[1, 0])
    assert rl.read_run(out).to_dict() == expected.to_dict()


def test_index_then_search_gives_what_fuse_gives(items, queries, tmp_path):
    index, searched, fused = tmp_path / "shop.loom", tmp_path / "searched.run", tmp_path / "fused.run"
    assert run("index", *items, "-o", index).exit_code == 0
    assert run("search", index, *queries, "-k", 5, "-o", searched).exit_code == 0
    run("fuse", *queries, "--collection", *items, "-k", 5, "--method", "fg", "-o", fused)
    assert searched.read_bytes() == fused.read_bytes()


def test_search_prints_the_answers_of_an_item(items, tmp_path):
    index = tmp_path / "shop.loom"
    run("index", *items, "-o", index, "--cutoff", 5)
    result = run("search", index, "--item", "d3", "-k", 2)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert rows[0][:3] == ["d3", "1", "d3"]
    assert len(rows) == 2


def test_search_explains_a_similarity(items, tmp_path):
    index = tmp_path / "shop.loom"
    run("index", *items, "-o", index)
    answer = run("search", index, "--item", "d3", "-k", 2).stdout.splitlines()[1].split("\t")
    result = run("search", index, "--item", "d3", "--explain", answer[2])
    assert result.stdout.startswith(f"d3 ~ {answer[2]}: wgu similarity {answer[3]}")


def test_evaluate_prints_every_run_and_measure(items, tmp_path):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"d{i} 0 d{i} 1\n" for i in range(len(POINTS))))
    result = run("evaluate", *items, "--qrels", qrels, "--measure", "ndcg@10", "--measure", "map", "--json")
    assert json.loads(result.stdout) == {str(path): {"ndcg@10": 1.0, "map": 1.0} for path in items}
    table = run("evaluate", *items, "--qrels", qrels).stdout
    assert "ndcg@10" in table
    assert table.count("1.0000") == 2


def test_evaluate_by_class_counts_the_whole_class_and_the_query(tmp_path):
    labels, ranks = tmp_path / "labels.tsv", tmp_path / "a.run"
    labels.write_text("a\tx\nb\tx\nc\ty\nd\tx\n")
    rl.write_run(rl.Ranks.from_dict({"a": ["a", "c", "b"]}), ranks)
    result = run("evaluate", ranks, "--labels", labels, "--measure", "recall@3", "--json")
    assert json.loads(result.stdout)[str(ranks)] == {"recall@3": pytest.approx(2 / 3)}


def test_every_command_has_help_with_an_example():
    for command in ("fuse", "index", "search", "evaluate"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert re.search(rf"Examples?:\s+rankloom {command} ", result.stdout)


def test_version_is_printed():
    assert run("--version").stdout.strip() == rl.__version__


def test_wrong_usage_is_exit_code_2():
    assert run("fuse").exit_code == 2
    assert run("search", "x", "-k", "0").exit_code == 2


def test_bad_input_is_one_sentence(items, queries, tmp_path):
    out = tmp_path / "out.run"
    bad = tmp_path / "bad.run"
    bad.write_text("q7 Q0 d31 4 0.2\n")
    index = tmp_path / "shop.loom"
    run("index", *items, "-o", index)
    cases = [
        (("fuse", bad, "--method", "fg", "-o", out), f"{bad}:1: expected 6 columns"),
        (("fuse", tmp_path / "none.run", "--method", "fg", "-o", out), "There is no file"),
        (("fuse", *queries, "--method", "fg", "-o", out), "is an item: these are lists of external queries"),
        (("fuse", *queries, "--method", "rff", "-o", out), "Did you mean 'rrf'?"),
        (("fuse", *queries, "--method", "rrf", "--set", "cutoff=3", "-o", out), "has no option 'cutoff'"),
        (("fuse", *queries, "--method", "rrf", "--set", "constant", "-o", out), "--set takes NAME=VALUE"),
        (("fuse", *queries, "--collection", items[0], "--method", "fg", "-o", out), "The index is of 1 rankers"),
        (("fuse", *queries, "--method", "rrf", "-o", tmp_path / "no" / "out.run"), "no"),
        (("fuse", items[0], queries[0], "--method", "rrf", "-o", out), "has no list from ranker 2"),
        (("index", *queries, "-o", tmp_path / "q.loom"), "is an item: these are lists of external queries"),
        (("index", *items, "--comparator", "wgo", "-o", tmp_path / "q.loom"), "Did you mean 'wgu'?"),
        (("index", *items, "-o", items[0]), "is not a rankloom index"),
        (("search", tmp_path / "none.loom"), "There is no index at"),
        (("search", index, "--item", "d99"), "Unknown item 'd99'"),
        (("search", index, *queries[:1]), "The index is of 2 rankers"),
        (
            ("fuse", *items, "--collection", *queries, "--method", "fg", "-o", out),
            "is an item: these are lists of external queries",
        ),
        (("fuse", *queries, "--method", "rrf", "--collection", *items, "-o", out), "leave --collection out"),
        (
            ("fuse", *queries, "--method", "rrf", "--set", "constant=abc", "-o", out),
            "constant of the method 'rrf' must be a finite number",
        ),
        (("fuse", *queries, "--method", "rrf", "--set", "weights=5", "-o", out), "weights must be a number from 0"),
        (
            ("fuse", *items, "--set", "cutoff=true", "--method", "fg", "-o", out),
            "cutoff of the method 'fg' must be a whole number; got True.",
        ),
        (
            ("fuse", *items, "--set", "virtual=maybe", "--method", "fg", "-o", out),
            "virtual of the method 'fg' must be yes or no or none; got 'maybe'",
        ),
        (("fuse", *items, "--set", "k=5", "--method", "fg", "-o", out), "--set cannot give 'k'; use -k"),
        (("fuse", *items, "--set", "reposition=maybe", "--method", "fg", "-o", out), "must be True or False"),
        (("search", index, "--explain", "d1"), "--explain goes with one --item"),
        (("search", index, "--item", "d1", *queries), "not both"),
        (("evaluate", *items), "Give either --qrels or --labels"),
        (("evaluate", *items, "--qrels", bad), "expected 4 columns"),
        (("evaluate", *items, "--labels", bad), "expected 2 columns"),
    ]
    for arguments, message in cases:
        assert message in sentence(run(*arguments)), arguments
    assert not out.exists()


def test_a_failed_command_leaves_the_old_output_whole(items, queries, tmp_path):
    out = tmp_path / "fused.run"
    run("fuse", *items, "--method", "fg", "-o", out)
    before = out.read_bytes()
    sentence(run("fuse", *queries, "--method", "fg", "-o", out))
    assert out.read_bytes() == before


def test_from_a_shell_errors_are_sentences_and_no_bar_is_drawn_where_there_is_no_terminal(items, tmp_path):
    command = [str(Path(sys.executable).with_name("rankloom"))]
    shell = {"capture_output": True, "text": True, "cwd": tmp_path, "env": dict(os.environ)}
    done = subprocess.run([*command, "index", *map(str, items), "-o", "x.loom"], **shell)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "x.loom: 30 items, 2 rankers\n")
    failed = subprocess.run([*command, "search", "y.loom"], **shell)
    assert failed.returncode == 1
    assert failed.stderr == "Error: There is no index at y.loom; make one with 'rankloom index'.\n"


def test_a_full_disk_under_the_standard_output_is_one_sentence(items, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    run("index", *items, "-o", tmp_path / "x.loom")
    command = [str(Path(sys.executable).with_name("rankloom")), "search", str(tmp_path / "x.loom")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: Cannot write the output: No space left on device.\n"


def test_yes_and_no_are_understood(items, tmp_path):
    files = {value: tmp_path / f"{value}.run" for value in ("no", "false", "yes")}
    for value, out in files.items():
        run("fuse", *items, "--set", f"reposition={value}", "--set", "cutoff=5", "--method", "fg", "-o", out)
    assert files["no"].read_bytes() == files["false"].read_bytes() != files["yes"].read_bytes()
