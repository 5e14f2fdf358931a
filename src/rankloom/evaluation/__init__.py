"""Effectiveness of ranks, correlation of rankers, and significance of differences."""

from rankloom.evaluation import trec_measures as trec_measures  # registers them
from rankloom.evaluation.alignment import check_alignment
from rankloom.evaluation.corrections import CORRECTIONS, correct
from rankloom.evaluation.correlation import CORRELATIONS, correlation, correlations
from rankloom.evaluation.effectiveness import evaluate
from rankloom.evaluation.estimates import ESTIMATES, estimate, estimate_all
from rankloom.evaluation.measures import MEASURES, Measure, register_measure
from rankloom.evaluation.over_collections import POST_HOC, OverCollections, compare_over
from rankloom.evaluation.paired_tests import JOINT_TESTS, TESTS, Tested
from rankloom.evaluation.run_checks import check_runs
from rankloom.evaluation.selection import SELECTIONS, Selection, balance, balances, select
from rankloom.evaluation.significance import (
    Comparison,
    Mark,
    Units,
    class_means,
    compare,
    compare_many,
    disagreements,
    interval_note,
    legend,
)
from rankloom.evaluation.summary import Evaluation, Summary, summarize
from rankloom.evaluation.winning import gain, winning_numbers

__all__ = [
    "CORRECTIONS",
    "CORRELATIONS",
    "ESTIMATES",
    "JOINT_TESTS",
    "MEASURES",
    "POST_HOC",
    "SELECTIONS",
    "TESTS",
    "Comparison",
    "Evaluation",
    "Mark",
    "Measure",
    "OverCollections",
    "Selection",
    "Summary",
    "Tested",
    "Units",
    "balance",
    "balances",
    "check_alignment",
    "check_runs",
    "class_means",
    "compare",
    "compare_many",
    "compare_over",
    "correct",
    "correlation",
    "correlations",
    "disagreements",
    "estimate",
    "estimate_all",
    "evaluate",
    "gain",
    "interval_note",
    "legend",
    "register_measure",
    "select",
    "summarize",
    "winning_numbers",
]
