"""weft: an item is what its neighbors list; rows are compared ranker by ranker and fused."""

from rankloom.aggregate.weft.index import WeftIndex

__all__ = ["WeftIndex"]
