"""The core data structures: ranked lists as arrays (`Ranks`) and the numbering of ids (`Ids`)."""

from rankloom.ranks.arrays import PAD
from rankloom.ranks.checks import MAX_ITEMS, Kind
from rankloom.ranks.ids import Ids, NumberIds
from rankloom.ranks.lists import list_lengths, stack_lists
from rankloom.ranks.ranks import Ranks

__all__ = ["MAX_ITEMS", "PAD", "Ids", "Kind", "NumberIds", "Ranks", "list_lengths", "stack_lists"]
