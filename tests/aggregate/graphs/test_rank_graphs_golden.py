"""Identical results to the authors' programs; tests/golden/udlf/README.md has the provenance."""

from pathlib import Path

import numpy as np
import pytest

import rankloom as rl

HERE = Path(__file__).parents[2] / "golden" / "udlf"
RANKERS = ("pix", "hog", "proj")


@pytest.fixture(scope="module")
def small():
    """Return the head of every sixth answer for one ranker, and the lists of that ranker, recomputed."""
    from sklearn.datasets import load_digits

    golden = dict(np.load(HERE / "pix300.npz"))
    return golden, rl.Ranks.from_vectors(load_digits().data[golden["orig_index"]], "l2", 300)


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "golden" / "udlf"


def lists(folder, name, rankers=RANKERS):
    given = np.load(folder / "inputs" / name / "inputs.npz")
    return [rl.Ranks(given[f"{r}_rk"].astype(np.int32), n_items=len(given["labels"])) for r in rankers]


def by_distance(folder, rankers=RANKERS):
    """Return lists with negated distances as scores; ties in the order of the golden lists."""
    given = np.load(folder / "inputs" / "digits300" / "inputs.npz")
    made = []
    for r in rankers:
        items = given[f"{r}_rk"].astype(np.int32)
        made.append(rl.Ranks(items, -np.take_along_axis(given[f"{r}_dist"], items, 1), n_items=len(items)))
    return made


def test_rkgraph_head_matches_the_program(small):
    golden, pix = small
    np.testing.assert_array_equal(rl.fuse([pix], "rkgraph", depth=100).items[::6], golden["rkgraph"])


@pytest.mark.parametrize("iterations", [1, 2])
def test_recknngraphccs_head_matches_the_program(small, iterations):
    golden, pix = small
    out = rl.fuse([pix], "recknngraphccs", iterations=iterations, backward_from=0)
    np.testing.assert_array_equal(out.items[::6], golden[f"recknngraphccs_{iterations}"])


def test_corgraph_head_matches_the_program(small):
    golden, pix = small
    out = rl.fuse([pix], "corgraph").rows(slice(None, None, 6))
    np.testing.assert_allclose(1 / (1 + out.scores.astype(np.float64)), golden["corgraph_distance"], rtol=1e-6)
    assert [set(row) for row in out.items.tolist()] == [set(row) for row in golden["corgraph"].tolist()]


#: Options of the program's runs, and the file each is in.
UDLF = {
    "cprr": ("cprr", {"depth": 200}),
    "lhrr": ("lhrr", {"depth": 300}),
    "bfstree": ("bfstree", {"depth": 300}),
    "rdpac": ("rdpac", {"depth": 100}),
    "rlsim_udl": ("rlsim", {"depth": 150}),
    "recknngraph": ("recknngraph", {}),
}
#: Options of the runs of what was written down from the program's source, without the program itself.
TRANSCRIBED = {"contextrr": {}, "rlrecom": {"depth": 300}, "rfe": {"depth": 300}}


@pytest.mark.parametrize("method", UDLF)
def test_udlf_head_matches_the_program(small, method):
    golden, pix = small
    name, options = UDLF[method]
    np.testing.assert_array_equal(rl.fuse([pix], method, **options).items[::6], golden[name])


@pytest.mark.parametrize("method", TRANSCRIBED)
def test_udlf_head_matches_a_transcript_of_the_program(small, method):
    golden, pix = small
    np.testing.assert_array_equal(rl.fuse([pix], method, **TRANSCRIBED[method]).items[::6], golden[method])


def test_contextrr_of_three_rankers_matches_a_transcript_of_the_program(small, folder):
    golden, _ = small
    np.testing.assert_array_equal(rl.fuse(lists(folder, "digits300"), "contextrr").items[::6], golden["contextrr_all3"])


@pytest.mark.parametrize("ranker", [*RANKERS, "all3"])
@pytest.mark.parametrize("method", UDLF)
def test_udlf_matches_the_program(folder, method, ranker):
    """In every cell; for bfstree, whose program adds up in float32, in all but two of 90,000 cells of one ranker."""
    name, options = UDLF[method]
    task, rankers = ("fusion", RANKERS) if ranker == "all3" else ("udl", [ranker])
    if method == "bfstree" and ranker == "all3":
        pytest.skip("the program does not fuse rankers here")
    golden = np.load(folder / name / f"digits300.{task}.{ranker}.rk.npz")
    out = rl.fuse(lists(folder, "digits300", rankers), method, 300, **options)
    assert out.items.shape == golden["rk"].shape
    assert np.count_nonzero(out.items != golden["rk"]) <= (2 if method == "bfstree" else 0)
    if method != "lhrr":  # whose scores are cut where items are not sorted by them
        matrix = np.take_along_axis(golden["matrix"], golden["rk"].astype(int), 1)
        sign = -1 if method in ("rlsim_udl", "recknngraph") else 1
        np.testing.assert_allclose(out.scores, sign * np.sort(matrix, axis=1)[:, ::-sign], rtol=1e-5)


