"""Generate docs/reproduction.md, which compares the paper's tables with ours.

Run the experiments first:

    rankloom experiment experiments/soccer.toml -o results/soccer
    rankloom experiment experiments/brodatz.toml -o results/brodatz
    rankloom experiment experiments/mpeg7.toml -o results/mpeg7
    rankloom experiment experiments/ohsumed.toml -o results/ohsumed
    rankloom experiment experiments/ukbench.toml -o results/ukbench
    python experiments/reproduction.py results
"""

import sys
import textwrap
import tomllib
from pathlib import Path
from statistics import fmean, stdev

from rankloom.evaluation import winning_numbers
from rankloom.evaluation.selection import agreement
from rankloom.experiment import Results
from rankloom.experiment import results as rec
from rankloom.experiment.spec import SWEPT_NEIGHBORS
from rankloom.registry import Call
from rankloom.report.findings import outcomes

ROOT = Path(__file__).parents[1]
PAPER = tomllib.loads((ROOT / "src" / "rankloom" / "report" / "dourado2019.toml").read_text("utf-8"))
COLLECTIONS = ("soccer", "brodatz", "mpeg7", "ohsumed", "ukbench")
#: Our names of the methods -> the paper's.
NAMES = {name.lower().removesuffix("count"): name for name in PAPER["fused"]["soccer"]["methods"]}
CLASSIC = [name for name in NAMES if name.startswith("comb")]
CLASSIC += ["mra", "rrf", "borda", "condorcet", "kemeny", "rlsim"]
#: The paper's symbols, which stand beside a method and say whether FG is better: the reverse of our marks.
SYMBOLS = {"worse": "▲", "better": "▼", "tie": "•"}
#: Title, highest value and decimals of each measure, ours and the paper's.
MEASURES = {"ndcg@10": ("NDCG@10", 1, 4, 4), "ns": ("N-S score", 4, 3, 2)}
#: Collections of which we have a part only, so that levels cannot be compared with the paper's.
PARTS = {
    "ukbench": "The paper has all 10,200 images. A part is easier: an image has fewer others to be confused with. So "
    "our values cannot be compared with the paper's, only the order of rankers and methods within each."
}
RANKER_TOLERANCE, FG_TOLERANCE, FG_TOLERANCE_SOCCER, MIN_GAIN_SHARE = 0.05, 0.05, 0.02, 0.5


