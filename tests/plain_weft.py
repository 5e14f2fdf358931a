"""weft, slow and plain: dicts and loops, written from its specification, sharing no code with rankloom.

A ranker is a list of lists: ranker[i] is item i's list, best first, items by number. A row is a dict {item: weight}.
"""

from math import log

import numpy as np

UNIT = 32768  # weights are stored as multiples of 1 / UNIT
SHARPNESS = 20  # c of the score
Lists = list[list[int]]
Row = dict[int, float]


def eq1(ranked: list[int], reciprocal: list[int]) -> list[int]:
    """Equation 1: sort by p + p' + max(p, p'), ties in the order given."""
    pairs = [(p, reciprocal[p - 1]) for p in range(1, len(ranked) + 1)]
    delta = [p + back + max(p, back) for p, back in pairs]
    return [ranked[x] for x in sorted(range(len(ranked)), key=lambda x: delta[x])]


def item_lists(ranker: Lists, cutoff: int, depth: int = 1000, absent: str = "first") -> Lists:
    """Step 1: each list repositioned, the item itself first, cut; `absent` as in Equation 1 of fusion graphs."""
    lists = [ranked[:depth] for ranked in ranker]
    lengths = [len(ranked) for ranked in lists]
    if absent == "last":
        lengths = [length or max(lengths) for length in lengths]
    found = []
    for i, ranked in enumerate(lists):
        back = [lists[j].index(i) + 1 if i in lists[j] else lengths[j] + 1 for j in ranked]
        others = [j for j in eq1(ranked, back) if j != i]
        found.append([i, *others][:cutoff])
    return found


def query_list(ranked, cutoff, scores=None, own_scores=None):
    """Return the list of an external query; `own_scores`, of each item's list, give it virtual positions."""
    if own_scores is not None:
        ranked = eq1(ranked, [1 + sum(s > mine for s in own_scores[j]) for j, mine in zip(ranked, scores, strict=True)])
    return ranked[:cutoff]


def weighed(ranked: list[int], cutoff: int) -> Row:
    """g(p) = 1 - ln p / ln(L + 1)."""
    return {item: 1 - log(p) / log(cutoff + 1) for p, item in enumerate(ranked, 1)}


def fused(rows: list[Row], weights: list[float]) -> Row:
    """Step 3: m times the weighted sum of the rankers' rows; a weight of 0 means no entry."""
    total: Row = {}
    for row, weight in zip(rows, weights, strict=True):
        for item, value in row.items():
            total[item] = total.get(item, 0.0) + len(rows) * weight * value
    return {item: value for item, value in total.items() if value > 0}


def largest(row: Row, count: int | None, own: int | None) -> Row:
    """Return the largest entries; among equals the item itself comes first, then the smaller number."""
    order = sorted(row, key=lambda item: (-round(row[item], 9), item != own, item))
    return {item: row[item] for item in order[:count]}


def expanded(row: Row, rows: list[Row], expand: int, self_weight: float, own: int | None) -> Row:
    """Steps 2 and 6: the row itself and the rows of its largest other entries, averaged by weight."""
    neighbors = largest({item: weight for item, weight in row.items() if item != own}, expand - 1, own)
    total = {item: self_weight * weight for item, weight in row.items()}
    for neighbor, weight in neighbors.items():
        for item, value in rows[neighbor].items():
            total[item] = total.get(item, 0.0) + weight * value
    divisor = self_weight + sum(neighbors.values())
    return {item: value / divisor for item, value in total.items()}


