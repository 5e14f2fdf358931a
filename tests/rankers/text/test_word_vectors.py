"""Word vectors: files, and learning from co-occurrences."""

import gzip
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from rankloom.errors import InputError
from rankloom.rankers.text.terms import Tokenizer, Vocabulary
from rankloom.rankers.text.word_vectors import WordVectors, learn_vectors, read_vectors


@pytest.mark.parametrize("n_words", [20, 600])
def test_learned_vectors_equal_a_plain_svd_and_are_reproducible(n_words):
    random = np.random.default_rng(1)
    names = [f"w{i}" for i in range(n_words)]
    texts = [" ".join(random.choice(names, 30)) for _ in range(100)]
    vocabulary, tokens = Vocabulary.fit(texts, Tokenizer(stem=False))
    x = learn_vectors(vocabulary, tokens, dimensions=5).matrix
    assert np.array_equal(x, learn_vectors(vocabulary, tokens, dimensions=5).matrix)
    near = np.zeros((len(x), len(x)))
    for text in texts:
        numbers = [vocabulary.numbers[word] for word in text.split()]
        for i, first in enumerate(numbers):
            for second in numbers[i + 1 : i + 6]:
                near[first, second] += 1
                near[second, first] += 1
    counts = near.sum(0)
    with np.errstate(divide="ignore"):
        ppmi = np.maximum(0, np.log(near * counts.sum() / np.outer(counts, counts)))
    u, s, _ = np.linalg.svd(ppmi)
    assert np.abs(x) == pytest.approx(np.abs(u[:, :5] * np.sqrt(s[:5])), abs=1e-6)
    assert (x[np.abs(x).argmax(0), range(5)] > 0).all()


def test_vectors_are_read_from_text_and_npz(tmp_path):
    (tmp_path / "a.txt").write_text("hot 0.5 1\nwarm 2 -3e-1\n", encoding="utf-8")
    (tmp_path / "b.vec").write_text("2 2\nhot 0.5 1\nwarm 2 -0.3\n", encoding="utf-8")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"hot 0.5 1\nwarm 2 -0.3\n"))
    np.savez(tmp_path / "d.npz", words=np.array(["hot", "warm"]), vectors=np.array([[0.5, 1], [2, -0.3]]))
    for name in ("a.txt", "b.vec", "c.txt.gz", "d.npz"):
        assert read_vectors(tmp_path / name).of(["warm", "hot"]).tolist() == [[2, -0.3], [0.5, 1]]
    assert list(read_vectors(tmp_path / "a.txt", ["warm", "cold"]).numbers) == ["warm"]


def test_the_word_vectors_script_writes_a_readable_file(tmp_path, monkeypatch, capsys):
    vectors = {"hot": [0.5, 1, 1.1, 0], "the": [1, 1, 1.4, 1], "cold": [2, 3, 3.6, 2], "zebra": [0, 1, 1, 3]}
    (tmp_path / "package.json").write_text(json.dumps({"dimensions": 2, "vectors": vectors}))
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": "The hot, the cold."}) + "\n")
    paths = [str(tmp_path / name) for name in ("package.json", "texts.jsonl", "vectors.txt")]
    script = Path(__file__).parents[3] / "experiments" / "word_vectors.py"
    monkeypatch.setattr(sys, "argv", [str(script), *paths])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.startswith("2 of 2 words have vectors")
    assert (tmp_path / "vectors.txt").read_text() == "hot 0.5 1\ncold 2 3\n"
    assert read_vectors(paths[2]).of(["cold"]).tolist() == [[2, 3]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("hot 1 2\nwarm 1\n", r"x.txt:2: expected a word and 2 numbers, got 1"),
        ("hot 1 2\nwarm a b\n", r"x.txt:2: expected numbers after 'warm'; got 'a'"),
        ("hot\nwarm\n", r"x.txt:1: expected a word and its numbers, got 0"),
        ("hot 1\nwarm\n", r"x.txt:2: expected a word and 1 numbers, got 0"),
        (b"hot 1 2\ncaf\xe9 1 2\n", r"x.txt:2: byte 0xe9 is not UTF-8"),
        ("", "has no vector for any of the words"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path, lines, message):
    (tmp_path / "x.txt").write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / "x.txt")


def test_damaged_archives_are_rejected(tmp_path):
    np.savez(tmp_path / "whole.npz", words=np.array(["hot"]), vectors=np.eye(1))
    for name, content, why in (
        ("cut.txt.gz", gzip.compress(b"hot 1 2\n" * 99)[:-12], "cut.txt.gz is not a valid gzip file"),
        ("plain.txt.gz", b"hot 1 2\n", "plain.txt.gz is not a valid gzip file"),
        ("cut.npz", (tmp_path / "whole.npz").read_bytes()[:-30], "cut.npz is damaged, or not an .npz file"),
        ("junk.npz", b"junk", "junk.npz is damaged, or not an .npz file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=why):
            read_vectors(tmp_path / name)
    with pytest.raises(InputError, match="There is no file"):
        read_vectors(tmp_path / "none.txt")


def test_the_first_line_may_be_a_vector_of_one_number(tmp_path):
    (tmp_path / "x.txt").write_text("hot 1\ncold 2\n")
    assert list(read_vectors(tmp_path / "x.txt").numbers) == ["hot", "cold"]


@pytest.mark.parametrize("n", [3, 600])
def test_learning_needs_cooccurrences(n):
    vocabulary, tokens = Vocabulary.fit([f"w{number}" for number in range(n)], Tokenizer(stem=False))
    with pytest.raises(InputError, match=r"no words co-occur .* Give vectors=FILE"):
        learn_vectors(vocabulary, tokens)


def test_invalid_vectors_are_rejected(tmp_path):
    np.savez(tmp_path / "x.npz", names=np.zeros(1))
    with pytest.raises(InputError, match="expected arrays 'words' and 'vectors'; got names"):
        read_vectors(tmp_path / "x.npz")
    with pytest.raises(InputError, match="2 distinct words and 1 rows"):
        WordVectors(["a", "b"], [[1.0]])
    with pytest.raises(InputError, match="finite"):
        WordVectors(["a"], [[np.nan]])
