"""Published numbers: the paper's, those of a file, and their tables beside ours."""

import pytest
from sample_experiments import METHODS, SOCCER, experiment, soccer, ukbench, with_measure

from paper import COLLECTIONS, PAPER, configurations
from rankloom.aggregate import METHODS as FUSIONS
from rankloom.errors import InputError
from rankloom.evaluation import winning_numbers
from rankloom.report import Published, Report, published

OURS = """
publication = "We (2026)"
[names]
Ours = "fg"
[rankers.boxes]
measure = "ndcg@10"
values = { a = 0.5, b = 0.4 }
[fused.boxes]
measure = "ndcg@10"
configurations = [["a", "b"]]
[fused.boxes.methods]
Ours = [0.6]
RRF = [["▲", 0.55]]
"""


def report(*found):
    return Report({one.experiment.name: one for one in found})


def matched(*found):
    return published.matches(report(*found), Published.read())


def test_the_paper_has_every_collection_and_every_number():
    paper = Published.read()
    assert list(paper.collections) == COLLECTIONS
    for (collection, number), values in configurations().items():
        ours = {name: cells[number] for name, cells in paper.collections[collection].methods.items()}
        assert sorted(ours.values()) == sorted(values.values())
        assert paper.collections[collection].rankers == PAPER["rankers"][collection]["values"]


def test_names_of_the_papers_methods_are_ours():
    for collection in Published.read().collections.values():
        assert all(name in FUSIONS for name in collection.methods)


def test_published_numbers_are_read_from_a_file(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(OURS, encoding="utf-8")
    found = Published.read(path)
    assert found.publication == "We (2026)"
    assert found.collections["boxes"].methods == {"fg": (0.6,), "rrf": (0.55,)}
    assert found.of(soccer("Boxes")) is found.collections["boxes"]  # by the name of the experiment
    assert found.of(soccer()) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('publication = "We (2026)"', "", "publication"),
        ("Ours = [0.6]", "Ours = [0.6, 0.7]", "2 values of Ours for 1 configurations"),
        ("a = 0.5", 'a = "x"', "could not convert"),
        ('[fused.boxes]\nmeasure = "ndcg@10"', '[fused.boxes]\nmeasure = "ns"', "two measures"),
        ("publication", "publication [", "Cannot read"),
    ],
)
def test_an_invalid_file_is_one_sentence(tmp_path, old, new, message):
    path = tmp_path / "ours.toml"
    path.write_text(OURS.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Published.read(path)


def test_a_file_without_collections_or_that_is_missing_is_an_error(tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text('publication = "We"')
    for wrong in (path, tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError, match=str(wrong.name)):
            Published.read(wrong)


def test_fused_values_and_gains_stand_beside_the_papers():
    rows = published.fused(report(soccer()), matched(soccer())).rows
    assert [row.cells[1] for row in rows] == ["all 3", "BIC + ACC", "BIC + GCH"]
    first, second, third = (row.cells[2:] for row in rows)
    assert first == pytest.approx((0.61 * 1.06, 0.651828, 0.61 * 1.06 - 0.651828, 6, 100 * (0.651828 / 0.614818 - 1)))
    assert second[4] == pytest.approx(PAPER["gains"]["soccer"]["values"]["BIC"][1], abs=0.005)
    assert third[:1] + third[2:4] == (None, None, None)  # not one of our selections


def test_rankers_are_matched_by_name_regardless_of_case():
    names = {"bic": 0.6, "acc": 0.5, "other": 0.4}
    rows = published.rankers(matched(experiment("Soccer", "soccer", "ndcg@10", names))).rows
    assert [row.cells[1:3] for row in rows] == [("BIC", pytest.approx(0.6)), ("ACC", pytest.approx(0.5)), ("GCH", None)]


def test_winning_numbers_use_what_both_have():
    found = report(soccer(), ukbench())
    table = published.winning(found, matched(soccer(), ukbench()))
    # sets of rankers that both have: all and BIC + ACC of Soccer; VOC + ACC and VOC + ACC + CNN-Caffe of UKBench
    shared = [("soccer", 0), ("soccer", 1), ("ukbench", 1), ("ukbench", 2)]
    names = {"fg": "FG", "rrf": "RRF", "combsum": "CombSUM"}
    papers = winning_numbers({key: {name: configurations()[key][name] for name in names.values()} for key in shared})
    assert {row.cells[0]: row.cells[1:] for row in table.rows} == {
        name: (wins, papers[names[name]]) for name, wins in (("fg", 8), ("rrf", 4), ("combsum", 0))
    }


def test_every_published_method_has_a_row():
    (table,) = published.methods(report(soccer()), matched(soccer()))
    assert len(table.rows) == 17
    cells = {row.cells[0]: row.cells[1:3] for row in table.rows}
    assert cells["rrf"] == (pytest.approx(0.61 * METHODS["rrf"]), 0.604119)
    assert cells["mra"] == (None, 0.605971)


def test_a_collection_is_compared_by_the_published_measure_even_if_it_is_not_the_first():
    (match,) = matched(with_measure(experiment("Soccer", "soccer", "map", SOCCER), "ndcg@10"))
    assert match.measured
    assert match.rankers["BIC"] == pytest.approx(0.61 / 2)
    (other,) = matched(experiment("Soccer", "soccer", "map", SOCCER))
    assert not other.measured
