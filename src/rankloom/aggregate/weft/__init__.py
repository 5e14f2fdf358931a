"""weft: describes an item by its neighbors' lists, for each ranker and fused."""

from rankloom.aggregate.weft.index import WeftIndex

__all__ = ["WeftIndex"]
