import numpy as np
import pytest

from rankloom.experiment import Experiment
from rankloom.experiment.results import CorrelationRecord, RankerRecord
from rankloom.experiment.selections import apply_selections

EFFECTIVENESS = {"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1}
UNCORRELATED = CorrelationRecord("jaccard", 10, tuple(EFFECTIVENESS), np.eye(4))  # so the pair is the best two


def choices(selections, correlation=UNCORRELATED):
    rankers = dict.fromkeys(EFFECTIVENESS, "vectors")
    spec = {"name": "n", "collection": "digits", "rankers": rankers, "selections": selections}
    records = [RankerRecord(name, {"ndcg@10": np.full(3, value)}, {}, 0.0) for name, value in EFFECTIVENESS.items()]
    found, notes = apply_selections(Experiment.from_dict(spec), records, correlation)
    return {one.selection: "".join(one.rankers) for one in found}, notes


@pytest.mark.parametrize("selections", [["best(2)", "pair"], ["pair", "best(2)"]])
def test_the_best_three_are_added_if_the_pair_is_the_best_two(selections):
    first, second = selections
    found, notes = choices(selections)
    assert found == {first: "ab", "best(3)": "abc"}
    assert notes == [f"The selection {second} is left out: it chooses the same rankers as {first}."]


def test_the_best_three_are_not_added_otherwise():
    assert choices(["pair", "all"])[0] == {"pair": "ab", "all": "abcd"}
    matrix = np.ones((4, 4))
    matrix[0, 2] = matrix[2, 0] = 0.0
    correlation = CorrelationRecord("jaccard", 10, tuple(EFFECTIVENESS), matrix)
    assert choices(["best(2)", "pair"], correlation)[0] == {"best(2)": "ab", "pair": "ac"}


def test_an_impossible_selection_is_left_out_with_a_reason():
    found, notes = choices(["best(9)", "pair", "pair(authority)", "all"], correlation=None)
    assert found == {"all": "abcd"}
    assert [note.partition(": ")[2] for note in notes] == [
        "it needs 9 rankers, and there are 4.",
        "it needs correlations, and no query has a list from every ranker.",
        "it needs correlations, and no query has a list from every ranker.",
    ]
