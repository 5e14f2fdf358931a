"""Run the experiments in experiments/effectiveness and write docs/effectiveness.md; run by `make effectiveness`.

    RANKLOOM_DATA=data python experiments/effectiveness.py results/effectiveness

Names of specifications after the folder restrict the run to these, and the page says which are missing. An
interrupted run resumes; finished experiments are not computed again.
"""

import sys
import textwrap
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import linear
from sections import filled

from rankloom.evaluation import compare, legend
from rankloom.experiment import Experiment, run
from rankloom.experiment import results as rec
from rankloom.experiment.inputs import prepare
from rankloom.experiment.spec import SWEPT_NEIGHBORS
from rankloom.io.cache import Cache
from rankloom.registry import Call

ROOT = Path(__file__).parents[1]
SPECIFICATIONS = ROOT / "experiments" / "effectiveness"
FIGURES = tomllib.loads((ROOT / "experiments" / "effectiveness_figures.toml").read_text("utf-8"))
SUPERVISED = ROOT / "experiments" / "effectiveness-supervised.md"  #: written by experiments/supervised.py
GUARD = ROOT / "experiments" / "effectiveness-guard.md"  #: written by experiments/guard.py
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
OTHERS = ("checkthat2020", "wikiqa")
QUERIES = (*CHOSEN_ON, *OTHERS)
GROUPS = {"mean of the first seven": CHOSEN_ON, "mean of the other two": OTHERS}
SINGLE = "best single"
LINEAR = "linear"  #: weights of vote's parts, learned from labels
SHALLOW = 60  #: depth of the lists of items in a searcher
SHALLOW_METHODS = ("weft", "fg(cutoff=10)")
#: Title of a column -> method.
ITEM_COLUMNS = {
    "best single": SINGLE,
    "RRF": "rrf",
    "CombSUM": "combsum",
    "FG, cutoff 10": "fg(cutoff=10)",
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
    "linear, by labels": LINEAR,
    "**vote**": "vote",
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


def table(measured, columns, ours, measure=MAIN, groups=()):
    """Yield the lines of a table: a row for each collection, then means, and how often they differ from `ours`.

    `groups` has (title, names of collections) for further means.
    """
    names = columns.values()
    yield f"| | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for one in measured.values():
        cells = [_cell(one, ours, name, measure) for name in names]
        yield f"| {one.results.experiment.name} | {' | '.join(cells)} |"
    for title, chosen in (*groups, ("mean", measured)):
        means = [fmean(measured[one].mean(name, measure) for one in chosen if one in measured) for name in names]
        yield f"| {title} | {' | '.join(f'{mean:.4f}' for mean in means)} |"
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
    lines = ["# Effectiveness", "", filled(INTRO), "", *_advice(seen | fresh, queries)]
    if seen or fresh:
        lines += ["## Items as queries", "", filled(ITEMS_INTRO), ""]
    for intro, found in ((SEEN_INTRO, seen), (FRESH_INTRO, fresh)):
        lines += [filled(intro), "", *table(found, ITEM_COLUMNS, "weft"), ""] if found else []
    lines += [*_shallow(seen | fresh), ""] if seen or fresh else []
    if queries:
        groups = [(title, names) for title, names in GROUPS.items() if set(names) & set(queries)]
        lines += ["## Text queries", "", filled(QUERIES_INTRO), ""]
        for title, measure in (("NDCG@10", MAIN), ("Recall@100", RECALL)):
            lines += [f"{title}:", "", *table(queries, QUERY_COLUMNS, "vote", measure, groups), ""]
        lines += [filled(APART), ""]
    kept = (GUARD, MERGED, ONE_RANKER, SUPERVISED, BEYOND)
    return "\n".join([*lines, *(line for part in kept for line in _kept(part)), *_provenance(measured)])


INTRO = "How effective the methods are on every collection we have. weft and vote have the same defaults everywhere."
ITEMS_INTRO = (
    f"Every item is a query, and the items of its class are relevant. NDCG@10. {legend('weft', alpha=ALPHA)} All "
    "rankers of a collection ([specifications](../experiments/effectiveness)) are fused. RRF and CombSUM get the first "
    "100 of each list, the graph methods 1000; weft has its defaults. 'best': of "
    f"{', '.join(map(str, SWEPT_NEIGHBORS))} neighbors, the best number on this collection, chosen with the labels; "
    "the column before it has the default. No other method uses labels."
)
SEEN_INTRO = "The defaults of weft were chosen on these collections (not on all of these rankers):"
FRESH_INTRO = "Multi-view sets, first used after the method was finished:"
QUERIES_INTRO = (
    "Queries with relevance judgments, ranked by `okapi` (BM25) and the sentence embeddings of MiniLM. RRF, CombSUM, "
    "DBSF, log-odds and TM2C2 get the first 100 of each list, relative score fusion (`wsum`) 1000, vote 300; FG and "
    f"weft search the collection, without virtual positions. {legend('vote', alpha=ALPHA)} 'linear, by labels': the "
    "three parts of vote (both rankers and weft) with weights learned from judged queries of the same collection, "
    "cross-validated with 5 folds. The constants of vote were chosen on the first seven collections."
)
APART = (
    "On eight collections kept apart (CheckThat, WikiQA and six that are not here), a prototype of vote had NDCG@10 "
    ".6216 and recall@100 .8148, DBSF .6064 and .7856, CombSUM .6044 and .7859, RRF .5924 and .7857. On all fifteen "
    "in one (115,103 documents, 4,909 queries): vote .5189 and .7460, relative score fusion .5033 and .7170, DBSF "
    ".5002 and .7062, RRF .4891 and .7082, MiniLM .4549 and .6773. These figures come with the specification and were "
    "not measured here."
)


def _kept(part):
    """Return a section that another script wrote, if it did."""
    return [part.read_text("utf-8").rstrip(), ""] if part.is_file() else []


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
        "**A ranker that may be poor**: let a searcher test its rankers "
        "([below](#a-poor-ranker-beside-a-good-one)). For items, try `weft(weights=agreement)`."
    )
    yield bullet(
        "**On your own documents**: `rankloom trial` without judgments, `rankloom evaluate` with some; no fusion wins "
        "everywhere."
    )
    yield bullet("**Only the lists of queries, none of items**: `dbsf` if they have scores, else `rrf`.")
    yield bullet("**The paper's method, exactly**: `fg`.")
    yield ""


