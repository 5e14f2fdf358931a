import json
import statistics

import pytest

import rankloom as rl
from command import run, sentence


def test_every_run_and_measure_is_printed(item_runs, tmp_path):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"d{i} 0 d{i} 1\n" for i in range(30)))
    result = run("evaluate", *item_runs, "--qrels", qrels, "--measure", "ndcg@10", "--measure", "map", "--json")
    assert json.loads(result.stdout) == {str(path): {"ndcg@10": 1.0, "map": 1.0} for path in item_runs}
    table = run("evaluate", *item_runs, "--qrels", qrels).stdout
    assert "ndcg@10" in table
    assert table.count("1.0000 ") == 2 * 3  # the mean and both ends of its interval


def test_the_table_has_confidence_intervals_and_effect_sizes(tmp_path):
    """By hand: MRR 1, 1/2 and 1/3 of the first run, 1 for each query of the second."""
    runs = [tmp_path / "a.run", tmp_path / "b.run"]
    rl.write_run(rl.Ranks.from_dict({"p": ["x", "y", "z"], "q": ["y", "x", "z"], "r": ["y", "z", "x"]}), runs[0])
    rl.write_run(rl.Ranks.from_dict({q: ["x", "y", "z"] for q in "pqr"}), runs[1])
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 x 1\n" for q in "pqr"))
    values = [1, 1 / 2, 1 / 3]
    mean, spread = statistics.mean(values), statistics.stdev(values)
    table = run("evaluate", *runs, "--qrels", tmp_path / "qrels.txt", "--measure", "mrr").stdout
    assert "0.3333 1.0000" in table  # the bootstrap: a mean of thrice the same query is the rarest, with 1 of 27
    assert f"1.0000 {1 - mean:+.4f} " in table
    assert f"{(1 - mean) / spread:+.2f}" in table
    assert (
        f"Signed: difference from {runs[0]}; *: significant (paired t test over queries, p < 0.05). 3 queries." in table
    )


def test_with_labels_the_whole_class_and_the_query_count(tmp_path):
    labels, ranks = tmp_path / "labels.tsv", tmp_path / "a.run"
    labels.write_text("a\tx\nb\tx\nc\ty\nd\tx\n")
    rl.write_run(rl.Ranks.from_dict({"a": ["a", "c", "b"]}), ranks)
    result = run("evaluate", ranks, "--labels", labels, "--measure", "recall@3", "--json")
    assert json.loads(result.stdout)[str(ranks)] == {"recall@3": pytest.approx(2 / 3)}


@pytest.mark.parametrize("name", ["x[bold].run", "a[/b].run", ":smile:.run"])
def test_file_names_are_not_markup(judged, name):
    path = judged.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(judged.path("good").read_bytes())
    done = run("evaluate", path, "--qrels", judged.qrels)
    assert done.exit_code == 0, done.output
    assert name in done.stdout


def test_invalid_input_is_one_sentence(item_runs, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("q7 Q0 d31 4 0.2\n")
    assert "Give either --qrels or --labels" in sentence(run("evaluate", *item_runs))
    assert "expected 4 columns" in sentence(run("evaluate", *item_runs, "--qrels", bad))
    assert "expected 2 columns" in sentence(run("evaluate", *item_runs, "--labels", bad))
