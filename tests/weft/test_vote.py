"""Vote: against the plain version, its laws, and its explanations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_vote
import plain_weft
from brute import JIT, plain
from plain_vote import entries, nearest
from plain_weft import PlainWeft
from rankloom import Ranks, WeftIndex
from rankloom.errors import InputError
from rankloom.ranks import PAD
from strategies import collections, examples, ranks

CLOSE = 2e-4  # scores are float32 and standardized; weft's are stored in units


def voted(queries, rankers, weft, n=None, **options):
    """Return the plain version's {item: score} of each query."""
    near = [nearest(r) for r in rankers]
    options["short"] = [False] * len(rankers) if options.get("exhaustive") is None else options.pop("exhaustive")
    found = []
    for q in range(len(queries[0])):
        lists = [entries(r, q)[:300] for r in queries]
        short = [flag and len(lists[r]) < min(300, queries[r].depth) for r, flag in enumerate(options["short"])]
        found.append(
            plain_vote.vote(lists, near, entries(weft, q), n or rankers[0].n_items, **(options | {"short": short}))
        )
    return found


def assert_same(one, other):
    np.testing.assert_array_equal(one.items, other.items)
    np.testing.assert_array_equal(one.scores, other.scores)


def assert_votes(out, expected):
    for q, scores in enumerate(expected):
        got = dict(entries(out, q))
        best = sorted(scores.values(), reverse=True)[: out.depth]
        assert list(got.values()) == pytest.approx(best, abs=CLOSE)
        assert got == pytest.approx({item: scores[item] for item in got}, abs=CLOSE)


def flags(m):
    return st.lists(st.booleans(), min_size=m, max_size=m)


@examples(80)
@given(st.data(), collections(), st.sampled_from([0.0, 0.35, 2.0]))
def test_votes_are_those_of_the_plain_version(data, rankers, neighbors_weight):
    n, scored, m = rankers[0].n_items, rankers[0].scores is not None, len(rankers)
    queries = [data.draw(ranks(n_items=n, n_queries=2, scores=scored)) for _ in rankers]
    options = {name: data.draw(flags(m)) for name in ("symmetric", "exhaustive")}
    weights = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=m, max_size=m))
    index = WeftIndex.build(rankers, cutoff=6, expand=3, width=None, **options)
    out = index.vote(queries, n, weights=weights, neighbors_weight=neighbors_weight)
    more = {"weights": weights, "neighbors_weight": neighbors_weight}
    assert_votes(out, voted(queries, rankers, index.vote_list(queries, n), **options, **more))


def texts(seed, n, m, n_queries=6):
    """Return collection ranks of m rankers, some with short lists, and those of queries."""
    random = np.random.default_rng(seed)
    rankers, queries = [], []
    for r in range(m):
        points = random.gamma(0.3, size=(n, 8)) * (random.random((n, 8)) < 0.5)
        asked = random.gamma(0.3, size=(n_queries, 8)) * (random.random((n_queries, 8)) < 0.5)
        similar = np.vstack([points, asked]) @ points.T
        if r % 2:
            lists = Ranks.from_similarities(similar, min(n, 320))
        else:  # of what scores above 0 alone
            kept = [sorted(((s, -i) for i, s in enumerate(row) if s > 0), reverse=True)[:320] for row in similar]
            items, scores = np.full((len(kept), 320), PAD), np.zeros((len(kept), 320))
            for q, row in enumerate(kept):
                items[q, : len(row)], scores[q, : len(row)] = [-i for _, i in row], [s for s, _ in row]
            lists = Ranks(items, scores, n)
        rankers.append(lists.rows(range(n)).of_kind("collection"))
        queries.append(lists.rows(range(n, n + n_queries)))
    return rankers, queries


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("n", [60, 180, 400] if JIT else [40])
def test_longer_lists_are_those_of_the_plain_version(m, n):
    rankers, queries = texts(m * n, n, m)
    options = {"symmetric": [r % 2 == 1 for r in range(m)], "exhaustive": [r % 2 == 0 for r in range(m)]}
    index = WeftIndex.build(rankers, **options)
    out = index.vote(queries, 50)
    assert_votes(out, voted(queries, rankers, index.vote_list(queries, 50), **options))


