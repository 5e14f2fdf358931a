"""Which experiments are joined, and which are left out and why."""

import pytest
from sample_joint import soccer, ukbench, with_measure, write

from rankloom.errors import InputError
from rankloom.report import join
from rankloom.report.joint import common_methods


def test_experiments_keep_their_order_and_measures(tmp_path):
    joint = join(write(tmp_path, b=soccer(), a=ukbench()))
    assert list(joint.experiments) == ["Soccer", "UKBench"]
    assert joint.first == "fg"
    assert joint.scale == "ndcg@10, ns/4"
    assert (joint.failed, joint.notes) == ((), ())


def test_effectiveness_is_the_mean_of_the_main_measure(tmp_path):
    joint = join(write(tmp_path, a=soccer()))
    assert joint.effectiveness["Soccer", "all"]["fg"] == pytest.approx(0.61 * 1.06)
    assert set(joint.effectiveness) == {("Soccer", "all"), ("Soccer", "best(2)")}


def test_folders_without_usable_results_are_named_with_the_reason(tmp_path):
    (good,) = write(tmp_path, good=soccer())
    for name in ("other", "unfinished/steps", "damaged"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "damaged" / "results.jsonl").write_text("no json")
    (tmp_path / "notes.txt").write_text("x")
    names = ("other", "unfinished", "damaged", "notes.txt", "absent")
    joint = join([good, *(tmp_path / name for name in names)])
    assert list(joint.experiments) == ["Soccer"]
    other, unfinished, damaged, notes, absent = joint.failed
    assert other == f"{tmp_path / 'other'} is left out: it has no results.jsonl."
    assert "the experiment is unfinished; run it again to resume it." in unfinished
    assert "damaged is left out:" in damaged
    assert "it is a file, not a folder of results." in notes
    assert "it does not exist." in absent


def test_the_same_experiment_twice_counts_once(tmp_path):
    first, copy = write(tmp_path, first=soccer(), copy=soccer())
    joint = join([first, first, copy])
    assert len(joint.experiments) == 1
    assert joint.notes == (f"{copy} is left out: it is the same experiment as {first}.",)


def test_the_same_collection_in_two_experiments_is_numbered_and_noted(tmp_path):
    joint = join(write(tmp_path, a=soccer(), b=soccer(seed=3)))
    assert list(joint.experiments) == ["Soccer", "Soccer (2)"]
    assert joint.notes == (
        "The collection soccer is in 2 experiments (Soccer; Soccer (2)) and counts for each of them.",
    )


def test_experiments_without_the_requested_measure_are_left_out(tmp_path):
    folders = write(tmp_path, a=soccer(), b=ukbench(), c=with_measure(ukbench("Both"), "ndcg@10"))
    joint = join(folders, "ndcg@10")
    assert list(joint.experiments) == ["Soccer", "Both"]
    assert joint.notes == (f"{folders[1]} is left out: it was not measured by ndcg@10, only by ns.",)
    assert joint.scale == "ndcg@10"
    assert joint.effectiveness["Both", "all"]["fg"] == pytest.approx(3.4 * 1.06 / 2)


def test_nothing_left_is_an_error_with_the_reasons(tmp_path):
    with pytest.raises(InputError, match=r"nothing to report\. .*it has no results\.jsonl\."):
        join([tmp_path])
    with pytest.raises(InputError, match=r"not measured by map, only by ns"):
        join(write(tmp_path, a=ukbench()), "map")


def test_an_unknown_measure_is_an_error(tmp_path):
    with pytest.raises(InputError, match="measure"):
        join(write(tmp_path, a=soccer()), "ndgc@10")


def test_first_method_is_that_of_most_experiments(tmp_path):
    runs = soccer("Runs", methods={"rrf": 1.0, "combsum": 0.9})
    assert join(write(tmp_path, a=runs, b=soccer(), c=ukbench())).first == "fg"


def test_common_methods_of_nothing_are_none():
    assert common_methods({}) == []
