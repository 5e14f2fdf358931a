"""The fusion-graph method, in the paper's order: normalize, weave, compare; `index` combines them."""

from rankloom.fusion_graph.compare import COMPARATORS, check_comparator, register_comparator
from rankloom.fusion_graph.graph import FusionGraph
from rankloom.fusion_graph.index import FusionIndex
from rankloom.fusion_graph.weave import WEIGHTINGS, register_weighting
from rankloom.index.explanation import Explanation
from rankloom.index.normalize import reposition

__all__ = [
    "COMPARATORS",
    "WEIGHTINGS",
    "Explanation",
    "FusionGraph",
    "FusionIndex",
    "check_comparator",
    "register_comparator",
    "register_weighting",
    "reposition",
]
