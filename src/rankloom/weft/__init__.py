"""weft: describes items by the lists of their neighbors, for each ranker and fused."""

from rankloom.weft.index import WeftIndex

__all__ = ["WeftIndex"]