class Reproduction:
    """The paper's results on one collection and ours."""

    def __init__(self, name, results):
        self.name, self.results = name, results
        self.paper_rankers = PAPER["rankers"][name]["values"]
        self.fused = PAPER["fused"][name]
        self.measure = PAPER["rankers"][name]["measure"]
        self.title, self.highest, self.digits, self.paper_digits = MEASURES[self.measure]
        self.alone = {one.ranker: one.mean(self.measure) for one in results.of(rec.RankerRecord)}
        self.selections = self._selections()

    def _selections(self):
        """Return our selection for each of the paper's three sets of rankers, None if there is none."""
        ours = {frozenset(one.rankers): one.selection for one in self.results.of(rec.SelectionRecord)}
        return [ours.get(frozenset(rankers)) for rankers in self.fused["configurations"]]

    def methods(self, selection):
        """Return the values of each method on a selection, query by query."""
        records = self.results.of(rec.MethodRecord)
        return {one.method: one.values[self.measure] for one in records if one.selection == selection}

    def neighbors(self, selection):
        """Return the best number of neighbors of each swept method on a selection, as text."""
        records = [one for one in self.results.of(rec.MethodRecord) if one.selection == selection and one.chosen]
        return {one.method: str(dict(Call.parse(one.chosen).options)["neighbors"]) for one in records}

    def fg(self, selection):
        """Return the mean of fusion graphs on a selection."""
        return float(self.methods(selection)["fg"].mean())

    def checks(self):
        """Yield (check, whether it holds, figures)."""
        if self.name not in PARTS:
            yield from self._level_checks()
        for selection, rankers in zip(self.selections, self.fused["configurations"], strict=True):
            title = " + ".join(rankers)
            if selection is None:
                yield f"{title} is one of our selections", False, "-"
                continue
            values = {method: float(value.mean()) for method, value in self.methods(selection).items()}
            rival = max(CLASSIC, key=values.__getitem__)
            ahead = values["fg"] - values[rival]
            yield f"FG of {title} above every classic baseline", ahead > 0, f"{ahead:+.4f} over {rival}"
            for method in ("fg", "weft") if self.name in PARTS else ():
                ahead = values[method] - max(self.alone[ranker] for ranker in rankers)
                yield f"{_title(method)} of {title} above each of them", ahead > 0, f"{ahead:+.4f}"

    def _level_checks(self):
        for ranker, paper in self.paper_rankers.items():
            ours = self.alone[ranker]
            yield (
                f"{ranker} within {RANKER_TOLERANCE} of the paper",
                abs(ours - paper) <= RANKER_TOLERANCE,
                f"{ours - paper:+.4f}",
            )
        tolerance = FG_TOLERANCE_SOCCER if self.name == "soccer" else FG_TOLERANCE
        best, best_paper = max(self.alone.values()), max(self.paper_rankers.values())
        for i, selection in enumerate(self.selections):
            if selection is None:
                continue
            rankers = " + ".join(self.fused["configurations"][i])
            ours, paper = self.fg(selection), self.fused["methods"]["FG"][i][1]
            yield (
                f"FG of {rankers} within {tolerance} of the paper",
                abs(ours - paper) <= tolerance,
                f"{ours - paper:+.4f}",
            )
            if paper > best_paper:
                share = (ours - best) / (paper - best_paper)
                yield (
                    f"FG of {rankers}: at least half of the paper's gain",
                    share >= MIN_GAIN_SHARE,
                    f"{100 * share:.0f} %",
                )

    def sections(self):
        """Yield the lines of the sections of this collection."""
        yield f"## {self.results.experiment.name}\n"
        about = f"{self.results.about['collection']}. {PARTS.get(self.name, '')}".strip()
        yield textwrap.fill(about, 120, break_on_hyphens=False) + "\n"
        yield from self._rankers()
        yield from self._correlations()
        yield from self._fused()
        yield from self._cutoffs()
        yield from self._comparators()
        if self.name == "ukbench":
            yield from self._state_of_the_art()

    def _rankers(self):
        seconds = {one.ranker: one.seconds for one in self.results.of(rec.RankerRecord)}
        calls = dict(self.results.experiment.rankers)
        yield f"| ranker | implementation | {self.title} | paper | difference | seconds to rank |"
        yield "|---|---|---:|---:|---:|---:|"
        for name, paper in self.paper_rankers.items():
            ours = self.alone[name]
            figures = f"{self._shown(ours)} | {self._printed(paper)} | {ours - paper:+.{self.digits}f}"
            yield f"| {name} | `{calls[name]}` | {figures} | {seconds[name]:.1f} |"
        yield ""

    def _correlations(self):
        record = next(one for one in self.results.of(rec.CorrelationRecord) if one.correlation == "jaccard")
        paper = PAPER["correlations"][self.name]
        order, index = paper["rankers"], {name: i for i, name in enumerate(record.rankers)}
        yield f"Jaccard correlation of the first {record.depth} items, ours (the paper's in parentheses):\n"
        yield "| | " + " | ".join(order) + " |\n|---|" + "---:|" * len(order)
        for i, first in enumerate(order):
            cells = [
                f"{record.matrix[index[first], index[second]]:.2f} ({paper['values'][i][j]:.2f})"
                for j, second in enumerate(order)
            ]
            yield f"| {first} | " + " | ".join(cells) + " |"
        yield "\n" + textwrap.fill(self._chosen(), 120, break_on_hyphens=False) + "\n"

    def _chosen(self):
        found = {one.selection: one.rankers for one in self.results.of(rec.SelectionRecord)}
        choices = [f"`{selection}` chooses {' + '.join(rankers)}" for selection, rankers in found.items()]
        same = set(PAPER["chosen"][self.name]) == set(found.get("pair", ()))
        pair = "the same as ours" if same else "different from ours"
        notes = " ".join(note for note in self.results.about["notes"] if "selection" in note)
        paper = " + ".join(PAPER["chosen"][self.name])
        return f"Selections: {'; '.join(choices)}. The paper's pair by Eq. 6 is {paper}, {pair}. {notes}"

    def _fused(self):
        titles = [" + ".join(rankers) if i else "all" for i, rankers in enumerate(self.fused["configurations"])]
        yield f"{self.title} of every method. The paper's symbols compare FG with the method: ▲ FG is better, ▼ worse,"
        yield "• no significant difference (paired t test, 99 %).\n"
        if self.neighbors(self.selections[0]):
            numbers = ", ".join(map(str, SWEPT_NEIGHBORS))
            yield f"Best of sweep: of {numbers} neighbors, the number in parentheses, chosen with the labels;"
            yield "without parentheses, a method has its default.\n"
        yield (
            "| method | "
            + " | ".join(f"{title} | paper" for title in titles)
            + " |\n|---|"
            + "---:|---:|" * len(titles)
        )
        columns = [self._column(selection) for selection in self.selections]
        first = columns[0]
        for method in sorted(first, key=lambda one: -first[one][1]):
            cells = []
            for i, column in enumerate(columns):
                cells += [self._cell(method, self.selections[i], column), self._paper_cell(method, i)]
            title = "**FG**" if method == "fg" else _title(method)
            yield f"| {title} | " + " | ".join(cells) + " |"
        best = max(self.alone, key=lambda name: self.alone[name])
        yield f"\nThe best single ranker is {best} ({self._shown(self.alone[best])}).\n"

    def _cell(self, method, selection, column):
        """Return our symbol and value of a method on a selection, with the number of neighbors that a sweep chose."""
        if method not in column:
            return "-"
        symbol, value = column[method]
        chosen = self.neighbors(selection).get(method)
        return f"{symbol} {self._shown(value)}".strip() + (f" ({chosen})" if chosen else "")

    def _paper_cell(self, method, i):
        """Return the paper's symbol and value of a method on one of its sets of rankers."""
        if method not in NAMES:
            return "-"
        symbol, value = self.fused["methods"][NAMES[method]][i]
        return f"{symbol} {self._printed(value)}".strip()

    def _shown(self, value):
        return f"{value:.{self.digits}f}"

    def _printed(self, value):
        return f"{value:.{self.paper_digits}f}"

    def _column(self, selection):
        """Return the symbol and mean of each method on a selection."""
        if selection is None:
            return {}
        values = self.methods(selection)
        others = {name: value for name, value in values.items() if name != "fg"}
        symbols = {name: SYMBOLS[one.verdict] for name, one in outcomes(self.results, values["fg"], others).items()}
        return {name: (symbols.get(name, ""), float(value.mean())) for name, value in values.items()}

    def _cutoffs(self):
        curve = {}
        for one in self.results.of(rec.CutoffRecord):
            curve.setdefault(one.cutoff, {})[one.method] = one.mean(self.measure)
        methods = list(next(iter(curve.values())))
        yield "Effect of the cutoff with all rankers (in the paper only a plot, rising up to L = 10, then flat):"
        yield ""
        yield "| cutoff | " + " | ".join(map(str, curve)) + " |\n|---|" + "---:|" * len(curve)
        for method in methods:
            yield f"| {method} | " + " | ".join(self._shown(values[method]) for values in curve.values()) + " |"
        yield ""

    def _comparators(self):
        values = {one.comparator: one.values[self.measure] for one in self.results.of(rec.ComparatorRecord)}
        symbol = SYMBOLS[outcomes(self.results, values["wgu"], {"mcs": values["mcs"]})["mcs"].verdict]
        wgu, mcs, points, paper_symbol = PAPER["comparators"][self.name]
        ours = [float(values[name].mean()) for name in ("wgu", "mcs")]
        yield "The two comparators; ▲ WGU is significantly better, ▼ worse, • no significant difference.\n"
        yield "| | WGU | MCS | difference (percentage points) | test |\n|---|---:|---:|---:|---|"
        difference = 100 * (ours[0] - ours[1]) / self.highest
        yield f"| ours | {self._shown(ours[0])} | {self._shown(ours[1])} | {difference:+.4f} | {symbol} |"
        yield f"| paper | {self._printed(wgu)} | {self._printed(mcs)} | {points:+.4f} | {paper_symbol} |\n"

    def _state_of_the_art(self):
        """Yield the paper's table of published results, and ours with the same three rankers beside it."""
        names = {paper: ours for ours, paper in NAMES.items()}
        ours = self._column(self.selections[2])
        rankers = " + ".join(self.fused["configurations"][2])
        yield f"The paper's table of published N-S scores on all of UKBench (its own with {rankers}), and ours with"
        yield "the same rankers on our part.\n"
        yield "| method | rankers | paper | ours |\n|---|---|---:|---:|"
        for row in PAPER["state_of_the_art"]["values"]:
            shown = self._cell(names.get(row["method"], ""), self.selections[2], ours if row["own"] else {})
            source = "the same" if row["own"] else "as published"
            yield f"| {row['method']} | {source} | {self._printed(row['value'])} | {shown} |"
        for method in [name for name in ours if name not in NAMES]:
            yield f"| {_title(method)} | the same | - | {self._cell(method, self.selections[2], ours)} |"
        yield ""

    def time_row(self):
        """Return the row of this collection in the table of times."""
        record = next(one for one in self.results.of(rec.TimeRecord) if one.selection == self.selections[0])
        query, offline = fmean(record.query), fmean(record.offline)
        paper_query, _, paper_offline, _ = PAPER["times"][self.name]
        return (
            f"| {self.results.experiment.name} | {1e3 * query:.3f} ± {1e3 * stdev(record.query):.3f} | "
            f"{paper_query} | {paper_query / (1e3 * query):.0f} | "
            f"{offline:.2f} ± {stdev(record.offline):.2f} | {paper_offline} | {paper_offline / offline:.0f} |"
        )