@examples(40)
@given(st.data(), collections(), st.integers(1, 3), st.booleans())
def test_the_list_of_weft_is_that_of_the_plain_version(data, rankers, expand, filtered):
    n = rankers[0].n_items
    queries = [data.draw(ranks(n_items=n, n_queries=2, scores=False)) for _ in rankers]
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))) if filtered else None
    wanted = data.draw(st.integers(1, n))
    index = WeftIndex.build(rankers, cutoff=5, expand=expand, width=None)
    expected = PlainWeft([plain(r) for r in rankers], 5, expand)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloom.weft.votes.WEFT_DEPTH", wanted)
        patch.setattr(plain_vote, "MIN_FOUND", wanted)
        out = index.vote_list(queries, wanted, allowed=allowed)
        sharded = WeftIndex(index.settings, index._table.split(index.arrays, 2))
        assert_same(sharded.vote_list(queries, wanted, allowed=allowed), out)
        for q in range(2):
            rows = [plain_weft.weighed(plain(r)[q][:5], 5) for r in queries]
            query = expected.fields([plain_weft.fused(rows, expected.weights), *rows], None)
            members = set().union(*query)
            met = {i: len(members & set().union(*fields)) for i, fields in enumerate(expected.items)}
            met = {i: count for i, count in met.items() if count and (allowed is None or allowed[i])}
            found = plain_vote.weft_list(
                met, expected.search(query) | dict.fromkeys(met, 0.0) | expected.search(query), wanted
            )
            assert [s for _, s in entries(out, q)] == pytest.approx([s for _, s in found], abs=5e-7)


# Laws


def test_shards_threads_and_blocks_do_not_change_the_bits(tmp_path, monkeypatch):
    rankers, queries = texts(5, 150 if JIT else 30, 2, n_queries=20)
    index = WeftIndex.build(rankers, symmetric=[False, True], exhaustive=[True, False])
    whole = index.vote(queries, 40, threads=1)
    index.save(tmp_path / "x.loom", shards=4)
    assert_same(WeftIndex.open(tmp_path / "x.loom").vote(queries, 40), whole)
    monkeypatch.setattr("rankloom.weft.votes.BLOCK", 3)
    assert_same(index.vote(queries, 40, threads=2), whole)
    one_by_one = [index.vote([r.rows([q]) for r in queries], 40) for q in range(20)]
    for q, alone in enumerate(one_by_one):
        assert entries(alone, 0) == entries(whole, q)


def test_one_order_serves_all_k_up_to_the_depth_of_lists():
    rankers, queries = texts(6, 400 if JIT else 30, 2)
    index = WeftIndex.build(rankers, symmetric=[False, True], exhaustive=[True, False])
    whole = index.vote(queries, 300)
    for k in (1, 10, 120, 250):
        assert_same(index.vote(queries, k), whole.head(k))


def test_one_ranker_alone_counts_once():
    rankers, queries = texts(7, 120 if JIT else 30, 1)
    index = WeftIndex.build(rankers, exhaustive=[True])
    alone = index.vote(queries, 30, neighbors_weight=0)
    for q in range(len(queries[0])):
        listed = [i for i, _ in entries(queries[0], q)][:30]
        assert [i for i, _ in entries(alone, q)][: len(listed)] == listed  # weft's items follow
    assert_votes(index.vote(queries, 30), voted(queries, rankers, index.vote_list(queries, 30), exhaustive=[True]))


def test_no_vote_is_negative():
    rankers, queries = texts(8, 200 if JIT else 30, 3)
    index = WeftIndex.build(rankers, symmetric=[True] * 3)
    assert (index.vote(queries, 600).scores >= 0).all()


def test_an_index_without_neighbors_says_what_to_do():
    rankers, queries = texts(9, 20, 2)
    with pytest.raises(InputError, match="build it with keep_nearest=True"):
        WeftIndex.build(rankers, keep_nearest=False).vote(queries)
    with pytest.raises(InputError, match="neighbors_weight must be from 0 to 100; got -1"):
        WeftIndex.build(rankers).vote(queries, neighbors_weight=-1)
    with pytest.raises(InputError, match="At least one ranker must have a weight above 0"):
        WeftIndex.build(rankers).vote(queries, weights=[0, 0])
