"""Run the experiments in experiments/effectiveness and write docs/effectiveness.md; run by `make effectiveness`.

    RANKLOOM_DATA=data python experiments/effectiveness.py results/effectiveness

Names of specifications after the folder restrict the run to these, and the page says which are missing. An
interrupted run resumes; finished experiments are not computed again.
"""

import sys
import textwrap
import tomllib
from collections import Counter
from pathlib import Path
from statistics import fmean

from sections import filled

from rankloom.evaluation import compare, legend
from rankloom.experiment import Experiment, run
from rankloom.experiment import results as rec
from rankloom.experiment.spec import SWEPT_NEIGHBORS

ROOT = Path(__file__).parents[1]
SPECIFICATIONS = ROOT / "experiments" / "effectiveness"
FIGURES = tomllib.loads((ROOT / "experiments" / "effectiveness_figures.toml").read_text("utf-8"))
SUPERVISED = ROOT / "experiments" / "effectiveness-supervised.md"  #: written by experiments/supervised.py
MERGED = ROOT / "experiments" / "effectiveness-merged.md"  #: written by experiments/merged.py
ONE_RANKER = ROOT / "experiments" / "effectiveness-one-ranker.md"  #: written by experiments/one_ranker.py
BEYOND = ROOT / "experiments" / "effectiveness-beyond.md"
#: The defaults of weft were chosen on these.
DEVELOPED_ON = ("soccer", "brodatz", "ukbench", "mpeg7", "emoji", "emoji-uw", "digits", "ohsumed")
#: These were first used after the method was finished.
MULTIVIEW = ("handwritten", "msrc-v1", "landuse21", "bbcsport-2view", "3sources", "citeseer")
ITEMS = (*DEVELOPED_ON, *MULTIVIEW)
#: The constants of vote were chosen on the first seven.
CHOSEN_ON = ("med", "cisi", "cacm", "scifact", "npl", "cranfield", "cosqa")
QUERIES = (*CHOSEN_ON, "checkthat2020", "wikiqa")
SINGLE = "best single"
#: Title of a column -> method.
ITEM_COLUMNS = {
    "best single": SINGLE,
    "RRF": "rrf",
    "CombSUM": "combsum",
    "FG, cutoff 10": "fg(cutoff=10)",
    "FG, cutoff 20": "fg(cutoff=20)",
    "RkGraph": "rkgraph",
    "RkGraph, best": "rkgraph(neighbors=sweep)",
    "RecKNN": "recknngraphccs",
    "RecKNN, best": "recknngraphccs(neighbors=sweep)",
    "SCA": "sca",
    "SCA, best": "sca(neighbors=sweep)",
    "weft, agreement": "weft(weights=agreement)",
    "**weft**": "weft",
}
QUERY_COLUMNS = {
    "best single": SINGLE,
    "RRF": "rrf",
    "CombSUM": "combsum",
    "DBSF": "dbsf",
    "log-odds": "logodds",
    "TM2C2": "wsum(normalization=tmm)",
    "relative score fusion": "wsum(depth=1000)",
    "FG, cutoff 10": "fg(cutoff=10)",
    "weft": "weft",
    "**vote**": "vote",
}
#: The first form of vote, by collection: NDCG@10 and recall@100 at commit 67ca5ea, with lists of 100 and of 200 items.
FIRST_FORM = {
    "med": (0.8154, 0.9767),
    "cisi": (0.4735, 0.5404),
    "cacm": (0.5568, 0.7811),
    "scifact": (0.7273, 0.9650),
    "npl": (0.4928, 0.6667),
    "cranfield": (0.4607, 0.8402),
    "cosqa": (0.5708, 0.9900),
    "checkthat2020": (0.8836, 0.9900),
    "wikiqa": (0.6456, 0.9758),
}
SWEPT = ("RkGraph", "RecKNN", "SCA")  # also at the best number of neighbors
ALPHA, TOLERANCE = 0.01, 0.002
VOTE_TOLERANCE = {"checkthat2020": 0.012, "wikiqa": 0.012}  # by how titles and texts are joined; else .005
MAIN, RECALL = "ndcg@10", "recall@100"