def _title(method):
    """Return the name of a method: the paper's if it has one."""
    name, swept, _ = method.partition("(neighbors=sweep)")
    return NAMES.get(name, name) + (", best of sweep" if swept else "")


def page(found):
    """Return the page as Markdown."""
    lines = [
        "# Reproduction of the paper's tables",
        "",
        "Generated by `python experiments/reproduction.py results` from the results of [experiments/](../experiments);",
        "no number in the tables is typed by hand. The paper's descriptors came from other programs, so single rankers",
        "differ; [docs/rankers.md](rankers.md) lists our choices where an article leaves one open. The collections are",
        "not part of the repository; with them in `$RANKLOOM_DATA`, each experiment takes less than 30 minutes on two",
        "cores ([commands](#provenance)). The tests run all of them on small samples.",
        "",
        "## Checks",
        "",
        "| collection | check | holds | figures |",
        "|---|---|---|---|",
    ]
    for one in found:
        lines += [
            f"| {one.name} | {check} | {'yes' if ok else '**no**'} | {figures} |" for check, ok, figures in one.checks()
        ]
    differences = (ROOT / "experiments" / "differences.md").read_text("utf-8")
    lines += ["", "## Differences", "", differences.strip(), ""]
    lines += [line for one in found for line in one.sections()]
    lines += [
        "## Winning numbers",
        "",
        "Over the selections in the tables above (Eq. 10, 11):",
        "",
        *_winning(found),
        "",
    ]
    lines += ["## Label-free estimates", "", *_estimates(found), ""]
    lines += ["## Times of fusion graphs", "", *_times(found), "", "## Provenance", "", *_provenance(found)]
    return "\n".join(lines) + "\n"


