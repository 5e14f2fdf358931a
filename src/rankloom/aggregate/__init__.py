"""Rank aggregation: `fuse` runs any method of the registry `METHODS`; `rankloom.methods` has their classes."""

from rankloom.aggregate import index_methods  # noqa: F401 - importing a module registers its methods
from rankloom.aggregate.graphs import (  # noqa: F401
    context,
    corgraph,
    query_graph,
    reciprocal,
    recknngraphccs,
    rkgraph,
)
from rankloom.aggregate.learned import supervised  # noqa: F401
from rankloom.aggregate.learned.training import train
from rankloom.aggregate.methods import (
    METHODS,
    SUPERVISED,
    CollectionMethod,
    IndexMethod,
    Method,
    QueryMethod,
    fuse,
)
from rankloom.aggregate.per_query import (  # noqa: F401
    adaptive,
    kemeny,
    majorities,
    markov,
    positions,
    scores,
    weighted,
)
from rankloom.aggregate.reranking import (  # noqa: F401
    bfstree,
    contextrr,
    cprr,
    lhrr,
    rdpac,
    reciprocal_sets,
    rfe,
    rlsim_udl,
)

__all__ = [
    "METHODS",
    "SUPERVISED",
    "CollectionMethod",
    "IndexMethod",
    "Method",
    "QueryMethod",
    "fuse",
    "train",
]
