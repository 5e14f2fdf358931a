"""Prints a digest of what each method, ranker and index gives; run with RANKLOOM_KERNELS, it must not depend on it."""

import hashlib
import sys
from contextlib import suppress

import numpy as np
from collections_on_disk import external, random_collection
from sample_texts import documents, encode

import rankloom as rl
from rankloom._kernels import jit
from rankloom.errors import InputError
from rankloom.methods import METHODS
from rankloom.rankers import RANKERS
from rankloom.rankers.contract import sample_items
from rankloom.rankers.image import shape


def show(name, *ranks):
    """Print the digest of some ranks."""
    digest = hashlib.sha256()
    for one in ranks:
        digest.update(one.items.tobytes())
        digest.update(b"" if one.scores is None else one.scores.tobytes())
    sys.stdout.write(f"{name} {digest.hexdigest()[:16]}\n")


def methods():
    """Show each method, with and without scores."""
    points = np.random.default_rng(0).random((3, 24, 2))
    scored = [rl.Ranks.from_vectors(part, depth=12) for part in points]
    plain = [ranks.replaced(scores=None) for ranks in random_collection(5, 20)]
    for name in sorted(METHODS):
        show(name, rl.fuse(scored, name, k=12))
        with suppress(InputError):  # some need scores
            show(f"{name} without scores", rl.fuse(plain, name, k=5))


def rankers():
    """Show each ranker that needs no file."""
    shape.N_POINTS = 12  # alignments of 100 points take minutes if they are interpreted
    for name in sorted({*RANKERS} - {"file", "matrix"}):
        fitted = RANKERS[name]().fit(sample_items(RANKERS[name]().part))
        show(name, fitted.rank(depth=8), fitted.rank(queries=sample_items(RANKERS[name]().part)[:2], depth=5))


def indexes():
    """Show indexes, and a searcher."""
    for kind, options in ((rl.FusionIndex, {}), (rl.FusionIndex, {"graph_norm": "minmax"}), (rl.WeftIndex, {})):
        for seed in range(4):
            ranks = random_collection(seed, 40)
            index = kind.build(ranks, comparable=[r.scores is not None for r in ranks], **options)
            show(f"{kind.__name__} {options} {seed}", index.search(k=9), index.search(external(ranks), 9))
    searcher = rl.Searcher.build(documents(40), {"bm25": "okapi", "dense": encode}, depth=20)
    show("searcher", searcher.rank({"a": "heat in a slab", "b": "king and queen"}, 20))


if __name__ == "__main__":
    methods(), rankers(), indexes()
    sys.stderr.write(f"{len(jit.LIBRARY)} compiled kernels\n")
