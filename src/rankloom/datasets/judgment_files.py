"""A collection without content: labels of items or judgments of queries, ranked by run files."""

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
    if labels is not None:
        classes = read_labels(labels)
        about = f"{len(classes)} items in {len(set(classes.values()))} classes"
        return Collection("files", Ids(classes), labels=tuple(classes.values()), about=about)
    assert qrels is not None
    judgments = read_qrels(qrels)
    items = Ids(dict.fromkeys(item for judged in judgments.values() for item in judged))
    about = f"{len(judgments)} queries with {sum(map(len, judgments.values()))} judgments"
    return Collection("files", items, queries=Queries(Ids(judgments), judgments), about=about)