class Measured:
    """The results of one experiment, by method."""

    def __init__(self, results):
        self.results = results
        self.rankers = {one.ranker: one.values for one in results.of(rec.RankerRecord)}
        self.methods = {one.method: one.values for one in results.of(rec.MethodRecord)}
        self.chosen = {one.method: one.chosen for one in results.of(rec.MethodRecord) if one.chosen}
        self.best_ranker = max(self.rankers, key=lambda name: self.rankers[name][MAIN].mean())

    def values(self, name, measure=MAIN):
        """Return the value of each query by a method, a ranker or the best single ranker."""
        found = self.rankers | self.methods | {SINGLE: self.rankers[self.best_ranker]}
        return found[name][measure]

    def mean(self, name, measure=MAIN):
        """Return the mean over the queries."""
        return float(self.values(name, measure).mean())

    def comparison(self, name, ours, measure=MAIN):
        """Return a method, a ranker or the best single ranker compared with our method."""
        return compare(self.values(name, measure), self.values(ours, measure), alpha=ALPHA)


def table(measured, columns, ours, measure=MAIN):
    """Yield the lines of a table: a row for each collection, then the means, and how often they differ from `ours`."""
    names = columns.values()
    yield f"| | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for one in measured.values():
        cells = [_cell(one, ours, name, measure) for name in names]
        yield f"| {one.results.experiment.name} | {' | '.join(cells)} |"
    yield f"| mean | {' | '.join(f'{fmean(one.mean(n, measure) for one in measured.values()):.4f}' for n in names)} |"
    outcomes = [Counter(one.comparison(name, ours, measure).verdict for one in measured.values()) for name in names]
    counts = [
        "" if n == ours else f"{o['better']}/{o['tie']}/{o['worse']}" for n, o in zip(names, outcomes, strict=True)
    ]
    yield f"| better/tie/worse than {ours} | {' | '.join(counts)} |"


def _cell(one, ours, name, measure):
    value = f"{one.mean(name, measure):.4f}"
    return f"**{value}**" if name == ours else f"{value} {one.comparison(name, ours, measure).mark}"


def reproduced(measured):
    """Yield (collection, measure, method, specified, here) for every figure of the specification."""
    for kind in ("items", "queries"):
        for name, figures in FIGURES[kind].items():
            for method, figure in figures.items() if name in measured else ():
                pairs = zip((MAIN, RECALL), figure, strict=False) if kind == "queries" else [(MAIN, figure)]
                for measure, value in pairs:
                    yield name, measure, method, value, measured[name].mean(method, measure)


def is_close(name, method, specified, here):
    """Return True if a figure of a collection is reproduced, after rounding as the specification does."""
    limit = VOTE_TOLERANCE.get(name, 0.005) if method == "vote" else TOLERANCE
    return abs(specified - round(here, digits(name, method))) <= limit + 1e-9


def digits(name, method):
    """Return the number of digits of the specified figures of a collection."""
    return 4 if name in FIGURES["items"] or (method == "vote" and name in CHOSEN_ON) else 3


def page(measured):
    """Return the page."""
    seen, fresh, queries = (
        {name: measured[name] for name in names if name in measured} for names in (DEVELOPED_ON, MULTIVIEW, QUERIES)
    )
    lines = [*_head(measured), *_advice(seen | fresh, queries)]
    if seen or fresh:
        lines += ["## Items as queries", "", filled(ITEMS_INTRO), ""]
    for intro, found in ((SEEN_INTRO, seen), (FRESH_INTRO, fresh)):
        lines += [filled(intro), "", *table(found, ITEM_COLUMNS, "weft"), "", *_rankers(found), ""] if found else []
    if queries:
        lines += ["## External queries", "", filled(QUERIES_INTRO), "", "NDCG@10:", ""]
        lines += [*table(queries, QUERY_COLUMNS, "vote"), "", "Recall@100:", ""]
        lines += [*table(queries, QUERY_COLUMNS, "vote", RECALL), "", *_first_form(queries), ""]
        lines += [*_rankers(queries), ""]
    lines += [*_kept(MERGED), *_kept(ONE_RANKER), *_reproduction(measured), *_kept(SUPERVISED), *_kept(BEYOND)]
    return "\n".join(lines)


