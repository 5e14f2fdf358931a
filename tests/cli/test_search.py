from command import run, sentence


def test_search_agrees_with_fuse(index, item_runs, query_runs, tmp_path):
    searched, fused = tmp_path / "searched.run", tmp_path / "fused.run"
    assert run("search", index, *query_runs, "-k", 5, "-o", searched).exit_code == 0
    run("fuse", *query_runs, "--collection", *item_runs, "-k", 5, "--method", "fg", "-o", fused)
    assert searched.read_bytes() == fused.read_bytes()


def test_results_of_an_item_are_printed(index):
    rows = [line.split("\t") for line in run("search", index, "--item", "d3", "-k", 2).stdout.splitlines()]
    assert rows[0][:3] == ["d3", "1", "d3"]
    assert len(rows) == 2


def test_similarity_is_explained(index):
    _, _, found, score = run("search", index, "--item", "d3", "-k", 2).stdout.splitlines()[1].split("\t")
    result = run("search", index, "--item", "d3", "--explain", found)
    assert result.stdout.startswith(f"d3 ~ {found}: wgu similarity {score}")


def test_invalid_input_is_one_sentence(index, query_runs, tmp_path):
    assert "There is no index at" in sentence(run("search", tmp_path / "none.loom"))
    assert "Unknown item 'd99'" in sentence(run("search", index, "--item", "d99"))
    assert "The index has 2 rankers" in sentence(run("search", index, *query_runs[:1]))
    assert "--explain needs exactly one --item" in sentence(run("search", index, "--explain", "d1"))
    assert "not both" in sentence(run("search", index, "--item", "d1", *query_runs))
