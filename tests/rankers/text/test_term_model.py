"""Lists by posting lists: every path of the kernel against all pairs, bit by bit."""

import hashlib
import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import rankloom as rl
from rankloom.errors import InputError
from rankloom.rankers import RANKERS
from rankloom.rankers.text.term_model import OVERLAPS, SHARES, CountedModel, Scheme, Statistics

#: SHA-256 of the lists of the emoji's texts, of 20 and of 1000 items, before sums were dense.
DIGESTS = {"okapi": "98de03e35351305a", "jaccard": "e9dfb76b60f593b2", "2grams-cosine": "fae366ba33b8b3a5"}

#: All but one: what products share may exceed the union.
KINDS = [kind for kind in itertools.product(OVERLAPS, SHARES) if kind != ("product", "union")]


def model(n, density, overlap, share, *, grades=4, n_terms=60):
    """Return a collection of random weights; few different ones, so that scores tie."""
    rng = np.random.default_rng(n)
    weights = rng.integers(1, grades, (n, n_terms)) * (rng.random((n, n_terms)) < density) / 8
    rows = csr_matrix(weights * (rng.random((n, 1)) < 0.9))  # some texts are empty
    scheme = type("Plain", (Scheme,), {"overlap": overlap, "share": share, "weigh": lambda _, counts, __: counts})
    return CountedModel(scheme=scheme(), statistics=Statistics(n, 1.0, n_terms, np.ones(n_terms)), texts=rows, own=rows)


def brute(model, queries, allowed, own):
    """Return {item: score} of each query, with sums in the order of terms."""
    texts, sizes = model.texts.toarray(), np.asarray(model.texts.sum(axis=1)).ravel()
    for number, (row, size) in enumerate(zip(queries.toarray(), np.asarray(queries.sum(axis=1)).ravel(), strict=True)):
        parts = row * texts if model.scheme.overlap == "product" else np.minimum(row, texts)
        common = np.add.accumulate(parts, axis=1)[:, -1]
        with np.errstate(invalid="ignore", divide="ignore"):
            score = {
                "total": common,
                "union": common / (size + sizes - common),
                "larger": common / np.maximum(size, sizes),
                "mean": 2 * common / (size + sizes),
            }[model.scheme.share]
        mine = number if own else -1
        kept = [d for d in range(len(texts)) if (common[d] > 0 and allowed[d]) or d == mine]
        scores = {d: np.float32(score[d]) if common[d] > 0 else np.float32(0) for d in kept}
        yield sorted(scores.items(), key=lambda one: (-one[1], one[0] != mine, one[0]))


def check(ranks, expected, depth):
    for items, scores, right in zip(ranks.items.tolist(), ranks.scores, expected, strict=True):
        right = right[:depth]
        assert items == [d for d, _ in right] + [-1] * (len(items) - len(right))
        assert scores[: len(right)].tolist() == [s for _, s in right]


@pytest.mark.parametrize(("overlap", "share"), KINDS)
def test_lists_are_those_of_all_pairs(overlap, share):
    for n, density in ((200, 0.02), (200, 0.3), (40, 0.9)):  # few postings; many; almost all
        some = model(n, density, overlap, share)
        expected = list(brute(some, some.own, np.ones(n, bool), own=True))
        for depth in (1, 3, 50, n):
            check(some.rank(depth=depth), expected, depth)


@pytest.mark.parametrize("density", [0.02, 0.4])
def test_filtered_lists_are_those_of_all_pairs(density):
    some = model(150, density, "minimum", "union")
    queries = model(20, 0.4, "minimum", "union").own
    allowed = np.random.default_rng(1).random(150) < 0.5
    for depth in (2, 100):
        ranks = some.rank(queries, depth=depth, allowed=allowed)
        check(ranks, brute(some, queries, allowed, own=False), depth)


