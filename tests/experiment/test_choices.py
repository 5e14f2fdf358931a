import numpy as np
import pytest

from rankloom.experiment import Experiment
from rankloom.experiment.choices import chosen
from rankloom.experiment.results import CorrelationRecord, RankerRecord

GOOD = {"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1}
ALIKE = CorrelationRecord("jaccard", 10, tuple(GOOD), np.eye(4))  # so the pair is the best two


def choices(selections, good=GOOD, alike=ALIKE):
    spec = {"name": "n", "collection": "digits", "rankers": dict.fromkeys(good, "vectors"), "selections": selections}
    singles = [RankerRecord(name, {"ndcg@10": np.full(3, value)}, {}, 0.0) for name, value in good.items()]
    found, notes = chosen(Experiment.from_dict(spec), singles, alike)
    return {one.selection: "".join(one.rankers) for one in found}, notes


@pytest.mark.parametrize("selections", [["best(2)", "pair"], ["pair", "best(2)"]])
def test_the_best_three_are_added_where_the_pair_is_the_best_two(selections):
    first, second = selections
    found, notes = choices(selections)
    assert found == {first: "ab", "best(3)": "abc"}
    assert notes == [f"The selection {second} is left out: it chooses the same rankers as {first}."]


def test_the_best_three_are_not_added_otherwise():
    assert choices(["pair", "all"])[0] == {"pair": "ab", "all": "abcd"}
    alike = np.ones((4, 4))
    alike[0, 2] = alike[2, 0] = 0.0
    unlike = CorrelationRecord("jaccard", 10, tuple(GOOD), alike)
    assert choices(["best(2)", "pair"], alike=unlike)[0] == {"best(2)": "ab", "pair": "ac"}


def test_a_selection_that_cannot_be_made_is_left_out_with_a_reason():
    found, notes = choices(["best(9)", "pair", "pair(authority)", "all"], alike=None)
    assert found == {"all": "abcd"}
    assert [note.partition(": ")[2] for note in notes] == [
        "it needs 9 rankers, and there are 4.",
        "it needs correlations, and no query has a list from every ranker.",
        "it needs correlations, and no query has a list from every ranker.",
    ]
