"""`rankloom build`: build a searcher from documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rankloom.cli import app as cli
from rankloom.cli.info import recalls
from rankloom.cli.option_groups import CacheOptions, CollectionOptions, SearcherOptions, expand_groups
from rankloom.cli.outputs import check_output, writes
from rankloom.io.folder_writer import TIMEOUT, check_absent

if TYPE_CHECKING:
    from rankloom.searcher import Searcher


@cli.app.command()
@expand_groups
def build(
    documents: Annotated[
        str,
        cli.Argument(
            metavar="DOCUMENTS",
            help="A CSV, TSV or JSON Lines file (also .gz) with a document for each row, a folder of texts or images, "
            "or a known collection.",
        ),
    ],
    output: Annotated[
        Path | None,
        cli.Option(
            "-o", "--output", help="Folder to write; by default named after the documents: shop.loom for shop.csv."
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        cli.Option(
            help="A field of the documents that text rankers see and a search prints. Repeatable. By default title and "
            "text."
        ),
    ] = None,
    id_field: Annotated[
        str, cli.Option("--id", help="The field of the documents that has their id; without it, they are numbered.")
    ] = "id",
    filter_as_text: Annotated[
        list[str] | None,
        cli.Option(
            help="A field that --where compares as text, even if all its values are numbers or dates. Repeatable."
        ),
    ] = None,
    self_test: Annotated[
        bool | None,
        cli.Option(
            help="Whether to test the rankers by passages of the documents: those that fail are left out, and others "
            "weighted. By default with 1,000 documents or more and several rankers of texts, whose encoders are ours."
        ),
    ] = None,
    store: Annotated[
        str,
        cli.Option(
            help="What to keep of the documents: all, or ids, for a search by --lists of the engine they are in."
        ),
    ] = "all",
    *,
    overwrite: cli.Overwrite = False,
    timeout: cli.Timeout = TIMEOUT,
    fitting: SearcherOptions,
    source: CollectionOptions,
    caching: CacheOptions,
    plugin: cli.Plugin = None,
) -> None:
    """Build a searcher: documents, rankers fitted to them, and an index, in one folder.

    The documents may have any fields.

    Examples:

    rankloom build notes

    rankloom build docs.jsonl --ranker bm25 --ranker static -o shop.loom

    rankloom build docs.csv --text name --text description --ranker bm25 --ranker bow-cosine -o shop.loom
    """
    from rankloom.datasets.table import is_json, is_table
    from rankloom.searcher import Searcher
    from rankloom.searcher.batch import TEXT_FIELDS
    from rankloom.searcher.storage import KIND

    output = output or _named_after(documents)
    check_absent(output, KIND, None if overwrite else "--overwrite")
    check_output(output, documents, source.path, fitting.ranker)
    writes(output)
    settings = fitting.settings()
    with cli.progress_bars() as progress:
        searcher = Searcher.build(
            documents if source.path is None else source.read(documents),
            **settings,
            self_test=self_test,
            store=store,
            text=text or TEXT_FIELDS,
            id=id_field,
            filter_as_text=filter_as_text or (),
            cache=caching.open(),
            strict=source.strict,
            encoding=source.encoding if source.path is None else None,
            progress=progress,
        )
        progress("Saving", 0, 1)
        searcher.save(output, overwrite=overwrite, timeout=timeout)
        progress("Saving", 1, 1)
    built = cli.counted(len(searcher), "document")
    found = recalls(searcher.info()["recall"])
    cli.echo(f"Built {output}: {built}, rankers {', '.join(searcher.rankers)}{found}.", err=True)
    guessed = ("date",) if is_json(documents) else ("number", "date")
    if searcher.state.settings.guard is not None:
        cli.echo(str(searcher.state.settings.guard), err=True)
    types = searcher.field_types
    fields = [f"{name} as a {type}" for name, type in types.items() if type.split()[-1] in guessed]
    _say_what_is_searched(searcher, types.keys() - {"id", *(filter_as_text or ())} if is_table(documents) else set())
    if fields:
        cli.echo(f"--where compares {', '.join(fields)}; --filter-as-text keeps a field as text.", err=True)
    for item, reason in searcher.skipped.items():
        cli.echo(f"Skipped {item}: {reason}", err=True)


def _say_what_is_searched(searcher: "Searcher", columns: set[str]) -> None:
    """Say which columns of text are not searched, and that documents have no text."""
    from rankloom.searcher.batch import text_of

    kept = searcher.state.settings.store == "all"
    if not kept or all(retriever.part != "texts" for retriever in searcher.state.retrievers.values()):
        return
    fields, types = searcher.state.settings.fields, searcher.field_types
    others = [name for name in types if name in columns and types[name] == "text" and name not in fields]
    if others:
        searched = ", ".join(name for name in fields if name in types)
        cli.echo(f"Searches {searched}; not {', '.join(others)}: name them with --text.", err=True)
    empty = [str(document["id"]) for document in searcher.documents[:] if not text_of(document, fields).strip()]
    if empty:
        cli.echo(f"{cli.counted(len(empty), 'document')} without text: {cli.first_few(empty)}.", err=True)


def _named_after(documents: str) -> Path:
    """Return the folder of a searcher, in the current folder: notes.loom for docs/notes or notes.csv.gz."""
    from rankloom.datasets import parse_collection
    from rankloom.datasets.table import is_table

    call = parse_collection(documents)
    path = Path(str(dict(call.options).get("path", call.name))).absolute()
    return Path(f"{path.name.split('.')[0] if is_table(str(path)) else path.resolve().name}.loom")