ITEMS_INTRO = (
    f"Every item is a query, and the items of its class are relevant. NDCG@10. {legend('weft', alpha=ALPHA)} All "
    "rankers of a collection are fused. RRF and CombSUM get the first 100 of each list, the graph methods the lists to "
    "a depth of 1000; weft has its defaults, cutoff 20. 'best': of "
    f"{', '.join(map(str, SWEPT_NEIGHBORS))} neighbors, the best number on this collection, chosen with the labels; "
    "the column before it has the default. No other method uses labels. The items were shuffled before they were "
    "ranked."
)
SEEN_INTRO = "The defaults of weft were chosen on these collections (not on all of these rankers):"
FRESH_INTRO = "Multi-view sets, first used after the method was finished:"
QUERIES_INTRO = (
    "Text queries with relevance judgments, which are not items. The rankers are `okapi` (BM25) and the sentence "
    "embeddings of MiniLM. RRF, CombSUM, DBSF, log-odds and TM2C2 get the first 100 of each list, relative score "
    "fusion (`wsum`) 1000, vote 300; FG and weft search the collection, without virtual positions. "
    f"{legend('vote', alpha=ALPHA)} RkGraph, RecKNN and SCA do not answer external queries. The constants of vote were "
    "chosen on the first seven collections and checked on others: CheckThat, WikiQA and six that are not here. The "
    "last table has the first form of vote, CombSUM with weft's list as a fifth of the votes, at commit 67ca5ea."
)


def _kept(part):
    """Return a section that another script wrote, if it did."""
    return [part.read_text("utf-8").rstrip(), ""] if part.is_file() else []


def _head(measured):
    first = next(iter(measured.values()))
    versions = ", ".join(f"{name} {number}" for name, number in first.results.about["versions"].items())
    seeds = ", ".join(sorted({str(one.results.experiment.seed) for one in measured.values()}))
    yield "# Effectiveness"
    yield ""
    yield filled(
        "How effective the methods are on every collection we have. `make effectiveness` generates this page from the "
        "specifications in [experiments/effectiveness](../experiments/effectiveness), with the data in "
        f"`RANKLOOM_DATA`; seed {seeds}; {versions}. weft and vote have the same defaults on all collections."
    )
    missing = [name for name in (*ITEMS, *QUERIES) if name not in measured]
    if missing:
        yield ""
        yield filled(f"Not run yet: {', '.join(missing)}.")
    yield ""


def _advice(items, queries):
    yield "## When to use what"
    yield ""
    if items:
        ours, rrf, fg, single = (
            fmean(one.mean(name) for one in items.values()) for name in ("weft", "rrf", "fg(cutoff=10)", SINGLE)
        )
        yield bullet(
            "**To find similar items** (images among images, documents among documents): `weft`. Mean NDCG@10 "
            f"{ours:.3f}; RRF {rrf:.3f}, FG {fg:.3f}, the best single ranker {single:.3f}."
        )
        swept = []
        for title in SWEPT:
            best, default = (
                fmean(one.mean(ITEM_COLUMNS[name]) for one in items.values()) for name in (f"{title}, best", title)
            )
            swept.append(f"{title} {best:.3f} (default {default:.3f})")
        yield bullet(
            "**With labels to choose the number of neighbors**, graph methods come close: "
            f"{', '.join(swept)}. The number should match the size of the classes."
        )
    if queries:
        ours, rrf, weft, fg = (
            fmean(one.mean(name) for one in queries.values()) for name in ("vote", "rrf", "weft", "fg(cutoff=10)")
        )
        recall = [fmean(one.mean(name, RECALL) for one in queries.values()) for name in ("vote", "rrf")]
        yield bullet(
            f"**For text queries over documents**: `vote`. Mean NDCG@10 {ours:.3f}; RRF {rrf:.3f}. Recall@100 "
            f"{recall[0]:.3f}; RRF {recall[1]:.3f}. Do not use weft ({weft:.3f}) or FG ({fg:.3f}) alone: if a query "
            "has a single relevant document, its neighborhood pushes it down."
        )
    yield bullet("**A single text ranker**: `vote` too; its own neighbors help it ([below](#one-ranker-alone)).")
    yield bullet("**Images or vectors as external queries**: `weft` with virtual positions (`comparable=`).")
    yield bullet(
        "**One ranker far ahead of the others**: use it alone, fuse it with its equals, or try "
        "`weft(weights=agreement)`, which weights rankers by how much they agree with the fusion."
    )
    yield bullet("**Only the lists of queries, none of items**: `rrf` or `combsum`.")
    yield bullet("**The paper's method, exactly**: `fg`.")
    yield ""