@pytest.mark.parametrize("case", ["udl.hog", "fusion.all3"])
def test_rlsim_of_distances_matches_the_program(folder, case):
    golden = np.load(folder / "rlsim" / f"digits300.{case}.matrix.npz")
    ranks = by_distance(folder, RANKERS if case.startswith("fusion") else ["hog"])
    out = rl.fuse(ranks, "rlsim_udl", 300, depth=150, distances="scores")
    np.testing.assert_array_equal(out.items, golden["rk"])


@pytest.mark.parametrize("ranker", RANKERS)
def test_rkgraph_of_one_ranker_matches_the_program(folder, ranker):
    golden = np.load(folder / "rkgraph" / f"digits300.udl.{ranker}.rk.npz")
    out = rl.fuse(lists(folder, "digits300", [ranker]), "rkgraph", 100, depth=100)
    np.testing.assert_array_equal(out.items, golden["rk"])
    np.testing.assert_allclose(1 / out.scores, np.take_along_axis(golden["matrix"], out.items, 1), rtol=1e-6)


def test_rkgraph_of_three_rankers_matches_the_program(folder):
    golden = np.load(folder / "rkgraph" / "digits300.fusion.all3.rk.npz")
    out = rl.fuse(lists(folder, "digits300"), "rkgraph", 100, depth=100, pool="last")
    np.testing.assert_array_equal(out.items, golden["rk"])
    np.testing.assert_allclose(1 / out.scores, np.take_along_axis(golden["matrix"], out.items, 1), rtol=1e-6)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("iterations", [1, 2])
def test_recknngraphccs_matches_the_program(folder, ranker, iterations):
    golden = np.load(folder / "recknngraphccs" / f"digits300.udl.{ranker}.k15.L60.T{iterations}.npz")
    ranks = lists(folder, "digits300", [ranker])
    out = rl.fuse(ranks, "recknngraphccs", 300, iterations=iterations, backward_from=0)
    np.testing.assert_array_equal(out.items, golden["rk"])
    np.testing.assert_allclose(1 / out.scores, golden["dist_at_rk"], rtol=1e-6)


@pytest.mark.parametrize(
    ("case", "distances"),
    [
        *((f"udl.{ranker}.rk", "positions") for ranker in RANKERS),
        ("udl.hog.matrix", "scores"),
        ("fusion.all3.rk", "positions"),
        ("fusion.all3.matrix", "scores"),
    ],
)
def test_corgraph_matches_the_program(folder, case, distances):
    """By value: the distance of each of our answers is the program's, for the item and for the position."""
    golden = np.load(folder / "corgraph" / f"digits300.{case}.npz")
    name = case.split(".")[1]
    rankers = RANKERS if name == "all3" else [name]
    ranks = lists(folder, "digits300", rankers) if distances == "positions" else by_distance(folder, rankers)
    out = rl.fuse(ranks, "corgraph", 200, distances=distances, exponent="numbers")
    ours = 1 / (1 + out.scores.astype(np.float64))
    np.testing.assert_allclose(ours, np.take_along_axis(golden["matrix"], out.items, 1), rtol=1e-6)
    np.testing.assert_allclose(ours, np.sort(golden["matrix"], axis=1)[:, :200], rtol=1e-6)
    shared_items = [len(set(a) & set(b)) for a, b in zip(out.items[:, :10], golden["rk"][:, :10], strict=True)]
    assert np.mean(shared_items) / 10 > 0.996


@pytest.mark.parametrize(
    ("name", "method", "options", "ndcg"),
    [
        ("digits300", "rkgraph", {"depth": 100, "pool": "last"}, 0.9178),
        ("digits1797", "rkgraph", {"pool": "last"}, 0.9839),
        ("digits300", "corgraph", {"exponent": "numbers"}, 0.9053),
        ("digits300", "recknngraphccs", {"backward_from": 0}, 0.9007),
        ("digits1797", "recknngraphccs", {}, 0.9773),
        ("digits1797", "recknngraphccs", {"fusion": "sum"}, 0.9693),
        ("digits300", "cprr", {"depth": 200}, 0.9092),
        ("digits1797", "cprr", {}, 0.9812),
        ("digits300", "lhrr", {"depth": 300}, 0.9160),
        ("digits300", "rdpac", {"depth": 100}, 0.9188),
        pytest.param("digits1797", "rdpac", {}, 0.9789, marks=pytest.mark.long),
        ("digits300", "rlsim_udl", {"depth": 150}, 0.9037),
        ("digits300", "recknngraph", {}, 0.9031),
        ("digits1797", "recknngraph", {}, 0.9786),
    ],
)
def test_ndcg_of_fused_digits_matches_the_program(folder, name, method, options, ndcg):
    labels = np.load(folder / "inputs" / name / "inputs.npz")["labels"]
    out = rl.fuse(lists(folder, name), method, **options)
    assert rl.evaluate(out, labels=labels, measures=["ndcg@10"])["ndcg@10"] == pytest.approx(ndcg, abs=5e-5)
