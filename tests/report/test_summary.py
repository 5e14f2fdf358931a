"""The summary agrees with the numbers, also if fusing does not help."""

import numpy as np
from sample_results import method_records, ranker_records, results, values

from rankloom.experiment.results import MethodRecord, RankerRecord
from rankloom.report import Report
from rankloom.report.findings import contests, environments, first_method
from rankloom.report.summary import summarize

ONE = {"all": ("bic", "acc", "gch")}


def of(*records, **spec):
    return Report.of(results(*records, **spec))


def test_fusing_helps():
    found = summarize(of())
    assert (found.verdict, found.headline) == ("better", "Yes.")
    assert found.sentences[0] == (
        "fg, fusing 3 rankers (all rankers), reaches ndcg@10 0.6600, 8.20 % above the best single ranker, "
        "bic (0.6100): a significant difference (p < 0.0001)."
    )
    others = "On the other selections, compared with the same ranker: best two: 9.84 % above (significant)."
    assert found.sentences[1] == others
    assert found.sentences[2] == "The best method overall is fg on the selection best two: 0.6700."


def test_fusing_hurts():
    records = [*ranker_records(), *method_records({"fg": 0.5, "rrf": 0.4}, ONE)]
    found = summarize(of(records, selections=("all",), methods=("fg", "rrf")))
    assert (found.verdict, found.headline) == ("worse", "No.")
    assert "18.03 % below the best single ranker, bic (0.6100): a significant difference" in found.sentences[0]
    assert found.sentences[1:] == ("No method on any selection is better than bic alone.",)


def test_another_method_may_help_when_the_first_does_not():
    records = [*ranker_records(), *method_records({"fg": 0.5, "rrf": 0.7}, ONE)]
    found = summarize(of(records, selections=("all",), methods=("fg", "rrf")))
    assert found.headline == "No."
    assert found.sentences[1] == "The best method overall is rrf on the selection all rankers: 0.7000."


def test_an_insignificant_difference_is_a_tie():
    records = [*ranker_records(), *method_records({"fg": 0.611}, ONE)]
    found = summarize(of(records, selections=("all",), methods=("fg",)))
    assert (found.verdict, found.headline) == ("tie", "Not clearly.")
    assert "no significant difference" in found.sentences[0]


def test_equal_values_are_the_same_as_the_best_ranker():
    same = [RankerRecord("bic", values(0.6), {}, 1.0), MethodRecord("all", ("bic", "acc"), "fg", values(0.6), 1.0)]
    found = summarize(of(same, selections=("all",)))
    assert "0.6000, the same as the best single ranker" in found.sentences[0]


def test_a_single_ranker_is_mentioned():
    records = [*ranker_records({"bic": 0.6}), *method_records({"fg": 0.7}, {"all": ("bic",)})]
    found = summarize(of(records, rankers=("bic",), selections=("all",), methods=("fg",)))
    assert found.sentences[0].startswith("fg, given a single ranker, reaches")


def test_there_is_no_gain_over_a_best_ranker_of_zero():
    nothing = RankerRecord("bic", {"ndcg@10": np.zeros(40), "map": np.zeros(40)}, {}, 1.0)
    found = summarize(of([nothing, *method_records({"fg": 0.5}, ONE)], selections=("all",)))
    assert found.headline == "Yes."
    assert "0.5000, against the best single ranker, bic (0.0000)" in found.sentences[0]


def test_nothing_is_claimed_without_methods_or_rankers():
    for records in ([], ranker_records(), method_records()):
        found = summarize(of(records))
        assert (found.verdict, found.headline) == (None, "Unknown.")


def test_the_first_method_is_the_first_that_was_run():
    assert first_method(results(method_records({"rrf": 0.6, "borda": 0.5}))) == "rrf"
    assert first_method(results([])) is None


def test_ties_keep_their_order():
    (contest,) = contests(results(method_records({"rrf": 0.6, "combsum": 0.6}, ONE), methods=("rrf", "combsum")))
    assert [one.name for one in contest.contenders] == ["rrf", "combsum"]


def test_a_ranker_and_a_method_may_share_a_name():
    records = [*ranker_records({"fg": 0.6, "bic": 0.5}), *method_records({"fg": 0.7}, {"all": ("fg", "bic")})]
    (contest,) = contests(results(records, rankers=("fg", "bic"), selections=("all",), methods=("fg",)))
    assert [one.label for one in contest.contenders] == ["fg", "fg (best ranker)", "bic (ranker)"]


def test_no_verdict_if_the_ranker_was_measured_deeper_than_the_method():
    records = [*ranker_records(), *method_records({"rrf": 0.5}, ONE)]
    found = summarize(of(records, selections=("all",), methods=("rrf",), measures=["map", "ndcg@10"], cutoff=10))
    assert (found.verdict, found.headline) == (None, "Inconclusive.")
    assert found.sentences[0].startswith("map looks deeper than the cutoff 10: single rankers have their full lists")
    assert found.sentences[0].endswith("or a larger cutoff.")


def test_fusion_graphs_get_a_verdict_with_the_caveat_last():
    records = [*ranker_records(), *method_records({"fg": 0.9, "rrf": 0.5}, ONE)]
    found = summarize(of(records, selections=("all",), methods=("fg", "rrf"), measures=["map", "ndcg@10"], cutoff=10))
    assert found.headline == "Yes."
    assert found.sentences[-1].startswith("map looks deeper")


def test_timed_steps_are_counted_by_environment():
    records = [MethodRecord("all", ("bic",), name, values(0.6), 1.0, made) for name, made in (("fg", "x"), ("rrf", ""))]
    assert environments(results(records)) == {"x": 1, "": 1}
