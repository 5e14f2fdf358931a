"""The texts of `rankloom demo --text`: what the package itself says about its methods, rankers and collections.

Every docstring of a registered name is a document. The queries are written and judged by hand for this demo: grade 2 is
an answer, 1 is related. They show how fusion works, and are too few and too easy to measure it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rankloom.datasets import Collection, Queries
from rankloom.ranks import Ids
from rankloom.registry.docstrings import plain_text
from rankloom.web.tour import Tour

RANKERS = {"bm25": "rare words", "2grams-jaccard": "shared words and pairs", "static": "meaning of words"}
#: A query for which fusion helps.
EXAMPLE = "is a difference between two systems significant"
TOUR = Tour(rankers=RANKERS, examples=[{"query": EXAMPLE}])
#: Query -> documents and their grades: "method: rrf 2, isr 1; ranker: bm25 2".
JUDGED = {
    "reciprocal of the position in each list": (
        "method: rrf 2, isr 2, log_isr 2, logn_isr 2; supervised method: mapfuse 2"
    ),
    "methods that vote as in elections": "method: borda 2, condorcet 2, kemeny 1, vote 2, mc4 1",
    "add up the scores of all rankers": "method: combsum 2, wsum 2, mixed 1, combmnz 1, gmnz 1, wmnz 1, dbsf 2, vote 1",
    "reward items that many rankers agree on": (
        "method: combmnz 2, gmnz 2, isr 1, log_isr 1, logn_isr 1, mixed 1, wmnz 1"
    ),
    "diffusion over the neighborhoods of items": "method: crossdiffusion 2, rdpac 2, bfstree 1, sca 1",
    "nearest-neighbor graphs of the collection": (
        "method: recknngraphccs 2, rkgraph 2, corgraph 2, fg 1, queryrankfusion 1"
    ),
    "reciprocal neighbors of a query": "method: helloneighbor 2, recknngraphccs 2, rkgraph 1",
    "how much two lists overlap": "method: rlsim_udl 2, sca 1, weft 1; correlation: jaccard 2, rbo 2",
    "correlation of two rankings": "correlation: kendall 2, spearman 2, rbo 1, jaccard 1",
    "random walk on a Markov chain": "method: mc4 2, queryrankfusion 1",
    "median of positions or scores": "method: mra 2, combmed 2",
    "rank aggregation with the fewest disagreements": "method: kemeny 2, condorcet 1",
    "weights that depend on the query": "method: qalf 2, queryrankfusion 1",
    "learn from judged queries where relevant items are": (
        "supervised method: posfuse 2, probfuse 2, segfuse 2, slidefuse 2, bayesfuse 2, mapfuse 2"
    ),
    "scale scores by mean and standard deviation": "normalization: z_score 2, three_sigma 2; method: dbsf 2",
    "bring scores into the range from 0 to 1": (
        "normalization: min_max 2, max_norm 1, three_sigma 1, sum_norm 1, rank_norm 1"
    ),
    "use positions where there are no scores": "normalization: rank_norm 2, borda_norm 2; method: borda 1",
    "color histogram of an image": "ranker: gch 2, bic 2, scd 2, acc 1, ccom 1, fcth 1, cedd 1",
    "pairs of colors in neighboring pixels": "ranker: ccom 2, acc 2, acc_dlog 2, jac 2",
    "texture of an image": "ranker: lbp 2, lbp_match 2, las 2, htd 2, qcch 2, fcth 1, jcd 1; collection: brodatz 1",
    "outline of a silhouette": (
        "ranker: idsc 2, shape_context 2, asc 2, bas 2, ss 2, cfd_like 2, air_affine 1; collection: mpeg7 1"
    ),
    "neural network for images": "ranker: cnn 2",
    "embeddings of sentences": "ranker: minilm 2, static 2",
    "word frequencies with length normalization": "ranker: bm25 2, okapi 2, bow-cosine 1, cosine 1, tfidf 1",
    "share of words that two texts have in common": "ranker: jaccard 2, dice 2, bow-jaccard 2, 2grams-jaccard 1",
    "cost of moving one text's words to another": "ranker: wmd 2",
    "graphs of words": "ranker: gnf-mcs 2, gnf-wgu 2",
    "visual words from local features": "ranker: voc 2",
    "abstracts of scientific articles": "collection: cranfield 2, ohsumed 2",
    "photographs in classes": "collection: soccer 2, ukbench 2, uw 2, folder 1, brodatz 1",
    "my own files": "collection: folder 2, table 2, files 2, texts 2; ranker: file 1, matrix 1",
    "is a difference between two systems significant": "test: t 2, wilcoxon 2, randomization 2",
    "too many false positives among many tests": "correction: bonferroni 2, holm 2, bh 2, none 1",
    "quality of a ranker without relevance judgments": "estimate: authority 2, reciprocal 2",
}


def reference() -> Collection:
    """Return the documents and the judged queries."""
    documents = dict(_documents())
    qrels = {f"q{number}": dict(_grades(judged)) for number, judged in enumerate(JUDGED.values(), 1)}
    queries = Queries(Ids(qrels), qrels, {"texts": list(JUDGED)})
    n_judged = sum(map(len, qrels.values()))
    about = f"{len(documents)} docstrings of rankloom; {len(qrels)} queries, {n_judged} answers judged by hand"
    parts = {"texts": list(documents.values())}
    return Collection("rankloom reference", Ids(documents), parts, queries=queries, about=about)


def _documents() -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each document; names that share a docstring with another one come once each."""
    from rankloom.aggregate import METHODS, SUPERVISED
    from rankloom.datasets import COLLECTIONS
    from rankloom.evaluation.corrections import CORRECTIONS
    from rankloom.evaluation.correlation import CORRELATIONS
    from rankloom.evaluation.estimates import ESTIMATES
    from rankloom.evaluation.significance import TESTS
    from rankloom.rankers import RANKERS
    from rankloom.ranks.normalizations import NORMALIZATIONS

    methods = (METHODS, SUPERVISED, NORMALIZATIONS)
    for registry in (*methods, RANKERS, COLLECTIONS, CORRELATIONS, ESTIMATES, TESTS, CORRECTIONS):
        for name in registry:
            entry = registry[name]
            yield f"{registry.kind} {name}", plain_text(getattr(entry, "function", entry))


def _grades(judged: str) -> Iterator[tuple[str, int]]:
    """Yield the id and the grade of each judged document.

    Examples
    --------
    >>> list(_grades("method: rrf 2, isr 1; ranker: bm25 2"))
    [('method rrf', 2), ('method isr', 1), ('ranker bm25', 2)]
    """
    for group in judged.split("; "):
        kind, _, names = group.partition(": ")
        for one in names.split(", "):
            name, _, grade = one.rpartition(" ")
            yield f"{kind} {name}", int(grade)
