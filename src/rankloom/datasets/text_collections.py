"""Readers of published text collections.

Each takes `path`, the folder of the collection (by default the folder of its name in ``$RANKLOOM_DATA``), and `check`:
whether to check that nothing is missing.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rankloom.datasets.collection import Collection, Part, Queries, register_collection
from rankloom.datasets.layout import check_classes, check_count, find_folder
from rankloom.datasets.table import cell, json_rows
from rankloom.errors import InputError, whole_number
from rankloom.io import read_qrels
from rankloom.io.archive import load_arrays
from rankloom.io.text_file import FilePath, json_lines, opened, shown
from rankloom.ranks import Ids

OHSUMED = "ohsumed_single_label_18302.jsonl"
VECTORS = "minilm.npz"  # of sentence embeddings


@register_collection("ohsumed")
def ohsumed(
    path: FilePath | None = None, *, sample: int | None = None, seed: int = 0, check: bool = True
) -> Collection:
    """Return the Ohsumed abstracts with a single class: 18,302, in 23 classes of cardiovascular diseases.

    Layout: ``ohsumed_single_label_18302.jsonl`` (or .jsonl.gz), a line ``{"id": ..., "labels": [...], "text": ...}``
    for each abstract. Abstracts with several labels are skipped, so the file may have all 34,389.

    Parameters
    ----------
    sample, seed : int, optional
        Return this many abstracts, drawn at random, instead of all.

    References
    ----------
    Hersh, Buckley, Leone, Hickam (1994), OHSUMED, doi:10.1007/978-1-4471-2099-5_20; the selection of Joachims (1998)
    """
    needs = f'a file {OHSUMED} or {OHSUMED}.gz, lines of {{"id": "0000000", "labels": ["C06"], "text": "..."}}.'
    file = _one_of(find_folder(path, ["ohsumed"], needs), [OHSUMED, f"{OHSUMED}.gz"], needs)
    documents = sorted((id, label, text) for id, label, text in _documents(file))
    labels = tuple(label for _, label, _ in documents)
    if check:
        check_count("ohsumed", "abstracts with one label", 18302, len(documents))
        check_classes("ohsumed", labels, 23)
    ids, texts = Ids(id for id, _, _ in documents), [text for _, _, text in documents]
    about = f"{len(ids)} medical abstracts, in {len(set(labels))} classes"
    whole = Collection("ohsumed", ids, {"texts": texts}, labels=labels, about=about)
    if sample is None:
        return whole
    size = whole_number("sample", sample)
    about = f"{size} of {about} (seed {seed})"
    return replace(whole.without(whole.shuffled_numbers(seed)[size:]), about=about)


@register_collection("cranfield")
def cranfield(path: FilePath | None = None, *, title: bool = False, check: bool = True) -> Collection:
    """Return the Cranfield abstracts on aerodynamics: 1400, with 225 judged queries.

    Layout: ``cran.all.1400.xml`` (``<doc>`` with ``<docno>`` and ``<text>``), ``cran.qry.xml`` (``<top>`` with
    ``<title>``) and ``cranqrel.trec.txt``. The judgments number the queries 1 to 225 in the order of the file; the
    ``<num>`` of a query is a different number and is ignored. A grade of 0 or less means not relevant. With
    ``minilm.npz`` (see `texts`) there is a part ``vectors`` too.

    Parameters
    ----------
    title : bool
        Whether to put the title before the text, as `texts` does; most texts start with it already.

    References
    ----------
    Cleverdon (1967), The Cranfield tests on index language devices, doi:10.1108/eb050097
    """
    needs = "the files cran.all.1400.xml, cran.qry.xml and cranqrel.trec.txt (TREC format)."
    folder = find_folder(path, ["cranfield"], needs)
    files = [_one_of(folder, [name], needs) for name in ("cran.all.1400.xml", "cran.qry.xml", "cranqrel.trec.txt")]
    documents = {_inside("docno", doc, files[0]): _abstract(doc, files[0], title) for doc in _elements("doc", files[0])}
    query_texts = [_inside("title", top, files[1]) for top in _elements("top", files[1])]
    qrels = read_qrels(files[2])
    if check:
        check_count("cranfield", "abstracts", 1400, len(documents))
        check_count("cranfield", "queries", 225, len(query_texts))
    query_ids = Ids(str(number) for number in range(1, len(query_texts) + 1))
    parts, query_parts = _with_vectors(folder, list(documents.values()), query_texts)
    about = f"{len(documents)} abstracts, {len(query_texts)} queries with {sum(map(len, qrels.values()))} judgments"
    return Collection("cranfield", Ids(documents), parts, queries=Queries(query_ids, qrels, query_parts), about=about)


@register_collection("texts")
def texts(path: FilePath) -> Collection:
    """Return texts with judged queries from a folder of three files.

    Layout: ``docs.jsonl`` (a line ``{"id": ..., "title": ..., "text": ...}`` for each text; the title is optional and
    put before the text), ``queries.jsonl`` (``{"id": ..., "text": ...}``) and ``qrels.txt`` (TREC format); each may be
    compressed (.gz). With ``minilm.npz``, the vectors E of the texts and Q of the queries in the order of the files,
    there is a part ``vectors`` too.
    """
    needs = "the files docs.jsonl, queries.jsonl (both with id and text) and qrels.txt, each optionally .gz."
    folder = find_folder(path, ["texts"], needs)
    documents, external, judgments = (
        _one_of(folder, [name, f"{name}.gz"], needs) for name in ("docs.jsonl", "queries.jsonl", "qrels.txt")
    )
    items, queries = _texts(documents), _texts(external)
    qrels = read_qrels(judgments)
    parts, query_parts = _with_vectors(folder, list(items.values()), list(queries.values()))
    about = f"{len(items)} texts, {len(qrels)} queries with {sum(map(len, qrels.values()))} judgments"
    judged = Queries(Ids(queries), qrels, query_parts)
    return Collection(folder.resolve().name, Ids(items), parts, queries=judged, about=about)


def _texts(file: Path) -> dict[str, str]:
    """Return {id: title and text} of a file of JSON lines."""
    found: dict[str, str] = {}
    for line, row in json_rows(str(file)):
        one = cell(str(file), line, row, "id")
        if one in found:
            raise InputError(f"{file}:{line}: duplicate id {one!r}.")
        title = cell(str(file), line, row, "title") if row.get("title") is not None else ""
        found[one] = f"{title}\n{cell(str(file), line, row, 'text')}".strip()
    return found


def _with_vectors(folder: Path, items: list[str], queries: list[str]) -> tuple[dict[str, Part], dict[str, Part]]:
    """Return the parts of items and queries: texts, and vectors if the folder has them."""
    file = folder / VECTORS
    if not file.is_file():
        return {"texts": items}, {"texts": queries}
    arrays = load_arrays(file)
    for name, part, what in (("E", items, "texts"), ("Q", queries, "queries")):
        if name not in arrays or arrays[name].ndim != 2 or len(arrays[name]) != len(part):
            got = f"shape {arrays[name].shape}" if name in arrays else "none"
            raise InputError(f"{file} must have an array {name} with a row for each of {len(part)} {what}; got {got}.")
    return {"texts": items, "vectors": arrays["E"]}, {"texts": queries, "vectors": arrays["Q"]}


def _abstract(doc: str, file: Path, title: bool) -> str:
    text = _inside("text", doc, file)
    return f"{_inside('title', doc, file)}\n{text}".strip() if title else text


def _one_of(folder: Path, names: list[str], needs: str) -> Path:
    found = [folder / name for name in names if (folder / name).is_file()]
    if not found:
        raise InputError(f"There is no file {folder / names[0]}. The collection {folder.name} needs {needs}")
    return found[0]


def _documents(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the id, the label and the text of each abstract with a single label."""
    seen: dict[str, int] = {}
    for number, line, document in json_lines(file):
        match document:
            case {"id": str() | int() as id, "labels": [*labels], "text": str(text)} if not isinstance(id, bool):
                known = all(isinstance(label, str) for label in labels)
            case _:
                known = False
        if not known:
            expected = '{"id": "...", "labels": ["..."], "text": "..."}'
            raise InputError(f"{file}:{number}: expected {expected}, got {shown(line)}.")
        first = seen.setdefault(str(id), number)
        if first != number:
            raise InputError(f"{file}:{number}: duplicate id {id!r}; it is in line {first} too.")
        if len(labels) == 1:
            yield str(id), labels[0], text


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
