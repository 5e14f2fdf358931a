"""Selection of the best texts: bounds hold, and sorts agree with NumPy, for any distribution of scores."""

import numpy as np
import pytest

from rankloom._kernels.text import postings

RNG = np.random.default_rng(0)
VALUES = {
    "spread": RNG.exponential(size=3000),
    "zeros": np.where(RNG.random(3000) < 0.7, 0.0, RNG.random(3000)),
    "equal": np.full(3000, 2.5),
    "one far above": np.append(RNG.random(2999), 1e9),
    "every 16th larger": np.where(np.arange(3000) % 16 == 0, 10.0, 1.0) + RNG.random(3000),  # the sample misleads
    "huge": RNG.random(3000) * 1e300,
    "tiny": RNG.random(3000) * 1e-300,
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("wanted", [1, 20, 93, 94, 700, 2999])  # from 94 on, a list is long
def test_all_of_the_best_reach_the_floor(name, wanted):
    values, seen = VALUES[name], np.empty(3000, np.int32)
    floor = postings.floor_of(postings.last_of(values, wanted, np.empty(3000)))
    found = seen[: postings.at_least(values, floor, wanted, seen)]
    last = np.sort(values)[-wanted]
    assert floor <= last
    assert np.array_equal(found, np.flatnonzero((values >= floor) & (values > 0)))
    if name == "spread":
        assert len(found) < 1.5 * wanted + 20


@pytest.mark.parametrize("size", [1, 64, 65, 1500])
@pytest.mark.parametrize("spread", [1 << 62, 1 << 20, 3])
def test_keys_are_sorted_largest_first(size, spread):
    keys = RNG.integers(0, spread, size)
    keys[: size // 50] = (1 << 62) - 1  # the others share a bucket, or a few
    expected = np.sort(keys)[::-1].copy()
    postings.sort_keys(keys, size)
    assert np.array_equal(keys, expected)


@pytest.mark.parametrize("damaged", [-2.0, 0.0, np.nan])  # with a union of -2, of nothing
def test_similarities_of_damaged_weights_do_not_lead_out_of_the_arrays(damaged):
    n = 100
    sizes = np.where(np.arange(n) % 2 == 0, 1.0, damaged)
    single, items, bits = np.zeros(1, np.float32), np.empty(n, np.int32), np.empty(n, np.int32)
    keys, seen, common = np.empty(n, np.int64), np.arange(n, dtype=np.int32), np.ones(n)
    query = postings.Query(seen[:0], common[:0], 1.0, -1, -1.0)
    scratch = postings.Scratch(common, common, common, seen, keys, single, single.view(np.int32))
    postings.write_best(n, query, sizes, postings.UNION, scratch, items, bits)
    assert items.tolist() == [*range(0, n, 2), *range(1, n, 2)]
    assert bits.view(np.float32).tolist() == [1.0] * 50 + [0.0] * 50
