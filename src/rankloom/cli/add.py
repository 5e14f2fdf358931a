"""`rankloom add`: add documents to a searcher."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rankloom.cli import app as cli
from rankloom.cli.outputs import writes
from rankloom.errors import InputError
from rankloom.io.folder_writer import TIMEOUT

if TYPE_CHECKING:
    from rankloom.searcher import Searcher

Folder = Annotated[Path, cli.Argument(metavar="SEARCHER", help="A folder made by 'rankloom build'.")]


@cli.app.command()
def add(
    path: Folder,
    documents: Annotated[
        str,
        cli.Argument(
            metavar="DOCUMENTS", help="Documents, in any form that 'rankloom build' accepts, or a single text or image."
        ),
    ],
    encoding: cli.Encoding = None,
    timeout: cli.Timeout = TIMEOUT,
    plugin: cli.Plugin = None,
) -> None:
    """Add documents to a searcher.

    Statistics, such as document frequencies, stay those of the build until 'rankloom compact'; words that no document
    had are not found until then. A killed command leaves the old or the new searcher.

    Examples:

    rankloom add shop.loom new.jsonl

    rankloom add notes.loom notes/new.md
    """
    from rankloom.searcher.searcher import updating

    writes(path)
    with cli.progress_bars() as progress, updating(path, timeout=timeout) as searcher:
        before = len(searcher)
        progress("Adding", 0, 1)
        searcher.add(documents, encoding=encoding)
        progress("Adding", 1, 1)
        if len(searcher) == before:
            raise InputError(f"{documents} has no documents; give at least one.")
        unknown = _unknown_words(searcher, before)
    cli.echo(f"Added {cli.counted(len(searcher) - before, 'document')}; {path} has {len(searcher)}.", err=True)
    for name, words in unknown.items():
        cli.echo(
            f"{cli.counted(len(words), 'word')} of these, such as {min(words)}, cannot be found by {name} until "
            f"'rankloom compact {path}'.",
            err=True,
        )


def _unknown_words(searcher: "Searcher", start: int) -> dict[str, set[str]]:
    """Return by ranker the words, as it stems them, that only the documents from `start` on have."""
    from rankloom.rankers.text.term_model import TermModel
    from rankloom.rankers.text.terms import Texts
    from rankloom.searcher.batch import text_of
    from rankloom.searcher.retriever import Model

    fields = searcher.state.settings.fields
    texts = Texts(text_of(document, fields) for document in searcher.documents[start:])
    unknown = {}
    for name, model in searcher.state.retrievers.items():
        if isinstance(model, Model) and isinstance(model.fitted, TermModel):
            vocabulary = model.fitted.space.vocabulary
            unknown[name] = set(texts.tokens(vocabulary.tokenizer)[0]) - vocabulary.numbers.keys()
    return {name: words for name, words in unknown.items() if words}
