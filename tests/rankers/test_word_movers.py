"""The word mover's distance against worked cases and linear programming, and its bounds."""

import builtins
import gzip
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import rankloom as rl
from rankloom.errors import InputError, MissingExtraError
from rankloom.rankers.terms import Tokenizer, Vocabulary
from rankloom.rankers.word_movers import MoverModel, _row, wmd
from rankloom.rankers.word_vectors import WordVectors, learn_vectors, read_vectors

WORDS = ["fever", "cough", "ache", "zebra", "heart", "skin", "lung", "naïve"]
LINE = (["hot", "warm", "cold"], [[0.0], [1.0], [5.0]])


def lists(ranks):
    return [[item for item in row if item != rl.PAD] for row in ranks.items.tolist()]


def drawn(n=30, seed=0, **options):
    """Return a model of random texts over random vectors."""
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, size)) for size in random.integers(1, 9, n)]
    return wmd(texts, vectors=(WORDS, random.normal(size=(len(WORDS), 4))), **options)


def transport(model, a, b):
    """Return the least cost of moving text a to text b by linear programming."""
    (words, shares), (others, weights) = _row(model.texts, a), _row(model.texts, b)
    cost = np.linalg.norm(model.points[words][:, None] - model.points[others], axis=2)
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    best = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([shares, weights]))
    return best.fun


def table(ranks):
    costs = np.full((ranks.n_queries, ranks.n_items), np.nan)
    for q, row in enumerate(lists(ranks)):
        costs[q, row] = -ranks.scores[q, : len(row)]
    return costs


def test_words_on_a_line_by_hand():
    # hot 0, warm 1, cold 5. 0 to 2: half of hot goes to warm (1/2), half to cold (5/2).
    ranks = wmd(["hot", "warm", "warm cold"], vectors=LINE).rank()
    assert table(ranks).tolist() == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    assert lists(ranks) == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]


def test_frequencies_are_shares():
    # hot hot warm: 2/3 and 1/3; all goes to warm for 2/3.
    assert table(wmd(["hot hot warm", "warm"], vectors=LINE).rank())[0, 1] == pytest.approx(2 / 3)


def test_distances_equal_linear_programming():
    model = drawn(12, relaxed=12, exact=12)
    expected = [[transport(model, a, b) for b in range(12)] for a in range(12)]
    assert table(model.rank()) == pytest.approx(np.array(expected), abs=1e-5)


def test_distances_are_symmetric_and_zero_with_oneself():
    costs = table(drawn(20, relaxed=20, exact=20).rank())
    assert np.array_equal(costs, costs.T)
    assert not np.diag(costs).any()


def test_bounds_are_below_the_distance_and_rise():
    exact = table(drawn(relaxed=30, exact=30).rank())
    texts = table(drawn(relaxed=0, exact=0).rank())
    both = table(drawn(relaxed=30, exact=0).rank())
    model = drawn()
    centers = np.linalg.norm(model.centers[:, None] - model.centers, axis=2)
    assert (centers <= exact + 1e-6).all()
    assert (centers <= texts + 1e-6).all()
    assert (texts <= both + 1e-6).all()
    assert (both <= exact + 1e-6).all()
    assert (both < exact - 1e-3).any()


def test_the_relaxed_distance_equals_its_plain_form():
    model = drawn(relaxed=30, exact=0)
    found = table(model.rank())
    for a in range(0, 30, 7):
        for b in range(30):
            (words, shares), (others, weights) = _row(model.texts, a), _row(model.texts, b)
            cost = np.linalg.norm(model.points[words][:, None] - model.points[others], axis=2)
            apart = np.linalg.norm(model.centers[a] - model.centers[b])
            assert found[a, b] == pytest.approx(max(shares @ cost.min(1), weights @ cost.min(0), apart), abs=1e-5)


def test_only_the_first_are_solved_and_the_others_follow_their_bounds():
    model = drawn(relaxed=10, exact=3)
    ranks, bounds, exact = model.rank(), drawn(relaxed=0, exact=0).rank(), table(drawn(relaxed=30, exact=30).rank())
    rl.Ranks(ranks.items, ranks.scores, ranks.n_items)
    for q in range(30):
        first = ranks.items[q, :3]
        assert -ranks.scores[q, :3] == pytest.approx(exact[q, first], abs=1e-6)
        assert set(ranks.items[q, :10]) == set(bounds.items[q, :10])
        assert ranks.items[q, 10:].tolist() == bounds.items[q, 10:].tolist()


def test_a_short_list_is_the_head_of_a_long_one():
    model = drawn(40, seed=4, relaxed=20, exact=5)
    long = model.rank()
    for depth in (1, 3, 12, 30):
        assert np.array_equal(model.rank(depth=depth).items, long.items[:, :depth])


def test_bits_do_not_depend_on_blocks_or_threads():
    model = drawn(40, seed=3, relaxed=20, exact=5)
    one = model.rank(depth=25, block=40, threads=1)
    for block, threads in ((1, 1), (7, 2)):
        other = model.rank(depth=25, block=block, threads=threads)
        assert np.array_equal(one.items, other.items)
        assert one.scores.tobytes() == other.scores.tobytes()


