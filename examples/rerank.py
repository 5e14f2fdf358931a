"""A second stage: a cross-encoder reads the query together with each of the first 50 documents.

`python examples/rerank.py shop.loom "heat in slabs"` needs sentence-transformers, and loads a model from its hub.
"""

import sys

import rankloom as rl

FIELDS = ("title", "text")


def second_stage(predict):
    """Return a function that scores documents for a query; `predict` returns a number for each pair of texts."""

    def rerank(query, documents):
        texts = [" ".join(document[field] for field in FIELDS if field in document) for document in documents]
        return predict([(query, text) for text in texts])

    return rerank


def main(folder, query):
    """Print the first hits of a search, scored by a model."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder("cross-encoder/ms-marco-MiniLM-L6-v2")
    answer = rl.Searcher.open(folder).search(query, rerank=second_stage(model.predict), rerank_depth=50)
    for hit in answer:
        print(f"{hit.position:2} {hit.id:10} {hit.rerank_score:7.3f} {hit.score:7.4f}  {answer.snippet(hit)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
