"""Collections: items with what rankers look at, and what is relevant to what."""

from rankloom.datasets.collection import COLLECTIONS, Collection, Content, Queries, content_digest
from rankloom.datasets.digits import digits
from rankloom.datasets.documents import cranfield, ohsumed
from rankloom.datasets.emoji import emoji
from rankloom.datasets.files import files
from rankloom.datasets.folder import folder
from rankloom.datasets.opening import open_collection, spelled
from rankloom.datasets.pictures import brodatz, mpeg7, soccer, ukbench, uw
from rankloom.datasets.table import table

__all__ = [
    "COLLECTIONS",
    "Collection",
    "Content",
    "Queries",
    "brodatz",
    "content_digest",
    "cranfield",
    "digits",
    "emoji",
    "files",
    "folder",
    "mpeg7",
    "ohsumed",
    "open_collection",
    "soccer",
    "spelled",
    "table",
    "ukbench",
    "uw",
]
