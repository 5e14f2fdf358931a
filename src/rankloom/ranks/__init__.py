"""The core data structures: ranked lists as arrays (`Ranks`) and the numbering of ids (`Ids`)."""

from rankloom.ranks.checks import MAX_ITEMS, PAD
from rankloom.ranks.ids import Ids, NumberIds
from rankloom.ranks.ranks import Kind, Ranks, stack_lists

__all__ = ["MAX_ITEMS", "PAD", "Ids", "Kind", "NumberIds", "Ranks", "stack_lists"]
