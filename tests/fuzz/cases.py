"""How many random cases to run: few and always the same in CI, many and new ones by `make fuzz`."""

import math
import os

from hypothesis import HealthCheck, settings


def cases(variable, default, tests):
    """Return the Hypothesis settings of each of several tests that share the number of cases in a variable."""
    count = int(os.environ.get(variable, default))
    return settings(
        max_examples=max(1, math.ceil(count / tests)),
        derandomize=variable not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