@pytest.mark.parametrize("scale", [1e-40, 1e-18, 1e18])
def test_scores_that_float32_hardly_holds_keep_their_order(scale):
    some = model(100, 0.5, "product", "total")
    tiny = CountedModel(
        scheme=some.scheme, statistics=some.statistics, texts=some.texts * scale, own=some.texts * scale
    )
    for depth in (2, 80):
        check(tiny.rank(depth=depth), brute(tiny, tiny.own, np.ones(100, bool), own=True), depth)


@pytest.mark.parametrize("name", DIGESTS)
def test_lists_of_emoji_are_the_same_as_ever(name):
    fitted = RANKERS[name]().fit(list(rl.open_collection("emoji").parts["texts"]))
    lists = b"".join(fitted.rank(depth=depth).items.tobytes() for depth in (20, 1000))
    assert hashlib.sha256(lists).hexdigest()[:16] == DIGESTS[name]


def test_terms_are_the_heaviest_of_an_item():
    texts = ["heart heart of skin", "heart failure of skin", "skin", "fever of skin", ""]  # the rarest come first
    model = RANKERS["okapi"](max_terms=1).fit(texts)
    assert [set(row.tolist()) - {-1} for row in model.rank(depth=5).items] == [{0, 1}, {1}, {0, 1, 2, 3}, {3}, {4}]
    whole = RANKERS["okapi"]().fit(texts)
    assert model.rank(queries=texts, depth=5).to_dict() == whole.rank(queries=texts, depth=5).to_dict()
    some = np.array([3, 1])
    assert model.rank_items(some).items.tolist() == model.rank().items[some].tolist()
    many = RANKERS["okapi"](max_terms=99).fit(texts).rank()
    assert many.items.tolist() == whole.rank().items.tolist()
    assert many.scores.tolist() == whole.rank().scores.tolist()


@pytest.mark.parametrize(("overlap", "share"), KINDS)
@pytest.mark.parametrize(("n", "density"), [(30, 0.05), (400, 0.05), (400, 0.6)])
def test_lists_above_floors_are_the_beginnings_of_lists(overlap, share, n, density):
    some, others = model(n, density, overlap, share), model(n + 1, density, overlap, share)
    rows = np.arange(others.n_items)
    whole = some.rank_items(rows, depth=n, of=others)
    floors = np.random.default_rng(n).choice([-np.inf, *np.unique(whole.scores)], len(rows)).astype(np.float32)
    for depth in (n, 5):
        above = some.rank_items(rows, depth=depth, floors=floors, of=others)
        kept = (whole.scores > floors[:, None])[:, :depth]
        assert np.array_equal(above.items, np.where(kept, whole.items[:, :depth], -1))
        assert np.array_equal(above.scores, np.where(kept, whole.scores[:, :depth], 0))


def test_items_of_large_collections_are_queries_of_25_terms(monkeypatch):
    texts = [" ".join(f"w{n * 7 % 31}" for n in range(start, start + 30)) for start in range(9)]
    cut, whole = RANKERS["okapi"](max_terms=25).fit(texts).rank(), RANKERS["okapi"]().fit(texts)
    assert whole.rank().scores.tolist() != cut.scores.tolist()
    monkeypatch.setattr("rankloom.rankers.text.term_model.MANY_TEXTS", 8)
    large = RANKERS["okapi"]().fit(texts)
    assert large.rank().scores.tolist() == cut.scores.tolist()
    assert large.rank(queries=texts).scores.tolist() == whole.rank(queries=texts).scores.tolist()
    assert large.subset(np.arange(4)).rank_items(np.arange(2)).items.tolist()  # statistics, not items, decide


@pytest.mark.parametrize("max_terms", [0, "many", 2.5])
def test_max_terms_must_be_a_positive_number(max_terms):
    with pytest.raises(InputError, match=r"max_terms .*must be"):
        RANKERS["bow-jaccard"](max_terms=max_terms).fit(["heart", "skin"])
