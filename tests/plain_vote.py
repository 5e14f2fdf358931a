"""Vote in plain loops, as it is specified: slow, and independent of the package."""

from math import sqrt

DEPTH = 300  # of the rankers' lists
FIRST = 100  # entries of a list that mean and deviation are of
LEAK = 0.3  # of what is below the floor
HUB = 20  # neighbors of an item that say how much of a hub it is
MIN_MET, MIN_FOUND = 5, 200  # of weft's list


def entries(ranks, row):
    """Return a list of (item, score), score None without scores."""
    items = [item for item in ranks.items[row].tolist() if item >= 0]
    scores = [None] * len(items) if ranks.scores is None else ranks.scores[row, : len(items)].tolist()
    return list(zip(items, scores, strict=True))


def nearest(ranks):
    """Return the first 20 of each item's list, without the item."""
    return {i: [one for one in entries(ranks, i) if one[0] != i][:20] for i in range(len(ranks))}


def corrected(ranked, near):
    """Lower each score by half the mean score of the item's own neighbors, and sort again."""
    lowered = []
    for item, score in ranked:
        own = [s for other, s in near[item] if other != item][:HUB]
        lowered.append((item, score - 0.5 * sum(own) / len(own) if own else score))
    return sorted(lowered, key=lambda entry: -entry[1])


def standardized(scores, short):
    """Return the z of each score, and that of items not listed."""
    if not scores:
        return [], 0.0
    rest = min(0.0, scores[-1]) if short else scores[-1]
    first = scores[:FIRST]
    if short:
        first = first + [rest] * (FIRST - len(first))
    mean = sum(first) / len(first)
    deviation = sqrt(sum((s - mean) ** 2 for s in first) / len(first))
    if deviation <= 1e-9 * max(abs(s) for s in [*first, 1e-300]):
        return [0.0] * len(scores), 0.0
    return [(s - mean) / deviation for s in scores], (rest - mean) / deviation


def floor_of(z, rest, n):
    """Return the 100th largest z of all items; the smallest if there are fewer."""
    values = sorted([*z, *[rest] * min(n - len(z), FIRST)], reverse=True)
    return values[: min(FIRST, n)][-1] if values else 0.0


def leaky(z, floor):
    return z if z >= floor else floor + LEAK * (z - floor)


def coherence(first, near):
    """Return the share of ordered pairs of the first 10 in which the second is near the first."""
    pairs = [(a, b) for a in first[:10] for b in first[:10] if a != b]
    return sum(b in [i for i, _ in near[a]][:20] for a, b in pairs) / len(pairs) if pairs else 0.0


def autocorrelation(items, z, floor, near):
    """Return how the z of an item correlates with what its neighbors have above the floor."""
    known = dict(zip(items, z, strict=True))
    means = []
    for item in items[:50]:
        own = near[item][:10]
        low, high = (own[-1][1], own[0][1]) if own else (0.0, 0.0)
        weights = [(s - low) / (high - low) if high > low else 0.0 for _, s in own]
        gains = [max(known.get(other, floor) - floor, 0.0) for other, _ in own]
        total = sum(weights)
        means.append(sum(w * g for w, g in zip(weights, gains, strict=True)) / total if total > 0 else 0.0)
    return pearson(z[:50], means)


def pearson(x, y):
    if not x:
        return 0.0
    a, b = sum(x) / len(x), sum(y) / len(y)
    sx, sy = sum((v - a) ** 2 for v in x), sum((v - b) ** 2 for v in y)
    if sx <= 1e-18 or sy <= 1e-18:
        return 0.0
    return sum((v - a) * (w - b) for v, w in zip(x, y, strict=True)) / sqrt(sx * sy)


def ranker_weights(items, z, floors, near):
    """Return the weight of each ranker by how coherent its list is."""
    m = len(items)
    if m == 1:
        return [1.0]
    values = []
    for r in range(m):
        own = range(m)
        ac = [autocorrelation(items[r], z[r], floors[r], near[g]) for g in own]
        c = [coherence(items[r], near[g]) for g in own]
        ac_others = sum(ac[g] for g in own if g != r) / (m - 1)
        c_others = sum(c[g] for g in own if g != r) / (m - 1)
        values.append((ac[r] + ac_others + 2 * c[r] + 2 * c_others) / 4)
    mean = sum(values) / m
    return [1 + min(max(v - mean, -0.6), 0.6) for v in values]


def with_scores(ranked):
    """Return a list with scores by position if it has none."""
    if ranked and ranked[0][1] is None:
        return [(item, 1 - p / len(ranked)) for p, (item, _) in enumerate(ranked)]
    return ranked


def vote(lists, near, weft, n, *, symmetric=None, short=None, weights=None, neighbors_weight=0.35):
    """Return {item: score} of all listed items, each score less that of an item that is in no list.

    `lists` has the (item, score) of each ranker's list of the query, score None without scores; `near[r][item]` those
    of an item's neighbors by ranker r, without the item itself; `weft` those of weft's list; n items are allowed.
    """
    m = len(lists)
    near = [{item: with_scores(own)[:HUB] for item, own in one.items()} for one in near]
    given = [
        corrected(one, near[r]) if symmetric and symmetric[r] and one and one[0][1] is not None else with_scores(one)
        for r, one in enumerate(lists)
    ]
    items = [[item for item, _ in one] for one in given]
    z, rests, floors = [], [], []
    for r, one in enumerate(given):
        own, rest = standardized([score for _, score in one], bool(short and short[r]))
        z.append(own)
        rests.append(rest)
        floors.append(floor_of(own, rest, n))
    w = ranker_weights(items, z, floors, near)
    total = {}
    for r in range(m):
        least = leaky(rests[r], floors[r])
        for item, value in zip(items[r], z[r], strict=True):
            factor = w[r] * (weights[r] if weights else 1.0)
            total[item] = total.get(item, 0.0) + factor * (leaky(value, floors[r]) - least)
    own, rest = standardized([score for _, score in weft], False)
    for (item, _), value in zip(weft, own, strict=True):
        total[item] = total.get(item, 0.0) + neighbors_weight * m * (value - rest)
    return total


def weft_list(met, scores, k):
    """Return weft's list by how many entries of the query's row each allowed item met, and its score."""
    wanted, min_met = (k if k > DEPTH else MIN_FOUND), MIN_MET
    while min_met > 1 and sum(count >= min_met for count in met.values()) < wanted:
        min_met -= 1
    found = [(item, scores[item]) for item, count in met.items() if count >= min_met and scores[item] > 0]
    return sorted(found, key=lambda entry: (-entry[1], entry[0]))[:wanted]
