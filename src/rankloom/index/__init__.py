"""What indexes of lists share, for any kind of rows that describe their items.

An index is a table of rows, in one or more shards, of some kind (`RowKind`): how rows are made from lists, how two of
them compare, how they are stored. A shard has the rows and postings of consecutive internal numbers; it answers exactly
for its own items once it is handed explicit queries, and the answer of the whole is the best of its shards' answers.
"""

from rankloom.index.explanation import Explanation, Part

__all__ = ["Explanation", "Part"]
