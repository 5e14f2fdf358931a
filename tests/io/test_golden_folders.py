"""Folders of each kind that a released version wrote are opened, verified and searched; see tests/golden/folders."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import rankloom as rl
from rankloom.io.folder import FORMAT, open_folder, verify_folder

GOLDEN = Path(__file__).parents[1] / "golden" / "folders"
KINDS = {"index": rl.FusionIndex, "shards": rl.FusionIndex, "weft": rl.WeftIndex, "searcher": rl.Searcher}
WORDS = ["heat", "slab", "flow", "wing", "shock", "wave", "plate", "jet", "body", "cone"]


def lists():
    points = np.arange(9.0)[:, None] ** 1.5
    ids = rl.Ids(list("abcdefghi"))
    return [rl.Ranks.from_vectors(x, "l2", item_ids=ids, query_ids=ids) for x in (points, np.sqrt(points))]


def text(number):
    return " ".join(WORDS[number * step % 10] for step in (1, 2, 3, 7))


def made(name):
    """Return what is saved in a folder."""
    if name != "searcher":
        return KINDS[name].build(lists(), cutoff=4)
    rows = [{"id": f"d{number}", "text": text(number), "year": 1960 + number} for number in range(26)]
    searcher = rl.Searcher.build(rows[:24], ["okapi", "bow"], depth=12, cutoff=4)
    searcher.add(rows[24:])
    searcher.delete(["d3"])
    return searcher


def make(home):
    """Write the golden folders."""
    for name in KINDS:
        shutil.rmtree(home / name, ignore_errors=True)
        made(name).save(home / name, **({"shards": 3} if name == "shards" else {}))


@pytest.mark.parametrize("name", KINDS)
def test_a_golden_folder_is_read(name):
    assert FORMAT == 3  # with a new format there must be new folders, and these must still be read or refused
    assert verify_folder(GOLDEN / name).generation == 1
    opened, again = KINDS[name].open(GOLDEN / name, verify=True), made(name)
    if name == "searcher":
        assert list(opened.ids) == list(again.ids)
        for search in ({"query": "heat in a slab"}, {"item": "d25"}, {"query": "jet", "where": {"year": 1984}}):
            found = [[(hit.id, round(hit.score, 5)) for hit in one.search(k=5, **search)] for one in (opened, again)]
            assert found[0] == found[1]
        return
    assert opened.item_ids == again.item_ids
    np.testing.assert_array_equal(opened.search(k=4).items, again.search(k=4).items)
    np.testing.assert_allclose(opened.search(k=4).scores, again.search(k=4).scores, atol=1e-6)


def test_the_golden_folders_are_of_the_layout_that_is_written(tmp_path):
    make(tmp_path)
    for name in KINDS:
        folders = [
            open_folder(home / name, kind=str(verify_folder(home / name).meta["kind"])) for home in (GOLDEN, tmp_path)
        ]
        shapes = [{one: (array.dtype, array.ndim) for one, array in folder.arrays.items()} for folder in folders]
        assert shapes[0] == shapes[1]


if __name__ == "__main__":
    make(Path(sys.argv[1]))
