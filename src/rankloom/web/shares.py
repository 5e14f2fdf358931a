"""Which ranker contributed what to a score: the parts of an explanation, split by ranker and grouped by neighbor."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rankloom.fusion_graph.weave import rescaled_steps
from rankloom.index import Explanation, Part

ALL = "all rankers"  # the share of what comes from all rankers together

#: Name of a ranker -> its contribution.
Shares = dict[str, float]
#: Name of a ranker -> the vertices of a fusion graph that it lists, best first.
VertexLists = Mapping[str, Sequence[int]]


class Flow(NamedTuple):
    """What a score is made of: votes of rankers that list the item, and neighbors shared with the query.

    The neighbors are in descending order of what they contribute; equal ones by number.
    """

    direct: Shares
    neighbors: list[tuple[int, Shares]]

    def by_ranker(self) -> Shares:
        """Return the sum of all contributions of each ranker."""
        return summed([self.direct, *(shares for _, shares in self.neighbors)])


def part_shares(why: Explanation) -> list[Shares]:
    """Return the shares of each part of an explanation by weft or vote: all of it is the part's own ranker's."""
    return [{part.ranker or ALL: part.contribution} for part in why.parts]


def graph_shares(why: Explanation, query: VertexLists, item: VertexLists) -> list[Shares]:
    r"""Return the shares of each vertex and edge that two fusion graphs have in common.

    A part contributes the smaller of its weights, so the lists of that graph decide. The weight of a vertex A is a sum
    over rankers (Eq. 2), and so is the factor of an edge A -> B that depends on the graph (Eq. 3):

    .. math:: W[q, A] = \sum_r s_r(q, A), \qquad P[q, A] = \sum_r 1 / p_r(q, A)

    Examples
    --------
    >>> parts = (Part("vertex", 7, 7, "", 0.5, 1.0, 0.3), Part("edge", 7, 8, "", 0.5, 1.0, 0.3))
    >>> why = Explanation("q", "a", "wgu", 0.6, parts)
    >>> split = graph_shares(why, {"bic": [7], "gch": [6, 8, 7]}, {})
    >>> [{name: round(share, 3) for name, share in part.items()} for part in split]
    [{'bic': 0.273, 'gch': 0.027}, {'bic': 0.225, 'gch': 0.075}]
    """
    weights = {"query": _weights(query), "item": _weights(item)}
    return [_split(part, weights["query" if part.query_weight <= part.item_weight else "item"]) for part in why.parts]


def flow(why: Explanation, shares: Iterable[Shares]) -> Flow:
    """Group shares by the vertex they come from: an edge counts for its source, a vote for the item itself."""
    direct: list[Shares] = []
    through: dict[int, list[Shares]] = defaultdict(list)
    for part, share in zip(why.parts, shares, strict=True):
        (direct if part.kind == "vote" else through[part.source]).append(share)
    neighbors = [(number, summed(some)) for number, some in through.items()]
    return Flow(summed(direct), sorted(neighbors, key=lambda neighbor: (-sum(neighbor[1].values()), neighbor[0])))


def summed(shares: Iterable[Shares]) -> Shares:
    """Return the sum of some shares, ranker by ranker."""
    total: Shares = defaultdict(float)
    for by_ranker in shares:
        for name, share in by_ranker.items():
            total[name] += share
    return dict(total)


def _weights(lists: VertexLists) -> dict[str, dict[int, Shares]]:
    """Return what each ranker adds to the weight of each vertex, and of the edges that start there."""
    vertices: dict[int, Shares] = defaultdict(dict)
    edges: dict[int, Shares] = defaultdict(dict)
    for name, numbers in lists.items():
        for at, (number, score) in enumerate(zip(numbers, rescaled_steps(len(numbers))[-1].tolist(), strict=True)):
            vertices[number][name], edges[number][name] = score, 1 / (at + 1)
    return {"vertex": vertices, "edge": edges}


def _split(part: Part, weights: Mapping[str, Mapping[int, Shares]]) -> Shares:
    own = weights[part.kind].get(part.source)
    if not own:
        return {ALL: part.contribution}
    whole = sum(own.values())
    return {name: part.contribution * weight / whole for name, weight in own.items()}
