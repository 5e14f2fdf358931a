"""`rankloom search`: search a searcher by text, image or item; or an index by runs or items."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloom.cli import app as cli
from rankloom.cli.option_groups import RunOptions, expand_groups
from rankloom.cli.outputs import check_file
from rankloom.errors import InputError, brief
from rankloom.fusion_graph.compare import COMPARATORS
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io.folder import read_meta
from rankloom.io.text_file import parse_json, read_text
from rankloom.ranks import Ids, Ranks
from rankloom.registry import parse_value, split
from rankloom.threads import Progress

if TYPE_CHECKING:
    from rankloom.searcher import Answer
    from rankloom.searcher.where import Condition

MAX_SNIPPET = 70  # characters of a document in a table
FOR_SEARCHERS = (
    *("queries", "encoding", "image", "lists", "complete", "neighbors"),
    *("method", "ranker", "where", "offset", "field", "as_json"),
)
FOR_INDEXES = ("comparator", "virtual", "missing", "format", "duplicates", "threads")
SYMBOLS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
CONDITION = re.compile(r"(.+?)(?:\s*(!=|<=|>=|=|<|>)(.*)|\s+in\s+(.+)|\s+exists(?:\s+(yes|no))?)", re.DOTALL)


@dataclass(frozen=True)
class QueryOptions:
    """What to search for, besides words."""

    item: Annotated[
        list[str] | None,
        cli.Option(help="An item as the query, by id (by number in an index without ids). Repeatable."),
    ] = None
    image: Annotated[Path | None, cli.Option(help="An image file as the query.")] = None
    queries: cli.Queries = None
    encoding: cli.Encoding = None
    lists: Annotated[
        Path | None,
        cli.Option(
            help="A JSON file with the lists of the query by other engines, to be fused: an object with ids, or pairs "
            "of id and score, by ranker."
        ),
    ] = None
    complete: Annotated[
        list[str] | None,
        cli.Option(help="With --lists: a ranker whose list ended because there was nothing more to list. Repeatable."),
    ] = None
    neighbors: Annotated[
        str | None,
        cli.Option(
            help="With --lists: whether to find all neighbors, or only listed ones; by default all with --where."
        ),
    ] = None

    def answers(self, path: Path, words: str, where: Sequence[str], **options: Any) -> dict[str, "Answer"]:
        """Return the answers of a searcher, by id or text of the query: words, items, an image or a file of queries."""
        n_kinds = sum(bool(kind) for kind in (words.strip() or self.lists, self.item, self.image, self.queries))
        if self.lists is None and (self.complete or self.neighbors):
            raise InputError("--complete and --neighbors are about --lists; give that, too.")
        if n_kinds != 1:
            raise InputError(
                f"Give one of QUERY, --item, --image, --queries and --lists to search for; got {n_kinds or 'none'}."
            )
        from rankloom.searcher import Searcher

        with cli.progress_bars() as progress:
            progress("Opening", 0, 1)
            searcher = Searcher.open(path)
            progress("Opening", 1, 1)
            options["where"] = parse_where(where, searcher.field_types)
            if self.lists is not None:
                given = {"lists": _read_lists(self.lists), "complete": self.complete or (), "neighbors": self.neighbors}
                return {words or "lists": searcher.search(words or None, **given, **options)}
            if self.queries is not None:
                texts, _ = cli.read_queries(self.queries, self.encoding)
                return dict(zip(texts, searcher.search(list(texts.values()), ids=list(texts), **options), strict=True))
            if self.item:
                items = list(dict.fromkeys(self.item))
                return dict(zip(items, searcher.search(item=items, **options), strict=True))
            if self.image is not None:
                return {str(self.image): searcher.search(image=self.image, **options)}
            return {words: searcher.search(words, **options)}


@cli.app.command()
@expand_groups
def search(
    context: typer.Context,
    path: Annotated[
        Path,
        cli.Argument(
            metavar="FOLDER", help="A searcher made by 'rankloom build', or an index made by 'rankloom index'."
        ),
    ],
    query: Annotated[
        list[str] | None,
        cli.Argument(
            metavar="QUERY",
            help="Words to search for. For an index: lists of external queries, one file for each ranker, in its order "
            "or as NAME=FILE.",
        ),
    ] = None,
    *,
    wanted: QueryOptions,
    k: cli.K = 10,
    offset: Annotated[int, cli.Option(min=0, help="How many of the best results to skip.")] = 0,
    method: Annotated[
        str, cli.Option(help="How to fuse the rankers' lists, as in vote(neighbors_weight=0.5) or rrf; auto chooses.")
    ] = "auto",
    ranker: Annotated[list[str] | None, cli.Option(help="Fuse only this ranker. Repeatable.")] = None,
    where: Annotated[
        list[str] | None,
        cli.Option(
            metavar="CONDITION",
            help="Only documents that satisfy this: lang=en, year>=1990, 'lang in en, de', 'year exists' or JSON. "
            "Repeatable: all must hold.",
        ),
    ] = None,
    explain: Annotated[str | None, cli.Option(help="With one query: why this item was found.")] = None,
    output: Annotated[
        Path | None, cli.Option("-o", "--output", "--run", help="Write a run instead of printing.")
    ] = None,
    as_json: Annotated[bool, cli.Option("--json", help="Print JSON, one answer per line.")] = False,
    field: Annotated[
        list[str] | None, cli.Option(help="With --json: a field of the documents to print. Repeatable.")
    ] = None,
    tag: Annotated[str, cli.Option(help="Last column of a TREC run.")] = "rankloom",
    comparator: Annotated[
        str | None,
        cli.Option(
            help=f"For an index: how graphs are compared, {cli.either(COMPARATORS)}; by default as it was built."
        ),
    ] = None,
    virtual: Annotated[
        bool | None,
        cli.Option(help="For an index: use virtual positions for external queries; by default as it was built."),
    ] = None,
    missing: cli.Missing = "error",
    reading: RunOptions,
    threads: cli.Threads = None,
    plugin: cli.Plugin = None,
) -> None:
    """Search documents by words, an image or a document; or an index of ranked lists.

    An index is searched with runs of external queries, or with its own items; without either, every item is a query.

    Examples:

    rankloom search shop.loom "heat in slabs" -k 5

    rankloom search shop.loom "winter jacket" --where "year>=1990" --where "lang in en, de"

    rankloom search shop.loom --queries queries.jsonl -k 100 --run fused.run

    rankloom search shop.loom --item d42 --explain d7

    rankloom search shop.loom "winter jacket" --lists lists.json

    rankloom search lists.loom dense=b.run bm25=a.run -k 100 -o fused.run
    """
    if output is not None:
        check_file(output, "a run", path, query, wanted.image, wanted.queries)
    if cli.is_searcher(path):
        cli.refuse_options(context, f"{path} is a searcher, not an index of lists", *FOR_INDEXES)
        options = {"k": k, "offset": offset, "method": method, "rankers": ranker}
        words = " ".join(query or [])
        if query and not words.strip():
            raise InputError("QUERY is empty; give words to search for.")
        answers = wanted.answers(path, words, where or [], **options)
        if explain is not None:
            if len(answers) != 1 or output is not None or as_json:
                raise InputError(f"--explain needs exactly one query, no -o and no --json; got {len(answers)} queries.")
            cli.echo(str(next(iter(answers.values())).explain(explain)))
        elif output is not None:
            named = answers if wanted.queries or wanted.item else {"q1": next(iter(answers.values()))}
            lists = {name: {hit.id: hit.score for hit in answer} for name, answer in named.items()}
            cli.write(Ranks.from_dict(lists), output, tag)
        else:
            for name, answer in answers.items():
                _print_json(name, answer, field or []) if as_json else _print(name, answer)
        return
    read_meta(path)  # or an error
    cli.refuse_options(context, f"{path} is not a searcher made by 'rankloom build'", *FOR_SEARCHERS)
    items = wanted.item or []
    if explain is not None and (len(set(items)) != 1 or query or output is not None):
        raise InputError("--explain needs exactly one --item, no runs and no -o.")
    with cli.progress_bars() as progress:
        progress("Opening", 0, 1)
        index = FusionIndex.open(path)
        if explain is not None:
            cli.echo(str(index.explain(_item(index, items[0]), _item(index, explain), comparator=comparator)))
            return
        options = {"comparator": comparator, "virtual": virtual, "missing": missing, "threads": threads}
        found = _search_index(index, query or [], items, reading, progress, k=k, **options)
    if output is not None:
        cli.write(found, output, tag)
        return
    for name, scores in found.to_dict().items():
        for position, (item_id, score) in enumerate(scores.items(), 1):
            cli.echo(f"{name}\t{position}\t{item_id}\t{score:.4f}")


def _read_lists(path: Path) -> Any:
    """Return the content of a JSON file."""
    text = read_text(path)
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {str(error).rstrip('.')}.") from None


def _print_json(name: str, answer: "Answer", fields: Sequence[str]) -> None:
    hits = []
    for hit in answer:
        row: dict[str, object] = {"position": hit.position, "id": hit.id, "score": hit.score, "ranks": dict(hit.ranks)}
        hits.append({**{field: hit.document.get(field) for field in fields}, **row})
    cli.echo(json.dumps({"query": name, "method": answer.method, "hits": hits}, ensure_ascii=False))


def _print(name: str, answer: "Answer") -> None:
    cli.echo(f"{name} ({answer.method})")
    if answer:
        head, *rows = answer.cells(MAX_SNIPPET)
        cli.print_table(head, rows)
    else:
        cli.echo("Nothing found.")


def parse_where(conditions: Sequence[str], types: Mapping[str, str]) -> "Condition | None":
    """Return the conditions of --where, which must all hold; values are typed as their fields are.

    Examples
    --------
    >>> parse_where(["year>=1990"], {"year": "number"})
    And(parts=(Test(field='year', tests=(('gte', 1990),)),))
    """
    from rankloom.searcher.where import And, parse

    return And(tuple(parse(_condition(text, types)) for text in conditions)) if conditions else None  # type: ignore[misc]


def _condition(text: str, types: Mapping[str, str]) -> object:
    """Return one condition as a mapping."""
    from rankloom.searcher.field_types import number
    from rankloom.searcher.where import RANGES

    if text.lstrip().startswith("{"):
        try:
            return parse_json(text)
        except (json.JSONDecodeError, RecursionError):
            raise InputError(f"--where starts like JSON, but is not; got {brief(text)}.") from None
    found = CONDITION.fullmatch(text.strip())
    if found is None:
        raise InputError(
            "--where takes FIELD=VALUE, also with !=, <, <=, > or >=, 'FIELD in A, B', 'FIELD exists', 'FIELD exists "
            f"no' or JSON; got {brief(text)}."
        )
    field, symbol, value, values, exists = found.groups()
    kind = types.get(field, "text").split()[-1]
    if field.startswith("not ") and field not in types:
        raise InputError(f"{brief(text)} is not a condition: use !=, 'FIELD exists no' or JSON with \"not\".")
    if symbol:
        if field in types and SYMBOLS[symbol] in RANGES and kind == "text" and number(value) is not None:
            raise InputError(
                f"The field {field!r} is text, but {value.strip()} is a number. Build again with numbers alone in this "
                f"field, or quote the value to compare it as text: '{field}{symbol}\"{value.strip()}\"'."
            )
        return {field: {SYMBOLS[symbol]: _typed(value, kind)}}
    return {
        field: {"exists": exists != "no"} if values is None else {"in": [_typed(one, kind) for one in split(values)]}
    }


def _typed(text: str, kind: str) -> object:
    """Return a value of a kind; one in quotes is text."""
    text = text.strip()
    return parse_value(text) if kind in ("number", "boolean") or text.startswith('"') else text


def _search_index(
    index: FusionIndex,
    runs: Sequence[str],
    items: Sequence[str],
    reading: RunOptions,
    progress: Progress,
    **options: Any,
) -> Ranks:
    wanted = list(dict.fromkeys(_item(index, item) for item in items))
    names, paths = cli.split_names([Path(run) for run in runs])
    ranks = reading.read(paths, progress)
    lists = (dict(zip(names, ranks, strict=True)) if names else ranks) or None
    found = index.search(lists, items=wanted or None, progress=progress, **options)
    # Without ids the rows are numbered from 0, whatever the numbers of the items are.
    return found.replaced(query_ids=Ids(map(str, wanted))) if wanted and found.query_ids is None else found


def _item(index: FusionIndex, text: str) -> int | str:
    """Return an item as `search` takes it: its id if the index has ids, else its number."""
    if index.item_ids is not None:
        return text
    if not (text.isascii() and text.isdigit() and len(text) < 20):  # int() refuses very long ones
        raise InputError(f"The index has no ids, only numbers 0 to {index.n_items - 1}; got {text!r}.")
    return int(text)
