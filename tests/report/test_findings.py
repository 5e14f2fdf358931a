"""The answer says what the numbers say, also where fusing does not help."""

import numpy as np
from results_maker import method_records, ranker_records, results, values

from rankloom.experiment.results import MethodRecord, RankerRecord
from rankloom.report.findings import answer, contests, first_method, settings

ONE = {"all": ("bic", "acc", "gch")}


def test_fusing_helps():
    found = answer(results())
    assert (found.verdict, found.head) == ("better", "Yes.")
    assert found.sentences[0] == (
        "fg, fusing 3 rankers (selection all), reaches ndcg@10 0.6600: 8.20 % above the best single ranker, "
        "bic (0.6100), a significant difference (p < 0.0001, ▲)."
    )
    assert found.sentences[1] == "On the other selections, against the same ranker: best(2): +9.84 % ▲."
    assert found.sentences[2] == "The best of all methods and selections is fg on best(2): 0.6700."


def test_fusing_harms():
    records = [*ranker_records(), *method_records({"fg": 0.5, "rrf": 0.4}, ONE)]
    found = answer(results(records, selections=("all",), methods=("fg", "rrf")))
    assert (found.verdict, found.head) == ("worse", "No.")
    assert "18.03 % below the best single ranker, bic (0.6100), a significant difference" in found.sentences[0]
    assert found.sentences[1:] == ("No method on any selection does better than bic alone.",)


def test_another_method_may_help_where_the_first_does_not():
    records = [*ranker_records(), *method_records({"fg": 0.5, "rrf": 0.7}, ONE)]
    found = answer(results(records, selections=("all",), methods=("fg", "rrf")))
    assert found.head == "No."
    assert found.sentences[1] == "The best of all methods and selections is rrf on all: 0.7000."


def test_a_difference_that_may_be_chance_is_called_so():
    records = [*ranker_records(), *method_records({"fg": 0.611}, ONE)]
    found = answer(results(records, selections=("all",), methods=("fg",)))
    assert (found.verdict, found.head) == ("tie", "Not clearly.")
    assert "no significant difference" in found.sentences[0]


def test_the_same_values_are_as_much_as_the_best_ranker():
    same = [RankerRecord("bic", values(0.6), {}, 1.0), MethodRecord("all", ("bic", "acc"), "fg", values(0.6), 1.0)]
    found = answer(results(same, selections=("all",)))
    assert "0.6000: as much as the best single ranker" in found.sentences[0]


def test_one_ranker_only_is_said():
    records = [*ranker_records({"bic": 0.6}), *method_records({"fg": 0.7}, {"all": ("bic",)})]
    found = answer(results(records, rankers=("bic",), selections=("all",), methods=("fg",)))
    assert found.sentences[0].startswith("fg, given one ranker only, reaches")


def test_a_best_ranker_of_value_zero_has_no_gain_over_it():
    nothing = RankerRecord("bic", {"ndcg@10": np.zeros(40), "map": np.zeros(40)}, {}, 1.0)
    found = answer(results([nothing, *method_records({"fg": 0.5}, ONE)], selections=("all",)))
    assert found.head == "Yes."
    assert "0.5000: beside the best single ranker, bic (0.0000)" in found.sentences[0]


def test_nothing_is_claimed_without_methods_or_rankers():
    for records in ([], ranker_records(), method_records()):
        found = answer(results(records))
        assert (found.verdict, found.head) == (None, "Not known.")


def test_the_first_method_is_the_first_that_was_run():
    assert first_method(results(method_records({"rrf": 0.6, "borda": 0.5}))) == "rrf"
    assert first_method(results([])) is None


def test_equal_contenders_stay_in_the_order_given():
    (contest,) = contests(results(method_records({"rrf": 0.6, "combsum": 0.6}, ONE), methods=("rrf", "combsum")))
    assert [one.name for one in contest.contenders] == ["rrf", "combsum"]


def test_a_ranker_and_a_method_may_have_one_name():
    records = [*ranker_records({"fg": 0.6, "bic": 0.5}), *method_records({"fg": 0.7}, {"all": ("fg", "bic")})]
    (contest,) = contests(results(records, rankers=("fg", "bic"), selections=("all",), methods=("fg",)))
    assert [one.label for one in contest.contenders] == ["fg", "fg (best ranker)", "bic (ranker)"]


def test_no_verdict_where_the_ranker_had_more_of_its_list_than_the_method():
    records = [*ranker_records(), *method_records({"rrf": 0.5}, ONE)]
    found = answer(results(records, selections=("all",), methods=("rrf",), measures=["map", "ndcg@10"], cutoff=10))
    assert (found.verdict, found.head) == (None, "Not to be told from this.")
    assert found.sentences[0].startswith("map looks deeper than the cutoff 10: rankers alone have their whole lists")
    assert found.sentences[0].endswith("or a larger cutoff.")


def test_fusion_graphs_answer_beyond_the_cutoff_but_their_rivals_do_not():
    records = [*ranker_records(), *method_records({"fg": 0.9, "rrf": 0.5}, ONE)]
    found = answer(results(records, selections=("all",), methods=("fg", "rrf"), measures=["map", "ndcg@10"], cutoff=10))
    assert found.head == "Yes."
    assert found.sentences[-1].startswith("map looks deeper")


def test_the_settings_of_times_are_counted():
    records = [MethodRecord("all", ("bic",), name, values(0.6), 1.0, made) for name, made in (("fg", "x"), ("rrf", ""))]
    assert settings(results(records)) == {"x": 1, "": 1}
