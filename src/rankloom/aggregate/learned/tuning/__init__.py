"""Options and weights from judged queries: `optimize` searches for them, `cross_validate` measures honestly."""

from rankloom.aggregate.learned.tuning.cross_validation import CrossValidation, cross_validate
from rankloom.aggregate.learned.tuning.optimize import Bayes, Grid, Tuned, optimize

__all__ = ["Bayes", "CrossValidation", "Grid", "Tuned", "cross_validate", "optimize"]
