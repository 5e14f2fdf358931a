import pytest

import rankloom as rl
from command import run, sentence


def test_index_agrees_with_the_library(item_runs, index, tmp_path):
    path = tmp_path / "own.loom"
    result = run("index", *item_runs, "-o", path)
    assert (result.exit_code, result.stderr) == (0, f"{path}: 30 items, 2 rankers\n")
    expected = rl.FusionIndex.open(index).search(k=5)
    assert rl.FusionIndex.open(path).search(k=5).to_dict() == expected.to_dict()


def test_invalid_input_is_one_sentence(item_runs, query_runs, tmp_path):
    path = tmp_path / "q.loom"
    external = sentence(run("index", *query_runs, "-o", path))
    assert "is an item: these are lists of external queries" in external
    assert "Did you mean 'wgu'?" in sentence(run("index", *item_runs, "--comparator", "wgo", "-o", path))
    assert not path.exists()
    assert "is not a rankloom index" in sentence(run("index", *item_runs, "-o", item_runs[0]))


@pytest.mark.parametrize("option", ["--cutoff", "--depth"])
def test_cutoff_and_depth_must_be_positive(item_runs, tmp_path, option):
    assert run("index", *item_runs, option, 0, "-o", tmp_path / "q.loom").exit_code == 2
