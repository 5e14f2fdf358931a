"""`rankloom demo`: compare fusion methods on the bundled emoji, then serve them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloom.cli.app import app, print_table, progress_bars
from rankloom.cli.option_groups import CacheOptions, expand_groups
from rankloom.cli.serve import Host, Port, print_url
from rankloom.errors import InputError

if TYPE_CHECKING:
    from rankloom.datasets import Collection
    from rankloom.io.cache import Cache
    from rankloom.searcher import Searcher

#: From experiments/emoji.toml: the two best rankers of color, of texture and of text.
RANKERS = ("bic", "gch", "las", "qcch", "jaccard", "bow")
SELECTIONS = {"all six": RANKERS, "jaccard + bow": ("jaccard", "bow")}
#: rkgraph and recknngraphccs are the best other methods that use graphs, see docs/emoji.md.
METHODS = {
    "rrf": "reciprocal rank fusion (RRF)",
    "combsum": "CombSUM",
    "recknngraphccs": "RecKNNGraphCCs",
    "rkgraph": "RkGraph",
    "fg": "fusion graphs (FG)",
    "weft": "weft",
}
OURS = "weft"  # the method that the others are compared with
MEASURE = "ndcg@10"
DEPTH = 1000  # of the lists
CUTOFF = 10  # of fusion graphs; methods that see one query at a time get as much of each list
Columns = dict[str, dict[str, Any]]  # selection -> ranker or method -> value of each query


@app.command()
@expand_groups
def demo(
    serving: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the page after the table.")] = True,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    first: Annotated[
        int | None, typer.Option(min=2, help="Use only this many emoji, for a quick look.", show_default=False)
    ] = None,
    *,
    caching: CacheOptions,
) -> None:
    """Rank the bundled emoji, compare fusion methods, and serve the page.

    The first run ranks 1616 images with names and keywords; the next one uses the cache and starts in seconds.
    If the port is in use, another one is chosen.

    Examples:

    rankloom demo

    rankloom demo --no-serve
    """
    from rankloom.datasets import emoji
    from rankloom.searcher import Searcher

    if serving:
        from rankloom.web import check_extra

        check_extra()
    opened, collection = caching.open(), emoji(first)
    with progress_bars() as progress:
        searcher = Searcher.build(collection, RANKERS, depth=DEPTH, cache=opened, progress=progress)
        columns = _columns(_Measured(searcher, collection, opened), progress)
    typer.echo(f"{collection.about}; each one a query, {MEASURE.upper()}:\n")
    print_table(["", *SELECTIONS], list(_rows(columns)))
    typer.echo(f"▲ {OURS} is better than this, ▼ worse, • no difference (paired t-test, 99 %); FG at cutoff {CUTOFF}.")
    typer.echo(_verdict(columns) + "\n")
    if serving:
        _serve(searcher, collection, host, port)


def _columns(table: "_Measured", progress: Any) -> Columns:
    """Return the values of rankers and methods on each selection."""
    names = [*RANKERS, *METHODS]
    columns: Columns = {}
    for number, (selection, rankers) in enumerate(SELECTIONS.items()):
        columns[selection] = {}
        for done, name in enumerate(names):
            progress("Comparing methods", number * len(names) + done, len(SELECTIONS) * len(names))
            if name in METHODS or name in rankers:
                columns[selection][name] = table.values(name, rankers)
    progress("Comparing methods", 1, 1)
    return columns


def _rows(columns: Columns) -> Iterator[list[str]]:
    """Yield the rows of the table: the rankers, then the methods."""
    from rankloom.evaluation import compare

    for name in (*RANKERS, *METHODS):
        row = [METHODS.get(name, name)]
        for values in columns.values():
            symbol = "" if name == OURS or name not in values else compare(values[OURS], values[name]).symbol
            row.append(f"{values[name].mean():.4f} {symbol}".rstrip() if name in values else "")
        yield row


def _verdict(columns: Columns) -> str:
    """Return a sentence on all rankers together: whether fusing them beats the best one alone."""
    from rankloom.evaluation import compare

    selection, values = next(iter(columns.items()))
    best = max(RANKERS, key=lambda name: float(values[name].mean()))
    others = [float(values[name].mean()) for name in RANKERS if name != best]
    verdict = {"better": "beats", "tie": "does not beat", "worse": "loses to"}
    outcome = verdict[compare(values[OURS], values[best]).verdict]
    return (
        f"{OURS} of {selection} {outcome} {best} alone; the other rankers score {min(others):.2f} to {max(others):.2f}."
    )


class _Measured:
    """The measure of each query by rankers and methods; cached, because some methods take a while."""

    def __init__(self, searcher: "Searcher", collection: "Collection", cache: "Cache") -> None:
        from rankloom.io.cache import digest_bytes

        self._cache, self._labels = cache, collection.labels or ()
        self._ranks: dict[str, Any] = dict(searcher.state.lists)
        self._digest = digest_bytes(*(ranks.items.tobytes() for ranks in self._ranks.values()))

    def values(self, name: str, rankers: Sequence[str]) -> Any:
        """Return the values of a ranker, or of a method that fuses some rankers."""
        from rankloom.io.cache import digest_bytes
        from rankloom.io.version import __version__

        key = digest_bytes(repr(("demo 4", __version__, self._digest, name, rankers, MEASURE)).encode())
        found = self._cache.load(key)
        if found is not None and "values" in found and found["values"].shape == (len(self._labels),):
            return found["values"]
        values = self._evaluate(name, rankers)
        self._cache.save(key, {"values": values})
        return values

    def _evaluate(self, name: str, rankers: Sequence[str]) -> Any:
        from rankloom.aggregate import METHODS as KNOWN
        from rankloom.aggregate import fuse
        from rankloom.evaluation import evaluate

        ranks = self._ranks.get(name)
        if ranks is None:
            lists = [self._ranks[one] for one in rankers]
            cut = [one.head(CUTOFF) for one in lists] if KNOWN[name].needs == "queries" else lists
            ranks = fuse(cut, method=name, k=CUTOFF)
        return evaluate(ranks, labels=self._labels, measures=[MEASURE], per_query=True)[MEASURE]


def _serve(searcher: "Searcher", collection: "Collection", host: str, port: int) -> None:
    from rankloom.web import listen, serve

    try:
        sock = listen(host, port)
    except InputError as error:  # most likely another demo
        typer.echo(f"{error} Using another port instead.", err=True)
        sock = listen(host, 0)
    serve(searcher, sock, collection=collection, allowed_hosts=[host], ready=print_url)
