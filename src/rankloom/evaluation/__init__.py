"""How good ranks are: measures over labels or judgments."""

from rankloom.evaluation.measures import MEASURES, Measure, evaluate

__all__ = ["MEASURES", "Measure", "evaluate"]
