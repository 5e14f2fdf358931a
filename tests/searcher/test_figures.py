"""The figures of the design for external queries, from the command line alone and through a function in Python."""

import json

import numpy as np
import pytest

import rankloom as rl
from command import run
from rankloom.datasets.table import read_table, read_texts
from rankloom.searcher.batch import TEXT_FIELDS, text_of

#: NDCG@10 and recall@100 of okapi, RRF (lists of 100) and vote (of 300).
FIGURES = {
    "med": {"bm25": (0.680, 0.787), "rrf(depth=100)": (0.785, 0.951), "vote": (0.818, 0.979)},
    "scifact": {"bm25": (0.684, 0.929), "rrf(depth=100)": (0.718, 0.955), "vote": (0.734, 0.970)},
    "cranfield": {"bm25": (0.390, 0.751), "rrf(depth=100)": (0.438, 0.785), "vote": (0.464, 0.850)},
}
CLOSE = 0.005


def assert_figures(name, rows):
    for system, (ndcg, recall) in FIGURES[name].items():
        row = next(one for one in rows if one["system"] == system)
        assert row["ndcg@10"] == pytest.approx(ndcg, abs=CLOSE), (name, system)
        assert row["recall@100"] == pytest.approx(recall, abs=CLOSE), (name, system)


@pytest.mark.long
@pytest.mark.parametrize("name", FIGURES)
def test_the_command_line_gives_the_figures(name, shared, tmp_path):
    folder = shared / "data" / name if name == "cranfield" else shared / "data" / "texts" / name
    file = folder / "minilm.npz"
    dense = f"dense=vectors(path={file}, key=E, queries={file}, queries_key=Q, comparable=no)"
    collection = f"cranfield(path={folder}, title=yes)"
    documents = collection if name == "cranfield" else folder / "docs.jsonl.gz"
    out = tmp_path / "s.loom"
    built = run("build", documents, "--ranker", "bm25", "--ranker", dense, "--no-cache", "-o", out)
    assert built.exit_code == 0, built.output
    judged = ["--queries", collection]
    if name != "cranfield":
        judged = ["--queries", folder / "queries.jsonl.gz", "--qrels", folder / "qrels.txt"]
    done = run("evaluate", out, *judged, "--method", "rrf(depth=100)", "--method", "vote", "--json")
    assert done.exit_code == 0, done.output
    assert_figures(name, json.loads(done.stdout))


def test_a_function_gives_the_figures(shared):
    folder = shared / "data" / "texts" / "med"
    documents = [row for _, row in read_table(str(folder / "docs.jsonl.gz"))]
    queries = read_texts(str(folder / "queries.jsonl.gz"))
    vectors = np.load(folder / "minilm.npz")
    known = {text_of(dict(one), TEXT_FIELDS): vector for one, vector in zip(documents, vectors["E"], strict=True)}
    known |= dict(zip(queries.values(), vectors["Q"], strict=True))
    searcher = rl.Searcher.build(documents, {"bm25": "bm25", "dense": lambda texts: [known[text] for text in texts]})
    outcome = searcher.evaluate(queries, rl.read_qrels(folder / "qrels.txt"), methods=["rrf(depth=100)", "vote"])
    assert_figures("med", outcome.rows())
