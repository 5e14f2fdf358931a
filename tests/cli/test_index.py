import pytest

import rankloom as rl
from command import run, sentence
from rankloom.io import write_ranks


def test_index_agrees_with_the_library(item_runs, index, tmp_path):
    path = tmp_path / "own.loom"
    result = run("index", *item_runs, "-o", path)
    assert (result.exit_code, result.stderr) == (0, f"{path}: 30 items, 2 rankers\n")
    one = run("index", item_runs[0], "-o", tmp_path / "one.loom")
    assert one.stderr.endswith("one.loom: 30 items, 1 ranker\n")
    expected = rl.FusionIndex.open(index).search(k=5)
    assert rl.FusionIndex.open(path).search(k=5).to_dict() == expected.to_dict()


def test_invalid_input_is_one_sentence(item_runs, query_runs, tmp_path):
    path = tmp_path / "q.loom"
    external = sentence(run("index", *query_runs, "-o", path))
    assert "is an item: these are lists of external queries" in external
    assert "Did you mean 'wgu'?" in sentence(run("index", *item_runs, "--comparator", "wgo", "-o", path))
    assert not path.exists()
    assert "is not a rankloom index" in sentence(run("index", *item_runs, "-o", query_runs[0]))


@pytest.mark.parametrize("option", ["--cutoff", "--depth"])
def test_cutoff_and_depth_must_be_positive(item_runs, tmp_path, option):
    assert run("index", *item_runs, option, 0, "-o", tmp_path / "q.loom").exit_code == 2


def test_named_rankers_are_matched_by_name(item_runs, query_runs, tmp_path):
    path, straight, swapped = tmp_path / "named.loom", tmp_path / "1.run", tmp_path / "2.run"
    assert run("index", f"bm25={item_runs[0]}", f"dense={item_runs[1]}", "-o", path).exit_code == 0
    assert rl.FusionIndex.open(path).settings.rankers == ("bm25", "dense")
    run("search", path, *query_runs, "-o", straight)
    run("search", path, f"dense={query_runs[1]}", f"bm25={query_runs[0]}", "-o", swapped)
    assert straight.read_bytes() == swapped.read_bytes()
    wrong = run("search", path, f"image={query_runs[1]}", f"bm25={query_runs[0]}")
    assert "The ranker 'image' is unknown; expected bm25, dense" in sentence(wrong)


def test_all_rankers_are_named_or_none(item_runs, tmp_path):
    one = run("index", f"bm25={item_runs[0]}", item_runs[1], "-o", tmp_path / "x.loom")
    assert "Name all rankers, as in bm25=a.run, or none" in sentence(one)
    same = run("index", f"bm25={item_runs[0]}", f"bm25={item_runs[1]}", "-o", tmp_path / "x.loom")
    assert "Rankers must have different names; got bm25, bm25" in sentence(same)


def test_lists_of_queries_whose_ids_are_also_ids_of_items_are_not_indexed(tmp_path):
    """Cranfield's queries are numbered as its documents are."""
    lists = {"1": ["2", "3", "5"], "2": ["3", "4", "6"], "3": ["1", "4", "6"], "4": ["5", "6", "1"]}
    queries = rl.Ranks.from_dict(lists)
    rl.write_run(queries, tmp_path / "q.run")
    write_ranks(queries.of_kind("queries"), tmp_path / "q.npz")
    for name, why in (
        ("q.run", "If they are the items' lists, use --as-collection."),
        ("q.npz", "These are lists of queries"),
    ):
        for command in ("index", "fuse"):
            how = ["--method", "fg"] if command == "fuse" else []
            assert why in sentence(run(command, tmp_path / name, *how, "-o", tmp_path / "out"))
    assert run("index", tmp_path / "q.run", "--as-collection", "-o", tmp_path / "out.loom").exit_code == 0
