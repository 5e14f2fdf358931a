import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from rankloom.aggregate.learned.tuning.bayes import Process, bayes, expected_improvement
from rankloom.aggregate.learned.tuning.space import Choices, Simplex, Space


def test_the_process_passes_through_the_scores():
    points = np.linspace(0, 1, 6)[:, None]
    scores = np.sin(5 * points[:, 0])
    mean, deviation = Process.fit(points, scores).predict(points)
    assert mean == pytest.approx(scores, abs=0.01)
    assert deviation == pytest.approx(np.zeros(6), abs=0.02)


def test_the_process_is_that_of_scikit_learn():
    gaussian = pytest.importorskip("sklearn.gaussian_process")
    rng = np.random.default_rng(0)
    points, scores, new = rng.random((12, 3)), rng.normal(size=12), rng.random((5, 3))
    ours = Process.fit(points, scores)
    kernel = gaussian.kernels.Matern(length_scale=ours.length, nu=2.5)
    theirs = gaussian.GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=None).fit(points, scores)
    mean, deviation = theirs.predict(new, return_std=True)
    assert ours.predict(new)[0] == pytest.approx(mean)
    assert ours.predict(new)[1] == pytest.approx(deviation)
    expected = theirs.log_marginal_likelihood_value_ + 6 * np.log(2 * np.pi)
    assert ours.likelihood == pytest.approx(expected)


@pytest.mark.parametrize(("mean", "deviation"), [(0.3, 0.5), (-0.4, 0.2), (1.5, 0.1)])
def test_expected_improvement_is_an_integral(mean, deviation):
    above = quad(lambda s: (s - 0.2) * norm.pdf(s, mean, deviation), 0.2, 3)[0]
    assert expected_improvement(np.array([mean]), np.array([deviation]), 0.2)[0] == pytest.approx(above, abs=1e-7)


def search(space, trials, seed, score):
    tried = []

    def record(point):
        tried.append(point)
        return score(point)

    for _ in bayes(space, trials, seed, record):
        pass
    return tried


def test_no_point_is_tried_twice_and_a_small_space_is_exhausted():
    space = Space({"x": Choices(tuple(range(20)))})
    tried = search(space, 50, 0, lambda point: -((point["x"] - 13) ** 2))
    assert sorted(point["x"] for point in tried) == list(range(20))


def test_the_search_is_better_than_chance():
    """Weights of five rankers, 40 trials: closer to the target than random ones in the median of seven seeds."""
    target = np.array([0.5, 0.2, 0.1, 0.15, 0.05])
    space = Space({"weights": Simplex(5, 10)})

    def score(point):
        return -float(((np.array(point["weights"]) - target) ** 2).sum())

    found, chance = [], []
    for seed in range(7):
        found.append(max(map(score, search(space, 40, seed, score))))
        random = np.random.default_rng(seed)
        chance.append(max(score(space.draw(random)) for _ in range(40)))
    assert np.median(found) > np.median(chance) / 4  # both are negative


def test_the_same_seed_tries_the_same_points():
    space = Space({"weights": Simplex(3, 10), "constant": Choices(tuple(range(100)))})
    one, other = (search(space, 15, 3, lambda point: point["constant"]) for _ in range(2))
    assert one == other
