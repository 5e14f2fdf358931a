"""Agreement of label-free effectiveness estimates with the true ranking of rankers on scikit-learn's digits.

Prints the table of docs/evaluation.md:

python benchmarks/estimates.py
"""

import sys

import numpy as np
from digits import directions
from sklearn.datasets import load_digits

import rankloom as rl
from rankloom.evaluation import ESTIMATES, correlations, estimate
from rankloom.evaluation.selection import agreement, select

NEIGHBORS = (5, 10, 20, 50)


def rankers(first=None):
    """Return seven rankers of very different effectiveness, of the first digits or of all."""
    images = load_digits().images[:first] / 16
    flat = images.reshape(len(images), -1)
    cells = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(len(images), -1)
    rows, columns = images.sum(axis=2), images.sum(axis=1)
    features = {
        "pixels (l2)": (flat, "l2"),
        "pixels (l1)": (flat, "l1"),
        "means of 4 x 4 cells (l2)": (cells, "l2"),
        "directions of strokes (l2)": (directions(images), "l2"),
        "row and column sums (l1)": (np.hstack([rows, columns]), "l1"),
        "column sums (l1)": (columns, "l1"),
        "row sums (l1)": (rows, "l1"),
    }
    return {name: rl.Ranks.from_vectors(vectors, metric, depth=100) for name, (vectors, metric) in features.items()}


def main(first=None):
    """Print the true and the estimated effectiveness, their agreement, and the rankers selected, as Markdown."""
    ranks, labels = rankers(first), load_digits().target[:first]
    true = {name: rl.evaluate(one, labels=labels, measures="ndcg@10")["ndcg@10"] for name, one in ranks.items()}
    estimates = {kind: {name: estimate(one, kind=kind) for name, one in ranks.items()} for kind in ESTIMATES}
    print("| ranker | NDCG@10 |", " | ".join(estimates), "|")
    print("|---|---|" + "---|" * len(estimates))
    for name in sorted(ranks, key=lambda name: -true[name]):
        print(f"| {name} | {true[name]:.4f} |", " | ".join(f"{values[name]:.4f}" for values in estimates.values()), "|")
    print("\n| effectiveness by | neighbors | Spearman | Kendall | `best(2)` | FG of it | `pair` | FG of it |")
    print("|---|---|---|---|---|---|---|---|")
    selections = Selections(ranks, labels)
    print("| labels (NDCG@10) | | | |", selections.cells(true))
    for kind in ESTIMATES:
        for neighbors in NEIGHBORS:
            values = {name: estimate(one, kind=kind, neighbors=neighbors) for name, one in ranks.items()}
            agreed = (f"{agreement(values, true, kind=how):.3f}" for how in ("spearman", "kendall"))
            print(f"| {kind} | {neighbors} |", " | ".join(agreed), "|", selections.cells(values))


class Selections:
    """Rankers selected by effectiveness values, and the effectiveness of their fusion."""

    def __init__(self, ranks, labels):
        self.ranks, self.labels = ranks, labels
        self.table = correlations(list(ranks.values()))

    def cells(self, values):
        """Return two selections and the NDCG@10 of their fusion graphs, as table cells."""
        names = [select(values, self.table, kind=kind) for kind in ("best(2)", "pair")]
        return " | ".join(f"{' + '.join(both)} | {self.fused(both):.4f}" for both in names) + " |"

    def fused(self, names):
        """Return the NDCG@10 of fusing some rankers with fusion graphs."""
        fused = rl.fuse([self.ranks[name] for name in names], method="fg", k=10)
        return rl.evaluate(fused, labels=self.labels, measures="ndcg@10")["ndcg@10"]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
