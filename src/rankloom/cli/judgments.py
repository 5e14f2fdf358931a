"""Options and helpers of the commands that evaluate or compare runs."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from rankloom.cli.app import Argument, Option, echo, either
from rankloom.errors import InputError, RankloomWarning
from rankloom.evaluation import CORRELATIONS, check_alignment, check_runs, evaluate
from rankloom.evaluation.measures import measure_forms
from rankloom.io import read_labels, read_qrels
from rankloom.ranks import Ids, Ranks
from rankloom.ranks.align import align, align_collection
from rankloom.ranks.arrays import Floats

EvaluatedRuns = Annotated[list[Path], Argument(metavar="RUN", help="Runs to evaluate or compare.")]
Qrels = Annotated[Path | None, Option(help="Judgments in TREC format.")]
Labels = Annotated[
    Path | None,
    Option(help="Classes instead of judgments, in lines 'item<TAB>class' or 'item:class'; queries are items."),
]
Ties = Annotated[str, Option(help="Order of equal scores: given, or trec, the order of trec_eval.")]
AsUnits = Annotated[
    str,
    Option(
        "--units",
        help="What the test treats as independent: queries, or with --labels classes, by their means. Verdicts that "
        "the other choice would change are listed.",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
OneMeasure = Annotated[str, Option(help=f"One of {either(measure_forms())}, as in ndcg@10.")]
Kind = Annotated[str, Option("--correlation", help=f"How to compare lists: {either(CORRELATIONS)}.")]
Depth = Annotated[int, Option(min=1, help="How much of each list to compare.")]


class Truth:
    """Judgments or classes to evaluate runs against."""

    def __init__(self, qrels: Path | None, labels: Path | None) -> None:
        if (qrels is None) == (labels is None):
            raise InputError("Give either --qrels or --labels to evaluate against.")
        self.qrels = None if qrels is None else read_qrels(qrels)
        self.classes = None if labels is None else read_labels(labels)

    def per_query(
        self, runs: Mapping[str, Ranks], measures: Sequence[str], ties: str
    ) -> tuple[list[str], list[dict[str, Floats]]]:
        """Return the ids of the queries, and the measures of each query for each run, in the same order.

        Runs of different depths and runs that lack judged queries are warned about.
        """
        check_runs(runs, self.qrels)
        given = list(runs.values())
        pairs = [self._with_truth(ranks) for ranks in (given if self.classes is None else _common(given))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankloomWarning)  # missing queries: once is enough
            values = [evaluate(r, measures=measures, ties=ties, per_query=True, **truth) for r, truth in pairs]  # type: ignore[call-overload]
        first = pairs[0][0]
        queries = list(self.qrels) if self.qrels is not None else map(first.query_id, range(first.n_queries))
        return list(queries), values

    def classes_of(self, queries: Sequence[str], units: str) -> list[str] | None:
        """Return the class of each query; None with judgments, which have none."""
        if self.classes is None and units == "classes":
            raise InputError("--units classes needs --labels: judged queries have no classes.")
        return None if self.classes is None else [self.classes[query] for query in queries]

    def _with_truth(self, ranks: Ranks) -> tuple[Ranks, dict[str, Any]]:
        """Return ranks and the truth to give to `evaluate`."""
        if self.classes is None:
            return ranks, {"qrels": self.qrels}
        queries = [ranks.query_id(query) for query in range(ranks.n_queries)]
        listed = [ranks.item_id(item) for item in range(ranks.n_items)]
        unknown = next((id for id in (*queries, *listed) if id not in self.classes), None)
        if unknown is not None:
            raise InputError(f"The labels have no class for {unknown!r}; every query and item of the run needs one.")
        truth = {"labels": list(self.classes.values()), "query_labels": [self.classes[q] for q in queries]}
        return ranks.renumbered(Ids(self.classes)), truth


def check_order(runs: Mapping[str, Ranks], truth: Truth | None = None) -> None:
    """Warn about runs of items that agree no more than shuffled ids would; nothing is said of external queries."""
    try:
        aligned = align_collection(list(runs.values()))
    except InputError:
        return
    classes, ids = truth.classes if truth else None, aligned[0].item_ids
    labels = None if classes is None or ids is None else [classes[id] for id in ids]
    check_alignment(dict(zip(runs, aligned, strict=True)), labels)


def _common(runs: Sequence[Ranks]) -> list[Ranks]:
    """Return the runs restricted to the queries that all of them have."""
    common = align(runs, missing="drop")
    largest = max(ranks.n_queries for ranks in runs)
    if common[0].n_queries < largest:
        note = f"Note: only the {common[0].n_queries} queries that every run has are used; a run has up to {largest}."
        echo(note, err=True)
    return list(common)


def run_names(runs: Sequence[Path]) -> list[str]:
    """Return the names of runs: their file names if these differ, else their paths."""
    if len(runs) < 2:
        raise InputError(f"Give at least 2 runs to compare with each other; got {len(runs)}.")
    if len(set(runs)) < len(runs):
        raise InputError("Give each run once.")
    short = [run.name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]
