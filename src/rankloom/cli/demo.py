"""`rankloom demo`: compare fusion methods on a bundled collection, then serve it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Annotated

from rankloom.aggregate import METHODS as KNOWN
from rankloom.aggregate import QueryMethod, fuse
from rankloom.cli.app import Option, app, echo, print_table, progress_bars
from rankloom.cli.option_groups import CacheOptions, expand_groups
from rankloom.cli.serve import Host, Port, print_url
from rankloom.errors import InputError
from rankloom.evaluation import compare, evaluate, legend
from rankloom.io.cache import Cache, digest_bytes
from rankloom.io.version import __version__
from rankloom.ranks.arrays import Floats

if TYPE_CHECKING:
    import socket

    from rankloom.datasets import Collection
    from rankloom.searcher import Searcher
    from rankloom.web import Tour

#: What each ranker looks at. Of the sets in docs/emoji.md, this one gains most by fusion.
RANKERS = {"bic": "colors at borders", "htd": "texture", "jaccard": "shared words", "bow": "frequent words"}
HEADING = "Four rankers, one better list"
SELECTIONS = {"all four": tuple(RANKERS), "words only": ("jaccard", "bow")}
#: rkgraph and recknngraphccs are the best other methods that use graphs, see docs/emoji.md.
METHODS = {
    "rrf": "reciprocal rank fusion (RRF)",
    "combsum": "CombSUM",
    "recknngraphccs": "RecKNNGraphCCs",
    "rkgraph": "RkGraph",
    "fg": "fusion graphs (FG)",
    "vote": "vote",
    "weft": "weft",
}
OURS = "weft"  # the method that the others are compared with
MEASURE = "ndcg@10"
DEPTH = 1000  # of the lists
CUTOFF = 10  # of fusion graphs; methods that see one query at a time get as many other items of each list
#: What the first page explains: an item that fusion finds better neighbors for than any ranker, and a text.
EXAMPLES = ({"item": "cactus"}, {"query": "bad weather"})
Columns = dict[str, dict[str, Floats]]  # selection -> ranker or method -> value of each query


@app.command()
@expand_groups
def demo(
    texts: Annotated[
        bool, Option("--text", help="Use texts with judged queries instead: rankloom's own reference.")
    ] = False,
    serving: Annotated[
        bool, Option("--serve/--no-serve", help="Serve the page, and print the table meanwhile.")
    ] = True,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    first: Annotated[int | None, Option(min=2, help="Use only this many emoji, for a quick look.")] = None,
    *,
    caching: CacheOptions,
) -> None:
    """Rank a bundled collection, compare fusion methods, and serve the page.

    The collection is 1616 emoji with names and keywords, or with --text the reference of rankloom's methods, rankers
    and measures, with judged queries. The first start ranks, the next ones use the cache; the table is printed while
    the page is served. If the port is in use, another one is chosen.

    Examples:

    rankloom demo

    rankloom demo --text

    rankloom demo --no-serve
    """
    if serving:
        from rankloom.web import check_extra

        check_extra()
    if texts and first is not None:
        raise InputError("--first is a number of emoji; leave it out with --text.")
    sock = _listen(host, port) if serving else None  # before the work, so that another port is announced at once
    prepare = _prepared_texts if texts else _prepared_emoji
    prepared = prepare(caching.open(), first)
    if sock is None:
        prepared.print_report()
    else:
        _serve(prepared, sock, host)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A collection that is ranked, with the report on it."""

    searcher: "Searcher"
    collection: "Collection"
    tour: "Tour"
    print_report: Callable[[], None]  #: computes and prints the table


def _prepared_emoji(cache: Cache, first: int | None) -> Prepared:
    from rankloom.datasets import emoji
    from rankloom.web import Tour

    collection = emoji(first)
    tour = Tour(HEADING if first is None else "", RANKERS, EXAMPLES)
    searcher = _built(collection, tuple(RANKERS), cache, DEPTH)
    measured = _Measured(searcher, collection, cache)
    return Prepared(searcher, collection, tour, lambda: _print_emoji(measured, collection))


def _prepared_texts(cache: Cache, first: int | None) -> Prepared:
    from rankloom.cli.reference import RANKERS, TOUR, reference

    collection = reference()
    searcher = _built(collection, tuple(RANKERS), cache)
    return Prepared(searcher, collection, TOUR, lambda: _print_texts(searcher, collection))


