"""A collection known by files alone: classes of items, or judgments of queries; its rankers are run files."""

from __future__ import annotations

from collections.abc import Mapping

from rankloom.datasets.collection import Collection, Queries, register
from rankloom.errors import InputError
from rankloom.io import read_labels, read_qrels
from rankloom.ranks import Ids


@register("files")
def files(labels: str | None = None, qrels: str | None = None) -> Collection:
    """Return the collection of a file of labels, or of TREC judgments; its rankers are ``file(path=...)``.

    Parameters
    ----------
    labels : path, optional
        Lines of ``item<TAB>class``: each item is a query.
    qrels : path, optional
        Judgments in TREC form: queries are from outside, and the items are whatever the run files list.
    """
    if (labels is None) == (qrels is None):
        raise InputError("Give files(labels=...) or files(qrels=...): one of the two, to evaluate by.")
    return _judged(qrels) if qrels is not None else _labeled(str(labels))


def _labeled(path: str) -> Collection:
    classes = read_labels(path)
    about = f"{len(classes)} items in {len(set(classes.values()))} classes"
    return Collection("files", Ids(classes), labels=tuple(classes.values()), about=about)


def _judged(path: str) -> Collection:
    qrels = read_qrels(path)
    items = Ids(dict.fromkeys(item for judged in qrels.values() for item in judged))
    return Collection("files", items, queries=Queries(Ids(qrels), qrels), about=_count(qrels))


def _count(qrels: Mapping[str, Mapping[str, int]]) -> str:
    return f"{len(qrels)} queries with {sum(map(len, qrels.values()))} judgments"