def test_texts_without_vectors_list_themselves_alone():
    model = wmd(["hot", "", "unheard", "warm"], vectors=LINE)
    assert lists(model.rank()) == [[0, 3], [1], [2], [3, 0]]
    assert lists(model.rank(["", "unheard", "warm unheard"])) == [[], [], [3, 0]]


def test_an_outside_query_gets_the_distances_of_the_same_text_inside():
    model = wmd(["hot", "warm cold", "cold"], vectors=LINE)
    assert table(model.rank(["warm COLD"]))[0].tolist() == table(model.rank())[1].tolist()
    assert lists(model.rank(["cold"], depth=1)) == [[2]]


def test_equal_texts_come_by_number_after_the_text_itself():
    assert lists(wmd(["hot", "hot", "cold", "hot"], vectors=LINE).rank())[3] == [3, 0, 1, 2]


def test_words_are_not_stemmed_unless_asked_to():
    assert lists(wmd(["hots", "hot"], vectors=LINE).rank()) == [[0], [1]]
    assert lists(wmd(["hots", "hot"], vectors=LINE, tokenizer=Tokenizer()).rank()) == [[0, 1], [1, 0]]


def test_learned_vectors_bring_words_of_one_context_together():
    texts = ["fever with cough", "fever with ache", "cough with ache"] * 3 + ["zebra eats grass", "zebra eats leaf"] * 3
    model = wmd(texts, dimensions=3)
    assert isinstance(model, MoverModel)
    assert set(lists(model.rank())[0][:9]) == set(range(9))


@pytest.mark.parametrize("n_words", [20, 600])
def test_learned_vectors_are_those_of_a_plain_decomposition_and_the_same_each_time(n_words):
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
    assert lists(wmd(["hot", "warm"], vectors=tmp_path / "a.txt").rank()) == [[0, 1], [1, 0]]


def test_the_script_of_word_vectors_writes_what_the_ranker_reads(tmp_path, monkeypatch, capsys):
    vectors = {"hot": [0.5, 1, 1.1, 0], "the": [1, 1, 1.4, 1], "cold": [2, 3, 3.6, 2], "zebra": [0, 1, 1, 3]}
    (tmp_path / "package.json").write_text(json.dumps({"dimensions": 2, "vectors": vectors}))
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": "The hot, the cold."}) + "\n")
    paths = [str(tmp_path / name) for name in ("package.json", "texts.jsonl", "vectors.txt")]
    script = Path(__file__).parents[2] / "experiments" / "word_vectors.py"
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
        ("", "has no vector of any word"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(tmp_path, lines, message):
    (tmp_path / "x.txt").write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / "x.txt")


def test_damaged_archives_are_refused_in_a_sentence(tmp_path):
    np.savez(tmp_path / "whole.npz", words=np.array(["hot"]), vectors=np.eye(1))
    for name, content, why in (
        ("cut.txt.gz", gzip.compress(b"hot 1 2\n" * 99)[:-12], "cut.txt.gz is not a whole gzip file"),
        ("plain.txt.gz", b"hot 1 2\n", "plain.txt.gz is not a whole gzip file"),
        ("cut.npz", (tmp_path / "whole.npz").read_bytes()[:-30], "cut.npz is not a whole .npz file"),
        ("junk.npz", b"junk", "junk.npz is not a whole .npz file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=why):
            read_vectors(tmp_path / name)
    with pytest.raises(InputError, match="There is no file"):
        read_vectors(tmp_path / "none.txt")


def test_vectors_of_one_number_are_read_from_the_first_line_on(tmp_path):
    (tmp_path / "x.txt").write_text("hot 1\ncold 2\n")
    assert list(read_vectors(tmp_path / "x.txt").numbers) == ["hot", "cold"]


@pytest.mark.parametrize("n", [3, 600])
def test_words_that_are_never_near_others_have_no_vectors_to_learn(n):
    vocabulary, tokens = Vocabulary.fit([f"w{number}" for number in range(n)], Tokenizer(stem=False))
    with pytest.raises(InputError, match=r"no words stand near each other .* Give vectors=FILE"):
        learn_vectors(vocabulary, tokens)


def test_wrong_vectors_and_options_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", names=np.zeros(1))
    with pytest.raises(InputError, match="expected arrays 'words' and 'vectors'; got names"):
        read_vectors(tmp_path / "x.npz")
    with pytest.raises(InputError, match="2 different words and 1 rows"):
        WordVectors(["a", "b"], [[1.0]])
    with pytest.raises(InputError, match="finite"):
        WordVectors(["a"], [[np.nan]])
    with pytest.raises(InputError, match="a file or"):
        wmd(["a"], vectors=3)
    with pytest.raises(InputError, match="exact must be"):
        wmd(["hot"], vectors=LINE, exact=-1)


def test_a_missing_solver_is_named_with_its_extra(monkeypatch):
    real = builtins.__import__

    def fake(name, *args, **kwargs):
        if name == "ot":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)
    with pytest.raises(MissingExtraError, match=r"needs POT: pip install 'rankloom\[wmd\]'"):
        wmd(["hot"], vectors=LINE).rank()