def _built(collection: "Collection", rankers: Sequence[str], cache: Cache, depth: int = 200) -> "Searcher":
    from rankloom.searcher import Searcher

    with progress_bars() as progress:
        return Searcher.build(collection, rankers, depth=depth, cache=cache, progress=progress)


def _print_emoji(measured: "_Measured", collection: "Collection") -> None:
    columns = {
        selection: {name: measured.values(name, rankers) for name in (*rankers, *METHODS)}
        for selection, rankers in SELECTIONS.items()
    }
    echo(f"{collection.about}; each one a query for the others, {MEASURE.upper()}:\n")
    print_table(["", *SELECTIONS], list(_rows(columns)))
    echo(f"{legend(OURS)} FG has cutoff {CUTOFF}.")
    echo(f"{_verdict(columns)}\nThe rankers were chosen for that: docs/emoji.md has the other sets.\n")


def _print_texts(searcher: "Searcher", collection: "Collection") -> None:
    """Print how each ranker, RRF and vote answer the judged queries."""
    assert collection.queries is not None
    queries = dict(zip(collection.queries.ids, collection.queries.part("texts"), strict=True))
    echo(f"{collection.about}:\n")
    echo(f"{searcher.evaluate(queries, collection.queries.qrels)}\n")


def _rows(columns: Columns) -> Iterator[list[str]]:
    """Yield the rows of the table: the rankers, then the methods."""
    for name in (*RANKERS, *METHODS):
        row = [METHODS[name] if name in METHODS else f"{RANKERS[name]} ({name})"]
        for values in columns.values():
            mark = "" if name == OURS or name not in values else compare(values[name], values[OURS]).mark
            row.append(f"{values[name].mean():.4f} {mark}".rstrip() if name in values else "")
        yield row


def _verdict(columns: Columns) -> str:
    """Return a sentence on all rankers together: whether fusing them is better than the best one alone."""
    selection, values = next(iter(columns.items()))
    best = max(RANKERS, key=lambda name: float(values[name].mean()))
    found = compare(values[OURS], values[best])
    verdict = {"better": "is significantly better than", "tie": "does not beat", "worse": "loses to"}
    return f"{OURS} of {selection} {verdict[found.verdict]} {best}, the best ranker alone: {found.difference:+.4f}."


class _Measured:
    """The measure of each query by rankers and methods; cached, because some methods take a while."""

    def __init__(self, searcher: "Searcher", collection: "Collection", cache: Cache) -> None:
        self._cache, self._labels = cache, collection.labels or ()
        self._ranks = dict(searcher.state.lists)
        self._digest = digest_bytes(*(ranks.items.tobytes() for ranks in self._ranks.values()))

    def values(self, name: str, rankers: Sequence[str]) -> Floats:
        """Return the values of a ranker, or of a method that fuses some rankers."""
        key = digest_bytes(repr(("demo 6", __version__, self._digest, name, rankers, MEASURE)).encode())
        values = (self._cache.load(key) or {}).get("values")
        if values is None or values.shape != (len(self._labels),):
            values = self._evaluate(name, rankers)
            self._cache.save(key, {"values": values})
        return values

    def _evaluate(self, name: str, rankers: Sequence[str]) -> Floats:
        ranks = self._ranks.get(name)
        if ranks is None:
            lists = [self._ranks[ranker] for ranker in rankers]
            cut = [ranks.head(CUTOFF + 1) for ranks in lists] if issubclass(KNOWN[name], QueryMethod) else lists
            ranks = fuse(cut, method=name, k=CUTOFF + 1)
        return evaluate(ranks, labels=self._labels, measures=[MEASURE], per_query=True, exclude_self=True)[MEASURE]


def _listen(host: str, port: int) -> "socket.socket":
    from rankloom.web import listen

    try:
        return listen(host, port)
    except InputError as error:  # most likely another demo
        echo(f"{error} Using another port instead.", err=True)
        return listen(host, 0)


def _serve(prepared: Prepared, sock: "socket.socket", host: str) -> None:
    """Serve the page, and print the report meanwhile."""
    from rankloom.web import make_app, serve

    def ready(url: str) -> None:
        print_url(url)
        Thread(target=prepared.print_report, daemon=True).start()

    collection, tour = prepared.collection, prepared.tour
    app = make_app(prepared.searcher, collection=collection, tour=tour, allowed_hosts=[host])
    serve(app, sock, ready=ready)
