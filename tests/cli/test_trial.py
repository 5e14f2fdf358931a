"""`trial`, `info` and the self-test of `build`, as a person at a shell uses them."""

import json

import pytest
from sample_texts import documents

import rankloom as rl
from command import run, sentence

PAIR = ("--ranker", "bm25", "--ranker", "words=bow-cosine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tried")
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents(60)))
    made = run("build", folder / "docs.jsonl", *PAIR, "--self-test", "-o", folder / "s.loom")
    assert made.exit_code == 0, made.output
    assert "Self-test with 60 documents: bm25 ." in made.stderr
    return folder


def test_a_trial_of_a_file_and_of_a_folder_say_the_same(folder):
    of_folder = run("trial", folder / "s.loom").stdout
    searcher = rl.Searcher.open(folder / "s.loom")
    assert searcher.trial().sentence(searcher.trial().texts) in of_folder
    assert "with judgments for some, use evaluate" in of_folder
    of_file = run("trial", folder / "docs.jsonl", *PAIR).stdout  # 60 documents: there is no self-test by default
    assert of_file.splitlines()[1:3] == of_folder.splitlines()[1:3]
    assert sorted(path.name for path in folder.iterdir()) == ["docs.jsonl", "s.loom"]


def test_labels_add_documents_as_queries(folder):
    assert "Documents as queries. " in run("trial", folder / "s.loom", "--labels", "topic").stdout
    assert "No document has a field 'group'" in sentence(run("trial", folder / "s.loom", "--labels", "group"))


def test_info_shows_what_a_folder_holds(folder):
    shown = run("info", folder / "s.loom").stdout
    assert "documents  60\n" in shown
    assert "bm25, words=bow-cosine" in shown
    assert "Self-test with 60 documents" in shown
    known = json.loads(run("info", folder / "s.loom", "--json").stdout)
    assert known == rl.Searcher.open(folder / "s.loom").info()
    assert "There is no searcher" in sentence(run("info", folder / "docs.jsonl"))
