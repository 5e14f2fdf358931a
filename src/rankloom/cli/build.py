"""`rankloom build`: build a searcher from documents."""

from pathlib import Path
from typing import Annotated

from rankloom.cli import app as cli
from rankloom.cli.option_groups import CacheOptions, CollectionOptions, SearcherOptions, expand_groups
from rankloom.cli.outputs import check_output, writes
from rankloom.io.folder_writer import TIMEOUT, check_absent


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
    filter_as_text: Annotated[
        list[str] | None,
        cli.Option(
            help="A field that --where compares as text, even if all its values are numbers or dates. Repeatable."
        ),
    ] = None,
    *,
    overwrite: cli.Overwrite = False,
    timeout: cli.Timeout = TIMEOUT,
    fitting: SearcherOptions,
    source: CollectionOptions,
    caching: CacheOptions,
    plugin: cli.Plugin = None,
) -> None:
    """Build a searcher: documents, rankers fitted to them, and an index, in one folder.

    The documents may have any fields; "id" is the id, and by default they are numbered.

    Examples:

    rankloom build notes

    rankloom build docs.jsonl --ranker bm25 --ranker static -o shop.loom

    rankloom build docs.csv --text name --text description --ranker bm25 --ranker bow-cosine -o shop.loom
    """
    from rankloom.datasets.table import is_json
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
            text=text or TEXT_FIELDS,
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
    cli.echo(f"Built {output}: {built}, rankers {', '.join(searcher.rankers)}.", err=True)
    guessed = ("date",) if is_json(documents) else ("number", "date")
    fields = [f"{name} as {type}" for name, type in searcher.field_types.items() if type.split()[-1] in guessed]
    if fields:
        cli.echo(f"--where compares {', '.join(fields)}; --filter-as-text keeps a field as text.", err=True)
    for item, reason in searcher.skipped.items():
        cli.echo(f"Skipped {item}: {reason}", err=True)


def _named_after(documents: str) -> Path:
    """Return the folder of a searcher, in the current folder: notes.loom for docs/notes or notes.csv.gz."""
    from rankloom.datasets import parse_collection
    from rankloom.datasets.table import is_table

    call = parse_collection(documents)
    path = Path(str(dict(call.options).get("path", call.name))).absolute()
    return Path(f"{path.name.split('.')[0] if is_table(str(path)) else path.resolve().name}.loom")
