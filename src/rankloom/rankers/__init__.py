"""Rankers: each ranks the items of a collection by one of their parts."""

from rankloom.rankers.contract import check_ranker
from rankloom.rankers.image.descriptor_ranker import DescriptorRanker
from rankloom.rankers.image.local import VocabularyRanker
from rankloom.rankers.precomputed import Matrix, RankFile
from rankloom.rankers.ranker import (
    RANKERS,
    Fitted,
    Ranker,
    Traits,
    UnreadableItemsError,
    Updatable,
    is_updatable,
    register_ranker,
    traits_of,
)
from rankloom.rankers.ranking import RankedLists, Ranking, rank_collection
from rankloom.rankers.text.bag_of_words import BM25, Okapi
from rankloom.rankers.text.embeddings import embed_minilm, embed_static
from rankloom.rankers.text.term_model import TermRanker
from rankloom.rankers.text.word_graph import GnfMCS, GnfWGU
from rankloom.rankers.text.word_movers import WMD
from rankloom.rankers.vectors.encoder import EncoderRanker
from rankloom.rankers.vectors.vectors import FittedVectors, Vectors

__all__ = [
    "BM25",
    "RANKERS",
    "WMD",
    "DescriptorRanker",
    "EncoderRanker",
    "Fitted",
    "FittedVectors",
    "GnfMCS",
    "GnfWGU",
    "Matrix",
    "Okapi",
    "RankFile",
    "RankedLists",
    "Ranker",
    "Ranking",
    "TermRanker",
    "Traits",
    "UnreadableItemsError",
    "Updatable",
    "Vectors",
    "VocabularyRanker",
    "check_ranker",
    "embed_minilm",
    "embed_static",
    "is_updatable",
    "rank_collection",
    "register_ranker",
    "traits_of",
]
