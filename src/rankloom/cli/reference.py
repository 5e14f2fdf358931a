"""The texts of `rankloom demo --text`: what the package itself says about its methods, rankers and collections.

Every docstring of a registered name is a document. The queries are written and judged by hand for this demo: grade 2 is
an answer, 1 is related. They show how fusion works, and are too few and too easy to measure it.
"""

import tomllib
from collections.abc import Iterator
from importlib.resources import files

from rankloom import rankers
from rankloom.aggregate import METHODS, SUPERVISED
from rankloom.datasets import COLLECTIONS, Collection, Queries
from rankloom.evaluation.corrections import CORRECTIONS
from rankloom.evaluation.correlation import CORRELATIONS
from rankloom.evaluation.estimates import ESTIMATES
from rankloom.evaluation.paired_tests import TESTS
from rankloom.ranks import Ids
from rankloom.ranks.normalizations import NORMALIZATIONS
from rankloom.registry.docstrings import plain_text
from rankloom.web.tour import Tour

RANKERS = {"bm25": "rare words", "2grams-jaccard": "shared words and pairs", "static": "meaning of words"}
#: A query for which fusion helps.
EXAMPLE = "is a difference between two systems significant"
TOUR = Tour(rankers=RANKERS, examples=[{"query": EXAMPLE}])
#: Query -> documents and their grades: "method: rrf 2, isr 1; ranker: bm25 2".
JUDGED: dict[str, str] = tomllib.loads(files(__package__).joinpath("reference.toml").read_text(encoding="utf-8"))


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
    methods = (METHODS, SUPERVISED, NORMALIZATIONS)
    for registry in (*methods, rankers.RANKERS, COLLECTIONS, CORRELATIONS, ESTIMATES, TESTS, CORRECTIONS):
        for name in registry:
            entry = registry[name]
            yield f"{registry.kind} {name}", plain_text(getattr(entry, "function", entry))


def _grades(judged: str) -> Iterator[tuple[str, int]]:
    """Yield the id and the grade of each judged document: "method rrf" and 2 of "method: rrf 2, isr 1"."""
    for group in judged.split("; "):
        kind, _, names = group.partition(": ")
        for graded in names.split(", "):
            name, _, grade = graded.rpartition(" ")
            yield f"{kind} {name}", int(grade)
