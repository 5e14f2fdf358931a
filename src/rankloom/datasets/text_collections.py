"""Readers of published text collections.

Each takes `path`, the folder of the collection (by default the folder of its name in ``$RANKLOOM_DATA``), and `check`:
whether to check that nothing is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankloom.datasets.collection import Collection, Queries, register_collection
from rankloom.datasets.layout import check_classes, check_count, find_folder
from rankloom.errors import InputError
from rankloom.io import read_qrels
from rankloom.io.text_file import FilePath, numbered_lines, opened, shown
from rankloom.ranks import Ids

OHSUMED = "ohsumed_single_label_18302.jsonl"


@register_collection("ohsumed")
def ohsumed(path: FilePath | None = None, *, check: bool = True) -> Collection:
    """Return the Ohsumed abstracts with a single class: 18,302, in 23 classes of cardiovascular diseases.

    Layout: ``ohsumed_single_label_18302.jsonl`` (or .jsonl.gz), a line ``{"id": ..., "labels": [...], "text": ...}``
    for each abstract. Abstracts with several labels are skipped, so the file may have all 34,389.

    References
    ----------
    Hersh, Buckley, Leone, Hickam (1994), OHSUMED, doi:10.1007/978-1-4471-2099-5_20; the selection of Joachims (1998)
    """
    needs = f'a file {OHSUMED} or {OHSUMED}.gz, lines of {{"id": "0000000", "labels": ["C06"], "text": "..."}}.'
    file = _one_of(find_folder(path, ["ohsumed"], needs), [OHSUMED, f"{OHSUMED}.gz"], needs)
    documents = [document for document in _documents(file) if len(document["labels"]) == 1]
    documents.sort(key=lambda document: str(document["id"]))
    labels = tuple(document["labels"][0] for document in documents)
    if check:
        check_count("ohsumed", "abstracts with one label", 18302, len(documents))
        check_classes("ohsumed", labels, 23)
    ids = Ids(str(document["id"]) for document in documents)
    texts = [document["text"] for document in documents]
    about = f"{len(ids)} medical abstracts, in {len(set(labels))} classes"
    return Collection("ohsumed", ids, {"texts": texts}, labels=labels, about=about)


@register_collection("cranfield")
def cranfield(path: FilePath | None = None, *, check: bool = True) -> Collection:
    """Return the Cranfield abstracts on aerodynamics: 1400, with 225 judged queries.

    Layout: ``cran.all.1400.xml`` (``<doc>`` with ``<docno>`` and ``<text>``), ``cran.qry.xml`` (``<top>`` with
    ``<title>``) and ``cranqrel.trec.txt``. The judgments number the queries 1 to 225 in the order of the file; the
    ``<num>`` of a query is a different number and is ignored. A grade of 0 or less means not relevant.

    Parameters
    ----------
    path : folder, optional
        By default ``$RANKLOOM_DATA/cranfield``.
    check : bool
        Whether to check that no abstract or query is missing.

    References
    ----------
    Cleverdon (1967), The Cranfield tests on index language devices, doi:10.1108/eb050097
    """
    needs = "the files cran.all.1400.xml, cran.qry.xml and cranqrel.trec.txt (TREC format)."
    folder = find_folder(path, ["cranfield"], needs)
    files = [_one_of(folder, [name], needs) for name in ("cran.all.1400.xml", "cran.qry.xml", "cranqrel.trec.txt")]
    documents = {_inside("docno", doc, files[0]): _inside("text", doc, files[0]) for doc in _elements("doc", files[0])}
    query_texts = [_inside("title", top, files[1]) for top in _elements("top", files[1])]
    qrels = read_qrels(files[2])
    if check:
        check_count("cranfield", "abstracts", 1400, len(documents))
        check_count("cranfield", "queries", 225, len(query_texts))
    queries = Queries(Ids(str(number) for number in range(1, len(query_texts) + 1)), qrels, {"texts": query_texts})
    about = f"{len(documents)} abstracts, {len(query_texts)} queries with {sum(map(len, qrels.values()))} judgments"
    return Collection("cranfield", Ids(documents), {"texts": list(documents.values())}, queries=queries, about=about)


def _one_of(folder: Path, names: list[str], needs: str) -> Path:
    found = [folder / name for name in names if (folder / name).is_file()]
    if not found:
        raise InputError(f"There is no file {folder / names[0]}. The collection {folder.name} needs {needs}")
    return found[0]


def _documents(file: Path) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for number, line in numbered_lines(file):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            document = None
        if not _is_document(document):
            expected = '{"id": "...", "labels": ["..."], "text": "..."}'
            raise InputError(f"{file}:{number}: expected {expected}, got {shown(line)}.")
        first = seen.setdefault(str(document["id"]), number)
        if first != number:
            raise InputError(f"{file}:{number}: duplicate id {document['id']!r}; it is in line {first} too.")
        yield document


def _is_document(value: Any) -> bool:
    """Return True for an object with an id (string or integer), a list of string labels and a string text."""
    if not isinstance(value, dict) or not value.keys() >= {"id", "labels", "text"}:
        return False
    labels = value["labels"]
    has_id = isinstance(value["id"], str | int) and not isinstance(value["id"], bool)
    return has_id and isinstance(labels, list) and all(isinstance(one, str) for one in [*labels, value["text"]])


def _elements(tag: str, file: Path) -> list[str]:
    """Return the content of each such element. TREC files have no root element, so an XML parser rejects them."""
    with opened(file) as opened_file:
        text = opened_file.read().decode("utf-8", errors="replace")
    return re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)


def _inside(tag: str, element: str, file: Path) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", element, re.DOTALL)
    if not found:
        raise InputError(f"{file}: expected <{tag}> in each element; it is missing in {shown(element.encode())}.")
    return found[1].strip()
