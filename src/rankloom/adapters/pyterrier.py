"""A searcher as a PyTerrier transformer."""

from __future__ import annotations

from typing import Any

import pandas as pd

from rankloom.errors import needs_extra
from rankloom.searcher import Searcher

with needs_extra("The PyTerrier transformer", "python-terrier", "pyterrier"):
    import pyterrier as pt


class RankloomTransformer(pt.Transformer):
    """Turns queries (columns qid, query) into results (qid, query, docno, score, rank).

    The options are those of `Searcher.search`.
    """

    def __init__(self, searcher: Searcher, **options: Any) -> None:
        super().__init__()
        self.searcher = searcher
        self.options = options

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        """Return the results of all queries, ranked from 0."""
        rows = []
        if len(topics):
            answers = self.searcher.search(topics["query"].astype(str).tolist(), **self.options)
            for qid, query, answer in zip(topics["qid"], topics["query"], answers, strict=True):
                rows += [(qid, query, hit.id, hit.score, hit.position - 1) for hit in answer]
        return pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank"])