class PlainWeft:
    """The m + 1 fields of every item: the fused one first; `single` are weights of the others at search time."""

    def __init__(self, rankers, cutoff=20, expand=8, weights=None, width=None, depth=1000, absent="first", single=None):
        self.m, self.cutoff, self.expand, self.width = len(rankers), cutoff, expand, width
        self.lists = [item_lists(ranker, cutoff, depth, absent) for ranker in rankers]
        if weights == "agreement":
            weights = agreement(rankers, depth, absent)
        weights = weights or heard(rankers)
        self.weights = [w / sum(weights) for w in weights]
        own = [w * s for w, s in zip(self.weights, single or [1] * self.m, strict=True)]
        self.single = [w / sum(own) for w in own] if sum(own) > 0 else self.weights
        rows = [[weighed(ranked, cutoff) for ranked in ranker] for ranker in self.lists]
        self.rows = [[fused(list(own), self.weights) for own in zip(*rows, strict=True)], *rows]
        self.items = [self.fields([field[i] for field in self.rows], i) for i in range(len(rankers[0]))]

    def fields(self, own_rows: list[Row], own: int | None) -> list[Row]:
        """Expand the m + 1 rows of one query and keep the `width` largest entries of each, rounded to units."""
        found = []
        for f, row in enumerate(own_rows):
            scale = self.m if f == 0 else 1  # the largest weight in the field
            cut = largest(expanded(row, self.rows[f], self.expand, scale, own), self.width, own)
            units = {item: round(weight / scale * UNIT) for item, weight in cut.items()}
            found.append({item: weight for item, weight in units.items() if weight > 0})
        return found

    def score(self, a: list[Row], b: list[Row]) -> float:
        """Step 4, rounded to float32."""
        terms = [log(1 + SHARPNESS * jaccard(x, y)) for x, y in zip(a, b, strict=True)]
        weighted = terms[0] + sum(w * term for w, term in zip(self.single, terms[1:], strict=True))
        return float(np.float32(weighted / (2 * log(1 + SHARPNESS))))

    def parts(self, a: list[Row], b: list[Row]) -> dict[tuple[int, int], float]:
        """Return the score as {(field, shared item): part}; the smaller weights divide a field's term."""
        found = {}
        for f, (x, y) in enumerate(zip(a, b, strict=True)):
            common = {item: min(x[item], y[item]) for item in x if item in y}
            total, weight = sum(common.values()), 1 if f == 0 else self.single[f - 1]
            for item, value in common.items():
                term = weight * log(1 + SHARPNESS * jaccard(x, y)) / (2 * log(1 + SHARPNESS))
                found[f, item] = term * value / total
        return found

    def search(self, query: list[Row]) -> dict[int, float]:
        """Return {item: score} of all items that share anything with a query."""
        scores = {i: self.score(query, fields) for i, fields in enumerate(self.items)}
        return {i: score for i, score in scores.items() if score > 0}

    def search_item(self, i: int) -> dict[int, float]:
        return self.search(self.items[i])

    def search_lists(self, lists: Lists) -> dict[int, float]:
        """Search with the lists of an external query, one for each ranker, as `query_list` returns them."""
        rows = [weighed(ranked, self.cutoff) for ranked in lists]
        return self.search(self.fields([fused(rows, self.weights), *rows], None))


def heard(rankers: list[Lists]) -> list[float]:
    """Return 1 for each ranker that has a list for anything, 0 for the others; 1 for all if none has."""
    found = [float(any(ranker)) for ranker in rankers]
    return found if sum(found) else [1.0] * len(rankers)


def jaccard(x: Row, y: Row) -> float:
    common = sum(min(weight, y[item]) for item, weight in x.items() if item in y)
    return common / (sum(x.values()) + sum(y.values()) - common) if common else 0.0


def ordered(scores: dict[int, float], k: int | None = None, own: int | None = None) -> list[int]:
    """Best first; among equals the query itself, then the smaller number."""
    return sorted(scores, key=lambda item: (-scores[item], item != own, item))[:k]


def agreement(rankers: list[Lists], depth: int = 1000, absent: str = "first") -> list[float]:
    """Step 5: the weight of each ranker, by its agreement with the fusion and its disagreement with the others."""
    lists = [item_lists(ranker, 10, depth, absent) for ranker in rankers]
    u = [1 / sum(1.0 if r is s else mean_rbo(r, s) for s in lists) for r in lists]
    u = [u_r * heard_r for u_r, heard_r in zip(u, heard(rankers), strict=True)]
    weft = PlainWeft(rankers, cutoff=10, expand=4, weights=u, depth=depth, absent=absent)
    best = [ordered(weft.search_item(i), 10, own=i) for i in range(len(rankers[0]))]
    w = [u_r * mean_rbo(r, best) ** 2 for u_r, r in zip(u, lists, strict=True)]
    return [w_r / sum(w) for w_r in w]


def mean_rbo(a: Lists, b: Lists) -> float:
    return sum(rbo(x, y) for x, y in zip(a, b, strict=True)) / len(a)


def rbo(x: list[int], y: list[int], p: float = 0.9, places: int = 10) -> float:
    """Rank-biased overlap of the first ten positions, 1 for equal lists."""
    tail = [sum(p ** (d - 1) / d for d in range(k, places + 1)) for k in range(1, places + 1)]
    shared = [max(place, y.index(item)) for place, item in enumerate(x[:places]) if item in y[:places]]
    return (1 - p) / (1 - p**places) * sum(tail[place] for place in shared)
