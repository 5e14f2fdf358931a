"""How good ranks are, how alike rankers are, and whether a difference is more than chance."""

from rankloom.evaluation.correlation import CORRELATIONS, correlation, correlations
from rankloom.evaluation.estimates import ESTIMATES, estimate
from rankloom.evaluation.measures import MEASURES, Measure, evaluate

__all__ = [
    "CORRELATIONS",
    "ESTIMATES",
    "MEASURES",
    "Measure",
    "correlation",
    "correlations",
    "estimate",
    "evaluate",
]