def _winning(found):
    table = {
        (one.name, selection): {
            name: float(value.mean()) for name, value in one.methods(selection).items() if name in NAMES
        }
        for one in found
        for selection in one.selections
        if selection
    }
    numbers = winning_numbers(table)
    return [
        "| method | " + " | ".join(NAMES[name] for name in numbers) + " |",
        "|---|" + "---:|" * len(numbers),
        "| winning number | " + " | ".join(map(str, numbers.values())) + " |",
    ]


def _estimates(found):
    yield "Rank correlation of the label-free estimates with the measure, over the rankers of each collection:"
    yield "\n| collection | rankers | estimate | Spearman | Kendall |\n|---|---:|---|---:|---:|"
    for one in found:
        records = one.results.of(rec.RankerRecord)
        for kind in records[0].estimates:
            estimated = {record.ranker: record.estimates[kind] for record in records}
            values = [agreement(estimated, one.alone, kind=how) for how in ("spearman", "kendall")]
            cells = " | ".join(f"{value:+.2f}" for value in values)
            yield f"| {one.name} | {len(records)} | {kind} | {cells} |"


def _times(found):
    return [
        "All rankers, one thread; mean and standard deviation of five runs. The paper's times are from another machine",
        "(Intel i7-7500U at 2.7 GHz): the ratios only show the order of magnitude.",
        "",
        "| collection | query (ms) | paper (ms) | ratio | offline (s) | paper (s) | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *(one.time_row() for one in found),
    ]


def _provenance(found):
    abouts = [one.results.about for one in found]
    versions = dict.fromkeys(f"{name} {number}" for about in abouts for name, number in about["versions"].items())
    machines = dict.fromkeys(about["machine"] for about in abouts)
    lines = [textwrap.fill(f"{', '.join(versions)}; {', '.join(machines)}.", 120, break_on_hyphens=False), ""]
    return lines + [
        f"- `rankloom experiment experiments/{one.name}.toml -o results/{one.name}`, "
        f"seed {one.results.experiment.seed}, {one.results.about['started']}"
        for one in found
    ]


def main(folder):
    """Read the results and write the page."""
    found = [
        Reproduction(name, Results.read(Path(folder) / name)) for name in COLLECTIONS if (Path(folder) / name).is_dir()
    ]
    if not found:
        sys.exit(
            f"{folder} has no results; run the experiments with -o {folder}/NAME, NAME one of {', '.join(COLLECTIONS)}."
        )
    (ROOT / "docs" / "reproduction.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python experiments/reproduction.py RESULTS_FOLDER")
    main(sys.argv[1])
