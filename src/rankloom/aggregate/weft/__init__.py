"""weft: an item is what its neighbors list; rows are compared ranker by ranker and fused."""

from rankloom.aggregate.weft.index import WeftIndex
from rankloom.aggregate.weft.methods import vote, weft

__all__ = ["WeftIndex", "vote", "weft"]
