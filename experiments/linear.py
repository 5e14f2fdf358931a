"""What labels buy: vote with weights of its parts that are learned from other judged queries of the same collection."""

import rankloom as rl
from rankloom.methods import Grid, cross_validate

DEPTH, FOLDS, SEED, STEP = 300, 5, 0, 0.05
METHOD = f"wsum(depth={DEPTH}, normalization=raw)"
NO_WEIGHT = 1e-9  # weights of 0 for all rankers are an error


def learned(queries, lists, measures):
    """Return {measure: value of each judged query}, given the ranked lists of a collection and of its queries."""
    found = cross_validate(
        parts(lists), queries.qrels, METHOD, folds=FOLDS, seed=SEED, search=Grid(step=STEP),
        space={"weights": "simplex"}, missing="empty",
    ).ranks  # fmt: skip
    rows = {id: row for row, id in enumerate(found.query_ids)}
    in_order = found.rows([rows[id] for id in queries.ids if id in rows])
    return rl.evaluate(in_order, qrels=queries.qrels, measures=measures, per_query=True)


def parts(lists):
    """Return what each ranker, then weft, adds to the scores of vote."""
    queries = [one.queries for one in lists.values()]
    index = rl.WeftIndex.build([one.items for one in lists.values()], **facts(lists))
    found = {}
    for name in lists:
        weights = [float(other == name) for other in lists]
        found[name] = index.vote(queries, DEPTH, weights=weights, neighbors_weight=0)
    return {**found, "weft": index.vote(queries, DEPTH, weights=[NO_WEIGHT] * len(lists))}


def facts(lists):
    """Return what vote has to know of the rankers."""
    return {name: [getattr(one.traits, name) for one in lists.values()] for name in ("symmetric", "exhaustive")}
