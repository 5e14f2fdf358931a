"""Lists by cells against a plain version of the same rules, hostile shapes, and equal bits however they are made."""

import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError
from rankloom.ranks import cell_lists, cells
from rankloom.ranks.cells import Cells, Rounded
from rankloom.ranks.vector_space import METRICS, VectorSpace
from rankloom.threads import running


def clustered(n, d=8, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(max(n // 25, 1), d))
    return (centers[rng.integers(0, len(centers), n)] + rng.normal(size=(n, d)) / 2).astype(dtype)


def space_of(x):
    return VectorSpace.of(x, METRICS["cosine"])


def by_cells(x, depth=10, **options):
    return rl.Ranks.from_vectors(x, depth=depth, algorithm="cells", **options)


def same(one, other):
    return (one.items.tobytes(), one.scores.tobytes()) == (other.items.tobytes(), other.scores.tobytes())


@pytest.fixture
def small(monkeypatch):
    """Cells of 10 items, and samples that leave items over."""
    monkeypatch.setattr(cells, "MIN_CELL", 10)
    monkeypatch.setattr(cell_lists, "SAMPLE", 40)


# The rules in loops over Python integers.


def plain_rounded(x):
    length = 4095 - len(x[0]) ** 0.5 / 2
    return [[round(v) for v in (row / np.sqrt((row * row).sum()) * length).tolist()] for row in x.astype(np.float64)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def plain_centers(rows, n):
    centers = rows[:: max(1, len(rows) // n)][:n]
    for _ in range(4):
        own = [plain_nearest(row, centers) for row in rows]
        for cell in range(n):
            members = [row for row, c in zip(rows, own, strict=True) if c == cell]
            total = [sum(column) for column in zip(*members, strict=True)]
            size = dot(total, total) ** 0.5 if total else 0
            if size:
                length = 4095 - len(total) ** 0.5 / 2
                centers[cell] = [round(v * (length / size)) for v in total]
    return centers


def plain_nearest(row, centers):
    products = [dot(row, center) for center in centers]
    return products.index(max(products))


def plain_pairs(rows, own, centers, looks):
    """Return the pairs of which either looks into the cell of the other, or which share one."""

    def into(row):
        products = sorted((dot(row, center) for center in centers), reverse=True)
        return {c for c, center in enumerate(centers) if dot(row, center) >= products[min(looks, len(centers)) - 1]}

    probes = [into(row) | {cell} for row, cell in zip(rows, own, strict=True)]
    return {(i, j) for i in range(len(rows)) for j in range(i) if own[j] in probes[i] or own[i] in probes[j]}


def plain_lists(rows, order, pairs, kept):
    """Return the best of the compared rows of each, ties by their place in the order of cells."""
    place = {row: at for at, row in enumerate(order)}
    near = [[] for _ in rows]
    for i, j in pairs:
        score = dot(rows[i], rows[j])
        near[i].append((-score, place[j], j))
        near[j].append((-score, place[i], i))
    return [[j for _, _, j in sorted(found)[:kept]] for found in near]


def plain_groups(rows, order, lists):
    """Return pairs of near neighbors: 10 of an item, itself, and up to 9 items that it is among the 10 of."""
    pairs = set()
    for item in range(len(rows)):
        back = [other for other in order if item in lists[other][:10]][:9]
        group = {item, *lists[item][:10], *back}
        pairs |= {(i, j) for i in group for j in group if i > j}
    return pairs


@pytest.mark.parametrize("looks", [1, 3])
def test_compared_pairs_and_kept_neighbors_follow_the_rules(small, looks):
    x = clustered(300)
    rows, kept = plain_rounded(x), 24
    made = Cells.of(space_of(x))
    assert len(made.centers) >= 16
    order = sorted(range(300), key=lambda item: (made.own[item], item))
    pairs = plain_pairs(rows, made.own.tolist(), made.centers.astype(int).tolist(), looks)
    build = cell_lists._Build.of(space_of(x), made, kept)
    build.join.compare_within()
    build.join.compare_across(np.arange(300, dtype=np.int32), looks)
    for _ in range(2):
        expected = plain_lists(rows, order, pairs, kept)
        assert [[order[j] for j in best if j >= 0] for best in build.join.best.items[build.row].tolist()] == expected
        pairs |= plain_groups(rows, order, expected)
        build.join.compare_neighbors()


def test_cells_are_those_of_plain_k_means(small, monkeypatch):
    monkeypatch.setattr(cells, "MAX_CELL", 1000)  # none is split
    x = clustered(200, d=5, seed=3)
    order, made = np.random.default_rng(0).permutation(200), Cells.of(space_of(x))
    rows, n = plain_rounded(x), len(made.centers)
    assert n == 16
    centers = plain_centers([rows[i] for i in order], n)
    assert made.centers.tolist() == centers
    assert made.own.tolist() == [plain_nearest(row, centers) for row in rows]


def test_with_all_pairs_compared_lists_are_exact(small, monkeypatch):
    monkeypatch.setattr(cell_lists, "SPARE", 400)
    monkeypatch.setattr(cell_lists._Build, "estimated_cells", lambda self, *_: len(self.join.cells.centers))
    x = clustered(400)
    x[7], x[250:330] = 0, x[3]
    assert same(by_cells(x, 400), rl.Ranks.from_vectors(x, depth=400, algorithm="exact"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scores_have_the_bits_of_exact_lists_and_recall_is_measured(small, dtype):
    x = clustered(1500, dtype=dtype)
    found, exact = by_cells(x, 30), rl.Ranks.from_vectors(x, depth=1500, algorithm="exact")
    for row in range(0, 1500, 97):
        scores = dict(zip(exact.items[row].tolist(), exact.scores[row].tolist(), strict=True))
        items, own = found.items[row].tolist(), found.scores[row].tolist()
        assert [scores[item] for item in items] == own
        assert items[0] == row
        assert items[1:] == sorted(items[1:], key=lambda item: (-scores[item], item))
    lists = zip(found.items[:, 1:21].tolist(), exact.items[:, 1:21].tolist(), strict=True)
    shared = np.mean([len({*mine} & {*theirs}) for mine, theirs in lists]) / 20
    assert found.recall >= 0.95
    assert shared == pytest.approx(found.recall, abs=0.04)
    assert (found.kind, exact.recall) == ("collection", None)


def test_recall_is_raised_to_what_is_wanted(small, monkeypatch):
    monkeypatch.setattr(cell_lists._Build, "estimated_cells", lambda *_: 1)
    x = np.random.default_rng(1).normal(size=(1000, 12))  # no clusters at all
    assert by_cells(x, 20, recall=0.99).recall >= 0.99
    assert by_cells(x, 20, recall=0).recall < 0.9


def test_bits_do_not_depend_on_threads_blocks_or_order_of_sums(small, monkeypatch):
    x = clustered(900, d=33)
    one = by_cells(x, 20)
    with running(threads=4):
        assert same(one, by_cells(x, 20))
    monkeypatch.setattr(cell_lists, "ROWS", 7)
    monkeypatch.setattr(cells, "ROWS", 50)
    backwards = x[:, ::-1]  # other sums in each product, the same rounded vectors
    assert same(one, by_cells(x, 20))
    assert np.array_equal(one.items, by_cells(backwards, 20).items)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((300, 4)),
        np.ones((300, 3)),
        np.repeat(clustered(10), 40, axis=0),
        np.append(np.ones((299, 4)), [[-1e9, 1e9, 0, 0]], axis=0),
        np.random.default_rng(2).normal(size=(300, 1)),
        np.concatenate([clustered(100), np.zeros((200, 8))]),
        clustered(300) * np.logspace(-200, 200, 300)[:, None].astype(np.float64),
        clustered(2),
        clustered(1),
        np.eye(3),
    ],
    ids=["zeros", "equal", "copies", "far", "line", "sparse", "lengths", "two", "one", "three"],
)
def test_hostile_shapes_have_full_lists(small, x):
    found, exact = by_cells(x, 12), rl.Ranks.from_vectors(x, depth=12, algorithm="exact")
    assert found.items.shape == exact.items.shape
    assert found.items[:, 0].tolist() == list(range(len(x)))
    assert all(len(set(row)) == len(row) and min(row) >= 0 for row in found.items.tolist())
    assert (found.scores[:, :12] >= exact.scores[:, :12] - 1e-6).mean() > 0.9
    assert found.recall > 0.9


def test_equal_vectors_are_listed_by_number(small):
    x = np.concatenate([clustered(200), np.ones((100, 8))])
    found = by_cells(x, 6)
    assert found.items[250].tolist() == [250, 200, 201, 202, 203, 204]


def test_large_cells_are_split():
    rng = np.random.default_rng(4)
    x = np.concatenate([[1, 0, 0, 0] + rng.normal(size=(900, 4)) / 10, rng.normal(size=(100, 4))])
    rows = Rounded.of(space_of(x)).rows
    centers = cells._k_means(rows[900:], 32)  # few of them among the 900
    made = Cells(centers, cells.nearest_centers(rows, centers))
    assert np.bincount(made.own).max() > 4 * 1000 / 32
    for _ in range(cells.SPLITS):
        made = made._split(rows, 1000 / 32)
    assert np.bincount(made.own).max() <= 4 * 1000 / 32
    assert np.bincount(made.own).sum() == 1000


def test_different_rows_with_one_key_stay_apart(monkeypatch):
    rows = clustered(40)

    class NoFactors:
        def integers(self, low, high, size):
            return np.zeros(size, np.int64)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: NoFactors())
    assert len(Rounded.of(space_of(rows)).rows) == 40


def test_products_of_rounded_vectors_stay_below_24_bits():
    rng = np.random.default_rng(6)
    for d in (1, 2, 100, 5000):
        x = np.concatenate([rng.normal(size=(5, d)), np.ones((1, d)), rng.choice([-1.0, 1.0], (3, d))])
        rows = Rounded.of(space_of(x)).rows.astype(np.int64)
        assert (rows * rows).sum(1).max() < 2**24


@pytest.mark.parametrize("n", [1, 2, 63, 64, 1000, 20_000, 1_000_000])
def test_the_number_of_cells_is_a_power_of_two(n):
    assert cells.n_cells(n) == {1000: 8, 20_000: 256, 1_000_000: 2048}.get(n, 1)


def test_invalid_input_is_rejected():
    with pytest.raises(InputError, match="vectors must be finite; row 1 has nan"):
        by_cells([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(InputError, match=r"algorithm=cells supports cosine; got l2\. Use algorithm=exact"):
        rl.Ranks.from_vectors(np.eye(2), "l2", algorithm="cells")
    with pytest.raises(InputError, match="recall must be from 0 to 1; got 95"):
        by_cells(np.eye(2), recall=95)
    assert by_cells(np.empty((0, 2))).items.shape == (0, 0)
