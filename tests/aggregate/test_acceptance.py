"""NDCG@10 on 300 digits, against figures of an independent implementation of each method.

Three rankers, the first 10 of each list. Kemeny has a larger tolerance: the figure is from a different search.
"""

import numpy as np
import pytest

import rankloom as rl

PIX, PROJ, HOG = "pix", "proj", "hog"
#: Of all three, pix + proj, and pix + hog.
TABLE = """
combsum   0.8571 0.8616 0.8535
combmed   0.8571 0.8616 0.8535
combmnz   0.8640 0.8633 0.8562
combmax   0.8511 0.8596 0.8523
combanz   0.8388 0.8571 0.8481
combmin   0.8046 0.8502 0.8328
rlsim     0.7440 0.8325 0.8102
borda     0.8591 0.8672 0.8483
rrf       0.8663 0.8671 0.8504
mra       0.8656 0.8662 0.8501
condorcet 0.8430 0.8634 0.8462
kemeny    0.8138 0.8521 0.8310
"""
FIGURES = {name: tuple(map(float, values)) for name, *values in map(str.split, TABLE.strip().splitlines())}
RANKERS = [(PIX, PROJ, HOG), (PIX, PROJ), (PIX, HOG)]
CASES = [(names, method, figure) for method, row in FIGURES.items() for names, figure in zip(RANKERS, row, strict=True)]


@pytest.fixture(scope="module")
def digits(shared):
    with np.load(shared / "golden" / "udlf" / "inputs" / "digits300" / "inputs.npz") as given:
        lists = {name: given[f"{name}_rk"].astype(np.int32) for name in (PIX, PROJ, HOG)}
        ranks = {
            name: rl.Ranks(items, -np.take_along_axis(given[f"{name}_dist"], items, axis=1))
            for name, items in lists.items()
        }
        return ranks, given["labels"]


def ndcg(digits, names, method, **options):
    ranks, labels = digits
    fused = rl.fuse([ranks[name] for name in names], method, 10, depth=10, **options)
    return rl.evaluate(fused, labels=labels, measures=["ndcg@10"])["ndcg@10"]


@pytest.mark.parametrize(("names", "method", "expected"), CASES)
def test_figures_of_fusions(digits, names, method, expected):
    tolerance = 0.003 if method == "kemeny" else 0.0005
    assert ndcg(digits, names, method) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize(
    ("method", "expected", "tolerance"), [("condorcet", 0.8635, 0.0005), ("kemeny", 0.8663, 0.003)]
)
def test_absent_items_last(digits, method, expected, tolerance):
    assert ndcg(digits, (PIX, PROJ, HOG), method, absent="last") == pytest.approx(expected, abs=tolerance)


def test_figures_of_single_rankers(digits):
    ranks, labels = digits
    got = [rl.evaluate(ranks[name], labels=labels, measures=["ndcg@10"])["ndcg@10"] for name in (PIX, PROJ, HOG)]
    assert got == pytest.approx([0.8859, 0.8258, 0.7513], abs=0.0005)
