"""A collection without content: labels of items or judgments of queries, ranked by run files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from rankloom.datasets.collection import Collection, Queries, register_collection
from rankloom.errors import InputError
from rankloom.io import read_labels, read_qrels
from rankloom.io.text_file import FilePath
from rankloom.ranks import Ids


@register_collection("files")
def files(labels: FilePath | None = None, qrels: FilePath | None = None) -> Collection:
    """Return the collection of a label file or of TREC judgments; rank it with ``file(path=...)``.

    Parameters
    ----------
    labels : path, optional
        Lines of ``item<TAB>class`` or ``item:class``; every item is a query.
    qrels : path, optional
        TREC judgments of external queries; the items are whatever the run files list.
    """
    if (labels is None) == (qrels is None):
        raise InputError("Give either files(labels=...) or files(qrels=...).")
    return _judged(qrels) if qrels is not None else _labeled(cast(FilePath, labels))


def _labeled(path: FilePath) -> Collection:
    classes = read_labels(path)
    about = f"{len(classes)} items in {len(set(classes.values()))} classes"
    return Collection("files", Ids(classes), labels=tuple(classes.values()), about=about)


def _judged(path: FilePath) -> Collection:
    qrels = read_qrels(path)
    items = Ids(dict.fromkeys(item for judged in qrels.values() for item in judged))
    return Collection("files", items, queries=Queries(Ids(qrels), qrels), about=_count(qrels))


def _count(qrels: Mapping[str, Mapping[str, int]]) -> str:
    return f"{len(qrels)} queries with {sum(map(len, qrels.values()))} judgments"
