"""Collections: items with what rankers look at, and what is relevant to what."""

from rankloom.datasets.collection import COLLECTIONS, Collection, Content, Queries, content_digest
from rankloom.datasets.digits import digits
from rankloom.datasets.files import files

__all__ = ["COLLECTIONS", "Collection", "Content", "Queries", "content_digest", "digits", "files"]
