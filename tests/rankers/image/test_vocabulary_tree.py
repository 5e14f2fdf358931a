"""Vocabulary trees: clusters found by hand, a plain descent, order and files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.errors import InputError
from rankloom.rankers.image.vocabulary_tree import LENGTH, VocabularyTree
from rankloom.threads import running


def rows(*levels):
    """Return descriptors of equal bytes."""
    return np.repeat(np.array(levels, np.uint8)[:, None], LENGTH, axis=1)


def clustered(n, seed, centers=12):
    """Return descriptors around a few random centers."""
    random = np.random.default_rng(seed)
    means = random.integers(0, 120, (centers, LENGTH))
    return np.clip(means[random.integers(0, centers, n)] + random.integers(-9, 10, (n, LENGTH)), 0, 255).astype(
        np.uint8
    )


def plain_word(tree, row):
    """Descend by exact squared distances; ties go to the first child."""
    node = 0
    while tree.children[node, 0] < tree.children[node, 1]:
        children = range(*tree.children[node].tolist())
        node = min(
            children, key=lambda c: sum((int(a) - int(b)) ** 2 for a, b in zip(tree.centers[c], row, strict=True))
        )
    leaves = [n for n in range(len(tree.children)) if tree.children[n, 0] == tree.children[n, 1]]
    return leaves.index(node)


def test_two_groups_are_two_words():
    # 0, 1, 2 have the mean 1; 200, 203 the mean 201.5, which rounds to 202 (to even).
    given = rows(0, 1, 2, 200, 203)
    tree = VocabularyTree.train(given, branch=2, levels=1)
    assert sorted(tree.centers[1:, 0].tolist()) == [1, 202]
    words = tree.words(given).tolist()
    assert words[0] == words[1] == words[2] != words[3] == words[4]


def test_a_node_with_few_descriptors_has_fewer_children():
    assert VocabularyTree.train(clustered(7, 0), branch=10, levels=1).n_words <= 3  # 7 // 2
    assert VocabularyTree.train(rows(1, 2, 3), branch=10, levels=4).n_words == 1  # cannot be divided


def test_equal_descriptors_are_one_word():
    assert VocabularyTree.train(rows(*[9] * 50), branch=5, levels=3).n_words == 1


def test_no_descriptors_give_one_word():
    tree = VocabularyTree.train(rows(), branch=5, levels=3)
    assert tree.n_words == 1
    assert tree.words(rows(3, 250)).tolist() == [0, 0]


@given(st.integers(0, 30))
def test_words_equal_a_plain_descent(seed):
    trained, queries = clustered(60, seed), clustered(9, seed + 1)
    tree = VocabularyTree.train(trained, branch=3, levels=3, seed=seed)
    assert tree.words(queries).tolist() == [plain_word(tree, row) for row in queries]
    assert set(tree.words(trained)) <= set(range(tree.n_words))


def test_levels_and_branch_limit_the_words():
    trained = clustered(500, 3, centers=60)
    assert VocabularyTree.train(trained, branch=4, levels=1).n_words <= 4
    assert 4 < VocabularyTree.train(trained, branch=4, levels=3).n_words <= 4**3


def test_the_seed_decides():
    trained = clustered(300, 4, centers=50)
    first, same, other = (VocabularyTree.train(trained, branch=5, levels=2, seed=seed) for seed in (1, 1, 2))
    assert first.centers.tobytes() == same.centers.tobytes()
    assert first.centers.tobytes() != other.centers.tobytes()


def test_words_do_not_depend_on_other_descriptors():
    trained = clustered(200, 5)
    tree = VocabularyTree.train(trained, branch=4, levels=3)
    alone = [int(tree.words(trained[i : i + 1])[0]) for i in range(20)]
    assert tree.words(trained)[:20].tolist() == alone


def test_a_saved_tree_is_read_back(tmp_path):
    tree = VocabularyTree.train(clustered(100, 6), branch=3, levels=2)
    tree.save(tmp_path / "voc.npz")
    read = VocabularyTree.read(tmp_path / "voc.npz")
    assert read.centers.tobytes() == tree.centers.tobytes()
    assert read.children.tolist() == tree.children.tolist()


def test_progress_is_reported():
    seen = []
    with running(progress=lambda *step: seen.append(step)):
        VocabularyTree.train(rows(1, 2, 8, 9), branch=2, levels=2)
    assert seen == [("Training the vocabulary", 1, 2), ("Training the vocabulary", 2, 2)]


GOOD = {"centers": np.zeros((3, LENGTH), np.uint8), "children": np.array([[1, 3], [3, 3], [3, 3]])}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"centers": np.zeros((3, 5), np.uint8)}, "uint8 of shape"),
        ({"centers": np.zeros((3, LENGTH))}, "uint8 of shape"),
        ({"centers": np.zeros((0, LENGTH), np.uint8), "children": np.zeros((0, 2), np.int64)}, "uint8 of shape"),
        ({"children": np.array([[1, 3], [3, 3]])}, "of shape"),
        ({"children": np.array([[0, 3], [3, 3], [3, 3]])}, "do not follow"),  # the root is its own child
        ({"children": np.array([[1, 9], [3, 3], [3, 3]])}, "do not follow"),
        ({"children": np.array([[1, 2], [1, 3], [3, 3]])}, "do not follow"),
        ({"children": np.array([[1.0, 3], [3, 3], [3, 3]])}, "do not follow"),
        ({"children": np.array([[3, 3], [3, 3], [3, 3]])}, "do not follow"),  # nodes that nothing leads to
    ],
)
def test_arrays_of_no_tree_are_rejected(tmp_path, wrong, message):
    assert VocabularyTree.checked(GOOD).n_words == 2
    np.savez(tmp_path / "voc.npz", **{**GOOD, **wrong})
    with pytest.raises(InputError, match=f"has no vocabulary: .*{message}"):
        VocabularyTree.read(tmp_path / "voc.npz")


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_other_files_are_rejected(tmp_path, content):
    (tmp_path / "voc.npz").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as a vocabulary"):
        VocabularyTree.read(tmp_path / "voc.npz")


@pytest.mark.parametrize(
    ("options", "message"), [({"branch": 0}, "branch"), ({"levels": 0}, "levels"), ({"seed": -1}, "seed")]
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(InputError, match=f"{message} must be a whole number"):
        VocabularyTree.train(rows(1, 2), **options)
