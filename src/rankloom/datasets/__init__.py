"""Collections: items, the parts that rankers use, and relevance."""

from rankloom.datasets.collection import COLLECTIONS, Collection, Content, Queries, content_digest, register_collection
from rankloom.datasets.digits import digits
from rankloom.datasets.emoji import emoji
from rankloom.datasets.folder import folder
from rankloom.datasets.image_collections import brodatz, mpeg7, soccer, ukbench, uw
from rankloom.datasets.judgment_files import files
from rankloom.datasets.multiview import multiview
from rankloom.datasets.spelling import open_collection, parse_collection
from rankloom.datasets.table import table
from rankloom.datasets.text_collections import cranfield, ohsumed, texts

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
    "multiview",
    "ohsumed",
    "open_collection",
    "parse_collection",
    "register_collection",
    "soccer",
    "table",
    "texts",
    "ukbench",
    "uw",
]
