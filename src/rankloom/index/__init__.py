"""An index split by item: shards that are searched as one, a build by parts on disk, and both on a Dask cluster.

A shard has the rows, norms and postings of consecutive internal numbers. It answers exactly for its own items once it
is handed an explicit query graph; the answer of the whole is the best of its shards' answers.
"""

from rankloom.index.shard import Shard, shard_size, shards_of

__all__ = ["Shard", "shard_size", "shards_of"]