def _shallow(measured):
    """Yield a paragraph on lists of items as short as those of a searcher."""
    parts = []
    for method in SHALLOW_METHODS:
        names = (f"{method}, {SHALLOW}", method)
        means = [fmean(one.mean(name) for one in measured.values()) for name in names]
        outcomes = {one.results.experiment.name: one.comparison(*names) for one in measured.values()}
        marks = ", ".join(f"{name} {one.mark}" for name, one in outcomes.items() if one.verdict != "tie") or "none"
        parts.append(f"{method} {means[0]:.4f} instead of {means[1]:.4f}, significantly different on {marks}")
    yield filled(
        f"These lists are 1000 deep. With {SHALLOW}, the depth of a searcher's lists, the means of all "
        f"{len(measured)} are: {'; '.join(parts)}."
    )


def _provenance(measured):
    missing = [name for name in (*ITEMS, *QUERIES) if name not in measured]
    found = list(reproduced(measured))
    off = [
        f"{method} on {name} ({measure} {here:.4f}, specified {specified})"
        for name, measure, method, specified, here in found
        if not is_close(name, method, specified, here)
    ]
    yield "## How it was measured"
    yield ""
    yield filled(
        "`make effectiveness` generates this page from the specifications in "
        "[experiments/effectiveness](../experiments/effectiveness), with the data in `RANKLOOM_DATA`; items were "
        "shuffled (seed 1) before they were ranked. The section on poor rankers is by "
        "`python experiments/guard.py CACHE`, that on supervised fusion by `python experiments/supervised.py RESULTS`."
    )
    yield ""
    if missing:
        yield from (filled(f"Not run yet: {', '.join(missing)}."), "")
    if found:
        yield filled(
            f"Of the {len(found)} figures of prototypes in the specification "
            "([list](../experiments/effectiveness_figures.toml)), all are reproduced to within "
            f"{TOLERANCE} (vote: .005, CheckThat and WikiQA: .012) but {', '.join(off) or 'none'}."
        )
        yield ""


def bullet(text):
    """Return an item of a list."""
    return textwrap.fill(f"- {text}", 120, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def measure(folder, names=(*ITEMS, *QUERIES), report=print):
    """Run the experiments, or read what is finished, and return {name: Measured}."""
    found = {}
    for name in names:
        report(f"{name} ...")
        experiment = Experiment.read(SPECIFICATIONS / f"{name}.toml")
        found[name] = Measured(finished(experiment, Path(folder) / name))
        if name in ITEMS:
            methods = tuple(map(Call.parse, SHALLOW_METHODS))
            shallow = replace(experiment, depth=SHALLOW, cutoff=SHALLOW, methods=methods)
            again = Measured(finished(shallow, Path(folder) / f"{name}-{SHALLOW}"))
            found[name].methods |= {f"{method}, {SHALLOW}": again.methods[method] for method in SHALLOW_METHODS}
        else:
            inputs = prepare(experiment, SPECIFICATIONS, Cache.standard())
            found[name].methods[LINEAR] = linear.learned(inputs.collection.queries, inputs.lists, [MAIN, RECALL])
    return found


def finished(experiment, folder):
    """Run an experiment to its end and return the results."""
    results = run(experiment, folder, base=SPECIFICATIONS, command="make effectiveness")
    if results.about["failed"]:
        raise SystemExit(f"{experiment.name}: {' '.join(results.about['failed'])}")
    return results


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("Usage: python experiments/effectiveness.py RESULTS [NAME ...]")
    measured = measure(sys.argv[1], sys.argv[2:] or (*ITEMS, *QUERIES))
    (ROOT / "docs" / "effectiveness.md").write_text(page(measured), "utf-8")
