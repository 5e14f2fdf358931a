import pytest

from rankloom.evaluation import Measure
from rankloom.report.names import measure_meaning, method_name, selection_name


def test_selections_of_unloaded_plugins_keep_their_spelling():
    assert selection_name("odd(3)") == "odd(3)"


def test_named_rankers_are_not_spelled_twice():
    assert selection_name("only(bic, gch)") == "bic + gch"
    assert selection_name("best(12)") == "best 12"


def test_rankers_and_unknown_methods_have_no_name():
    assert (method_name("bic (best ranker)"), method_name("mine(x=1)")) == ("", "")


@pytest.mark.parametrize(
    ("spelled", "meaning"),
    [
        (
            "ndcg@10",
            "ndcg@10: discounted cumulative gain divided by that of the best possible list, of the first 10 items",
        ),
        ("ns", "ns: N-S score: relevant items among the first 4, including the query itself; at best 4"),
        ("recall@100", "recall@100: relevant items among the first k, divided by all relevant items, with k = 100"),
    ],
)
def test_measures_are_explained(spelled, meaning):
    assert measure_meaning(Measure.parse(spelled)) == meaning
