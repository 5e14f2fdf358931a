"""Runs for the commands: of a collection's own items, of external queries, and of items with judgments."""

from pathlib import Path

import numpy as np
import pytest

import rankloom as rl

POINTS = np.random.default_rng(7).normal(size=(30, 4))
IDS = rl.Ids(f"d{i}" for i in range(len(POINTS)))
#: Two rankers: the columns that each one sees, and its metric.
RANKERS = {"a": (slice(0, 2), "l2"), "b": (slice(2, 4), "l1")}


def write_runs(folder, suffix, query_points, query_ids):
    paths = []
    for name, (columns, metric) in RANKERS.items():
        queries = None if query_points is None else query_points[:, columns]
        ranks = rl.Ranks.from_vectors(
            POINTS[:, columns], metric, depth=20, queries=queries, item_ids=IDS, query_ids=query_ids
        )
        paths.append(folder / f"{name}{suffix}.run")
        rl.write_run(ranks, paths[-1])
    return paths


@pytest.fixture
def item_runs(tmp_path):
    """Two runs with every item of a collection as a query."""
    return write_runs(tmp_path, "-items", None, IDS)


@pytest.fixture
def query_runs(tmp_path):
    """Two runs of external queries."""
    return write_runs(tmp_path, "", POINTS[:3] + 0.01, rl.Ids(["q0", "q1", "q2"]))


@pytest.fixture
def index(item_runs, tmp_path):
    """An index of `item_runs` on disk."""
    path = tmp_path / "shop.loom"
    rl.FusionIndex.build([rl.read_run(run) for run in item_runs]).save(path)
    return path


class JudgedRuns:
    """Runs of 60 items in 6 classes, by a good, a fair and a poor ranker, with judgments and labels."""

    LABELS = np.repeat(np.arange(6), 10)
    IDS = rl.Ids(f"d{i:02d}" for i in range(60))

    def __init__(self, folder):
        self.folder: Path = folder
        self.qrels, self.labels = folder / "qrels", folder / "labels.tsv"
        rng = np.random.default_rng(5)
        centers = rng.normal(size=(6, 5))
        for name, noise in (("good", 0.4), ("fair", 0.8), ("poor", 3.0)):
            vectors = centers[self.LABELS] + noise * rng.normal(size=(60, 5))
            ranks = rl.Ranks.from_vectors(vectors, "l2", item_ids=self.IDS, query_ids=self.IDS)
            rl.write_run(ranks, self.path(name))
        pairs = list(zip(self.IDS, self.LABELS, strict=True))
        self.labels.write_text("".join(f"{item}\t{label}\n" for item, label in pairs))
        self.qrels.write_text("".join(f"{q} 0 {d} 1\n" for q, own in pairs for d, label in pairs if own == label))

    def path(self, name):
        return self.folder / f"{name}.run"

    def paths(self, *names):
        return [self.path(name) for name in names]

    def values(self, name):
        """NDCG@10 of each query of a run."""
        return rl.evaluate(rl.read_run(self.path(name)), qrels=self.qrels, per_query=True)["ndcg@10"]


@pytest.fixture
def judged(tmp_path):
    return JudgedRuns(tmp_path)


@pytest.fixture
def spec(tmp_path):
    """The specification of a small experiment."""
    path = tmp_path / "spec.toml"
    path.write_text(
        """
name = "small"
collection = "digits(first=60)"
methods = ["fg", "rrf"]
cutoffs = [2, 10]
repeats = 1
[rankers]
pixels = "vectors(part=pixels, metric=l2)"
sums = "vectors(part=sums, metric=l1)"
"""
    )
    return path
