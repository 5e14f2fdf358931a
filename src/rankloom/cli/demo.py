"""The command that shows what rankloom does, without anything at hand: `demo`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloom.cli.app import CacheFolder, NoCache, app, kept, print_table, progress_bars
from rankloom.cli.serve import Host, Port, tell_address
from rankloom.errors import InputError

if TYPE_CHECKING:
    from rankloom.io.cache import Cache
    from rankloom.web import Library

#: Of experiments/emoji.toml: the best two of color, of texture and of words, each on its own.
RANKERS = ("bic", "gch", "las", "qcch", "jaccard", "bow")
SELECTIONS = {"all six": RANKERS, "jaccard + bow": ("jaccard", "bow")}
#: rkgraph and recknngraphccs are the best other methods that look at graphs, see docs/emoji.md.
METHODS = {
    "rrf": "reciprocal rank fusion (RRF)",
    "combsum": "CombSUM",
    "recknngraphccs": "RecKNNGraphCCs",
    "rkgraph": "RkGraph",
    "fg": "fusion graphs (FG)",
}
MEASURE = "ndcg@10"
CUTOFF = 10  # the L of fusion graphs: methods that look at one query at a time see as much of each list


@app.command()
def demo(
    serving: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the page after the table.")] = True,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    first: Annotated[
        int | None, typer.Option(min=2, help="Only so many of the emoji, for a quick look.", show_default=False)
    ] = None,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
) -> None:
    """Rank the emoji that come with the package, compare methods of fusion, and serve the page.

    The first run ranks 1616 pictures with names and keywords; the next one finds that kept, and starts in seconds.
    Where the port is taken, another one is.

    Examples:

    rankloom demo

    rankloom demo --no-serve
    """
    from rankloom.datasets import emoji
    from rankloom.web import Library, check_extra

    check_extra()
    keeping = kept(cache, no_cache)
    with progress_bars() as progress:
        library = Library.open(emoji(first), RANKERS, cache=keeping, progress=progress)
        rows = list(_rows(library, keeping, progress))
    typer.echo(f"{library.collection.about}; each one a query, {MEASURE.upper()}:\n")
    print_table(["", *SELECTIONS], rows)
    typer.echo(f"▲ FG is better than this, ▼ worse, • no difference (paired t-test, 99 %); L = {CUTOFF}.\n")
    if serving:
        _serve(library, host, port)


def _rows(library: "Library", cache: "Cache", progress: Any) -> Iterator[list[str]]:
    """Give the rows of the table: of each ranker, then of each method."""
    from rankloom.evaluation import compare

    names = [*RANKERS, *METHODS]
    columns = []
    for number, rankers in enumerate(SELECTIONS.values()):
        values = {}
        for done, name in enumerate(names):
            progress("Comparing methods", number * len(names) + done, len(SELECTIONS) * len(names))
            if name in METHODS or name in rankers:
                values[name] = _values(library, name, rankers, cache)
        columns.append(values)
    progress("Comparing methods", 1, 1)
    for name in names:
        row = [METHODS.get(name, name)]
        for values in columns:
            symbol = "" if name == "fg" or name not in values else compare(values["fg"], values[name]).symbol
            row.append(f"{values[name].mean():.4f} {symbol}".rstrip() if name in values else "")
        yield row


def _values(library: "Library", name: str, rankers: Sequence[str], cache: "Cache") -> Any:
    """Return the measure of each query, by a ranker or a method; kept, since some methods take a while."""
    from rankloom.io.cache import digest_bytes
    from rankloom.version import __version__

    key = digest_bytes(repr(("demo 2", __version__, library.version, name, rankers, MEASURE)).encode())
    found = cache.load(key)
    if found is not None and "values" in found and found["values"].shape == (len(library),):
        return found["values"]
    values = _measured(library, name, rankers)
    cache.save(key, {"values": values})
    return values


def _measured(library: "Library", name: str, rankers: Sequence[str]) -> Any:
    from rankloom.aggregate import METHODS as KNOWN
    from rankloom.aggregate import fuse
    from rankloom.evaluation import evaluate

    ranks = library.ranks.get(name)
    if ranks is None:
        lists = [library.ranks[one] for one in rankers]
        cut = [one.head(CUTOFF) for one in lists] if KNOWN[name].needs == "queries" else lists
        ranks = fuse(cut, method=name, k=CUTOFF)
    return evaluate(ranks, labels=library.collection.labels, measures=[MEASURE], per_query=True)[MEASURE]


def _serve(library: "Library", host: str, port: int) -> None:
    from rankloom.web import listen, serve

    try:
        listening = listen(host, port)
    except InputError as error:  # most likely another demo
        typer.echo(f"{error} Taking another port instead.", err=True)
        listening = listen(host, 0)
    serve(library, listening, names=[host], ready=tell_address)
