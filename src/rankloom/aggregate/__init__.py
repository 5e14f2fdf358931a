"""Methods of rank aggregation behind one door: `fuse`, with `METHODS` for their names."""

from rankloom.aggregate import fusion_graph, order  # noqa: F401  # they register their methods
from rankloom.aggregate.methods import METHODS, fuse

__all__ = ["METHODS", "fuse"]
