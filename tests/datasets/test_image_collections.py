"""Readers of image collections, on the published files and on small folders of the same layout."""

from collections import Counter

import pytest

from rankloom.datasets import COLLECTIONS, brodatz, mpeg7, soccer, ukbench, uw
from rankloom.datasets.images import ImageFile
from rankloom.errors import InputError


def touch(folder, *names):
    """Create empty files: readers list files without opening them."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(folder)


def sizes(collection):
    return Counter(Counter(collection.labels).values())


def test_soccer_has_7_teams_of_40(shared):
    found = soccer(str(shared / "data" / "soccer"))
    assert len(found) == 280
    assert sizes(found) == {40: 7}
    assert (found.ids[0], found.labels[0]) == ("acmilan/01.jpg", "acmilan")
    assert found.part("images")[0].load().shape[2] == 3


def test_mpeg7_has_70_classes_of_20_in_natural_order(shared):
    found = mpeg7(str(shared / "data" / "mpeg7"))
    assert len(found) == 1400
    assert sizes(found) == {20: 70}
    assert list(found.ids)[:3] == ["Bone-1.png", "Bone-2.png", "Bone-3.png"]


def test_labels_equal_the_published_ones(shared):
    from rankloom.io import read_labels

    for name, reader in (("soccer", soccer), ("mpeg7", mpeg7), ("ukbench-1000", ukbench)):
        found = reader(str(shared / "data" / name))
        assert dict(zip(found.ids, found.labels, strict=True)) == read_labels(shared / "data" / name / "labels.tsv")


def test_brodatz_has_16_blocks_of_each_texture_except_d14(shared):
    found = brodatz(str(shared / "data" / "brodatz"))
    assert len(found) == 1776
    assert sizes(found) == {16: 111}
    assert "D14" not in found.labels
    assert (found.ids[0], found.ids[16], found.labels[16]) == ("D1-01", "D2-01", "D2")
    assert {item.load().shape for item in found.part("images")[:16]} == {(160, 160, 3)}
    assert len({item.digest() for item in found.part("images")}) == 1776


def test_ukbench_reads_a_subset(shared, monkeypatch):
    monkeypatch.setenv("RANKLOOM_DATA", str(shared / "data"))
    found = COLLECTIONS["ukbench"]()
    assert len(found) == 1000
    assert sizes(found) == {4: 250}
    assert found.about == "1000 images of objects (a subset: 250 of 2550 objects), in 250 classes"


def test_ukbench_rejects_an_incomplete_group(tmp_path):
    path = touch(tmp_path, *(f"full/ukbench{number:05d}.jpg" for number in range(7)))
    with pytest.raises(InputError, match="ukbench should have 4 items of the class '1'; found 3"):
        ukbench(path)
    assert ukbench(path, check=False).labels == tuple("0000111")


def test_an_incomplete_collection_needs_check_no(tmp_path):
    path = touch(tmp_path, "images/acmilan/01.jpg", "images/psv/10.jpg", "images/psv/9.jpg", "images/.psv/1.jpg")
    with pytest.raises(InputError, match=r"soccer should have 7 classes; found 2\. .* check=no"):
        soccer(path)
    found = soccer(path, check=False)
    assert list(found.ids) == ["acmilan/01.jpg", "psv/9.jpg", "psv/10.jpg"]
    assert found.part("images")[1] == ImageFile(tmp_path / "images" / "psv" / "9.jpg")


def test_unexpected_file_names_are_rejected(tmp_path):
    with pytest.raises(InputError, match=r"such as Bone-1\.png; got 'bone\.png'"):
        mpeg7(touch(tmp_path / "m", "bone.png"))
    with pytest.raises(InputError, match=r"such as D1\.gif; got 'wood\.gif'"):
        brodatz(touch(tmp_path / "b", "D1.gif", "wood.gif"))
    with pytest.raises(InputError, match=r"such as ukbench00000\.jpg; got 'cup\.jpg'"):
        ukbench(touch(tmp_path / "u", "cup.jpg"))


@pytest.mark.parametrize("name", ["soccer", "mpeg7", "brodatz", "ukbench", "uw"])
def test_a_missing_collection_names_the_files_it_needs(name, tmp_path, monkeypatch):
    read = COLLECTIONS[name]
    monkeypatch.delenv("RANKLOOM_DATA", raising=False)
    with pytest.raises(InputError, match=rf"Cannot find the collection {name}\. Give path=FOLDER, or set RANKLOOM_"):
        read()
    monkeypatch.setenv("RANKLOOM_DATA", str(tmp_path))
    with pytest.raises(InputError, match=rf"There is no folder .*{name}\. The collection {name} needs .*images/"):
        read()
    with pytest.raises(InputError, match="does not exist"):
        read(str(tmp_path / "none"))
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="There are no images in"):
        read()


def test_uw_has_images_and_keywords(tmp_path):
    path = touch(tmp_path, "iran/Image01.jpg", "iran/Image02.jpg", "japan/Image01.jpg")
    lines = ("iran/Image01.jpg\tsky mosque", "iran/Image02.jpg\ttree", "japan/Image01.jpg\ttemple  sky")
    (tmp_path / "keywords.tsv").write_text("\n".join(lines))
    with pytest.raises(InputError, match="uw should have 1109 images; found 3"):
        uw(path)
    found = uw(path, check=False)
    assert found.labels == ("iran", "iran", "japan")
    assert found.part("texts") == ["sky mosque", "tree", "temple  sky"]
    assert len(found.part("images")) == 3


def test_uw_rejects_an_image_without_keywords(tmp_path):
    path = touch(tmp_path, "iran/Image01.jpg", "iran/Image02.jpg")
    (tmp_path / "keywords.tsv").write_text("iran/Image01.jpg\tsky\n")
    with pytest.raises(InputError, match=r"no line for 'iran/Image02\.jpg' \(1 missing\)"):
        uw(path, check=False)
