"""Which experiments are joined, and which are left out and why."""

import pytest
from sample_experiments import soccer, ukbench, with_measure, write

from rankloom.errors import InputError
from rankloom.report import Report
from rankloom.report.report import common_methods


def test_experiments_keep_their_order_and_measures(tmp_path):
    report = Report.read(write(tmp_path, b=soccer(), a=ukbench()))
    assert list(report.experiments) == ["Soccer", "UKBench"]
    assert report.first == "fg"
    assert report.scale == "ndcg@10, ns/4"
    assert (report.failed, report.notes) == ((), ())


def test_effectiveness_is_the_mean_of_the_main_measure(tmp_path):
    report = Report.read(write(tmp_path, a=soccer()))
    assert report.effectiveness["Soccer", "all"]["fg"] == pytest.approx(0.61 * 1.06)
    assert set(report.effectiveness) == {("Soccer", "all"), ("Soccer", "best(2)")}


def test_folders_without_usable_results_are_named_with_the_reason(tmp_path):
    (good,) = write(tmp_path, good=soccer())
    for name in ("other", "unfinished/steps", "damaged"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "damaged" / "results.jsonl").write_text("no json")
    (tmp_path / "notes.txt").write_text("x")
    names = ("other", "unfinished", "damaged", "notes.txt", "absent")
    report = Report.read([good, *(tmp_path / name for name in names)])
    assert list(report.experiments) == ["Soccer"]
    other, unfinished, damaged, notes, absent = report.failed
    assert other == f"{tmp_path / 'other'} is left out: it has no results.jsonl."
    assert "the experiment is unfinished; run it again to resume it." in unfinished
    assert "damaged is left out:" in damaged
    assert "it is a file, not a folder of results." in notes
    assert "it does not exist." in absent


def test_the_same_experiment_twice_counts_once(tmp_path):
    first, copy = write(tmp_path, first=soccer(), copy=soccer())
    report = Report.read([first, first, copy])
    assert len(report.experiments) == 1
    assert report.notes == (f"{copy} is left out: it is the same experiment as {first}.",)


def test_the_same_collection_in_two_experiments_is_numbered_and_noted(tmp_path):
    report = Report.read(write(tmp_path, a=soccer(), b=soccer(seed=3)))
    assert list(report.experiments) == ["Soccer", "Soccer (2)"]
    assert report.notes == (
        "The collection soccer is in 2 experiments (Soccer; Soccer (2)) and counts for each of them.",
    )


def test_experiments_without_the_requested_measure_are_left_out(tmp_path):
    folders = write(tmp_path, a=soccer(), b=ukbench(), c=with_measure(ukbench("Both"), "ndcg@10"))
    report = Report.read(folders, "ndcg@10")
    assert list(report.experiments) == ["Soccer", "Both"]
    assert report.notes == (f"{folders[1]} is left out: it was not measured by ndcg@10, only by ns.",)
    assert report.scale == "ndcg@10"
    assert report.effectiveness["Both", "all"]["fg"] == pytest.approx(3.4 * 1.06 / 2)


def test_nothing_left_is_an_error_with_the_reasons(tmp_path):
    with pytest.raises(InputError, match=r"nothing to report\. .*it has no results\.jsonl\."):
        Report.read([tmp_path])
    with pytest.raises(InputError, match=r"not measured by map, only by ns"):
        Report.read(write(tmp_path, a=ukbench()), "map")


def test_an_unknown_measure_is_an_error(tmp_path):
    with pytest.raises(InputError, match="measure"):
        Report.read(write(tmp_path, a=soccer()), "ndgc@10")


def test_first_method_is_that_of_most_experiments(tmp_path):
    runs = soccer("Runs", methods={"rrf": 1.0, "combsum": 0.9})
    assert Report.read(write(tmp_path, a=runs, b=soccer(), c=ukbench())).first == "fg"


def test_common_methods_of_nothing_are_none():
    assert common_methods({}) == []