def _first_form(measured):
    names = [name for name in measured if name in FIRST_FORM]
    yield f"| vote, first form | {' | '.join(measured[name].results.experiment.name for name in names)} |"
    yield f"|---|{'---:|' * len(names)}"
    for at, measure in enumerate((MAIN, RECALL)):
        yield f"| {measure} | {' | '.join(f'{FIRST_FORM[name][at]:.4f}' for name in names)} |"


def _rankers(measured):
    yield "| | items | queries | rankers (best first) |"
    yield "|---|---:|---:|---|"
    for one in measured.values():
        about = one.results.about
        order = sorted(one.rankers, key=lambda name: -one.mean(name))
        listed = ", ".join(f"{name} {one.mean(name):.3f}" for name in order)
        n = len(one.values(SINGLE))  # judged ones
        yield f"| {one.results.experiment.name} | {about['n_items']} | {n} | {listed} |"


def _reproduction(measured):
    found = list(reproduced(measured))
    if not found:
        return
    off = [one for one in found if not is_close(one[0], *one[2:])]
    yield "## Comparison with the specification"
    yield ""
    yield filled(
        f"The specification has the figures of prototypes. Of {len(found)}, {len(found) - len(off)} are "
        f"reproduced to within {TOLERANCE} (vote: .005, CheckThat and WikiQA: .012); the others are in bold. Specified "
        "figures are in parentheses. The prototype of weft did not truncate rows (`width=none`). There are no figures "
        "for single multi-view "
        "sets, and it is not said which rankers or samples were used for UKBench, MPEG-7, digits and Ohsumed."
    )
    yield ""
    for measure in (MAIN, RECALL):
        for kind in ("items", "queries"):
            rows = [one for one in found if one[0] in FIGURES[kind] and one[1] == measure]
            yield from _compared(measured, measure, rows) if rows else ()


def _compared(measured, measure, rows):
    """Yield a table of our and the specified figures: a row for each method, a column for each collection."""
    names = list(dict.fromkeys(name for name, *_ in rows))
    cells = {(name, method): (specified, here) for name, _, method, specified, here in rows}
    yield f"| {measure} | {' | '.join(measured[name].results.experiment.name for name in names)} |"
    yield f"|---|{'---:|' * len(names)}"
    for method in dict.fromkeys(method for _, _, method, *_ in rows):
        yield f"| `{method}` | {' | '.join(_figures(name, method, *cells.get((name, method), ())) for name in names)} |"
    yield ""


def _figures(name, method, specified=None, here=None):
    if here is None:
        return ""
    text = f"{here:.4f} ({specified:.{digits(name, method)}f})"
    return text if is_close(name, method, specified, here) else f"**{text}**"


def bullet(text):
    """Return an item of a list."""
    return textwrap.fill(f"- {text}", 120, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def measure(folder, names=(*ITEMS, *QUERIES), report=print):
    """Run the experiments, or read what is finished, and return {name: Measured}."""
    found = {}
    for name in names:
        experiment = Experiment.read(SPECIFICATIONS / f"{name}.toml")
        report(f"{name} ...")
        results = run(experiment, Path(folder) / name, base=SPECIFICATIONS, command="make effectiveness")
        if results.about["failed"]:
            raise SystemExit(f"{name}: {' '.join(results.about['failed'])}")
        found[name] = Measured(results)
    return found


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("Usage: python experiments/effectiveness.py RESULTS [NAME ...]")
    measured = measure(sys.argv[1], sys.argv[2:] or (*ITEMS, *QUERIES))
    (ROOT / "docs" / "effectiveness.md").write_text(page(measured), "utf-8")
