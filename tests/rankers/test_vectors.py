import numpy as np

import rankloom as rl
from rankloom.rankers import RANKERS, Vectors


def test_vectors_rank_as_ranks_from_vectors_do():
    vectors = np.random.default_rng(1).normal(size=(20, 3))
    fitted = RANKERS["vectors"](part="x", metric="l1").fit(vectors)
    expected = rl.Ranks.from_vectors(vectors, "l1", 5)
    assert (fitted.rank(depth=5).items == expected.items).all()


def test_queries_from_outside_are_ranked():
    fitted = Vectors(metric="l2").fit([[0.0], [5.0], [1.0]])
    assert fitted.rank(queries=[[4.0]], depth=2).items.tolist() == [[1, 2]]
