"""The texts of the demo: documents, and queries judged by hand."""

from command import run
from rankloom.cli.reference import EXAMPLE, JUDGED, reference


def test_every_judged_document_exists_and_is_judged_once():
    collection = reference()
    judged = {name for grades in collection.queries.qrels.values() for name in grades}
    assert judged <= set(collection.ids)
    assert {grade for grades in collection.queries.qrels.values() for grade in grades.values()} == {1, 2}
    for text, grades in zip(JUDGED.values(), collection.queries.qrels.values(), strict=True):
        assert len(grades) == text.count(",") + text.count(";") + 1
        assert 2 in grades.values()
    assert EXAMPLE in JUDGED


def test_documents_are_docstrings_without_markup_and_examples():
    collection = reference()
    texts = dict(zip(collection.ids, collection.parts["texts"], strict=True))
    rrf = texts["method rrf"]
    assert rrf.startswith("Reciprocal rank fusion.")
    assert "Cormack" in rrf
    assert "RRF(d) = ∑_r w_r / (c + ρ_r(d))" in rrf
    assert all(one not in "".join(texts.values()) for one in (">>>", "Examples", ":math:", "----", "`", "\\"))
    assert min(map(len, texts.values())) > 20


def test_demo_of_texts_compares_rankers_rrf_and_vote():
    result = run("demo", "--text", "--no-serve", "--no-cache")
    assert result.exit_code == 0, result.output
    rows = [line.split()[0] for line in result.output.splitlines() if line.strip()]
    assert rows[2:7] == ["bm25", "2grams-jaccard", "static", "rrf", "vote"]
    assert "judged by hand" in result.output


def test_number_of_emoji_is_refused_for_texts():
    result = run("demo", "--text", "--first", 30, "--no-serve")
    assert result.exit_code == 1
    assert "leave it out with --text" in result.output
