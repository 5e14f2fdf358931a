"""Opening a collection from its spelling."""

import pytest

from rankloom.datasets import open_collection
from rankloom.errors import InputError
from rankloom.registry import Call


def test_open_collection_by_name_folder_or_file(tmp_path, write):
    path = write(tmp_path / "t.csv", "id,text,label\na,one,x\nb,three,y\n")
    write(tmp_path / "pets" / "a.txt", "")
    assert open_collection(path).labels == ("x", "y")
    assert open_collection(f"table(path={path}, label=id)").labels == ("a", "b")
    assert open_collection(Call.of("table", {"path": path})).name == "t"
    assert open_collection(str(tmp_path / "pets")).name == "pets"


def test_a_missing_path_is_reported_as_missing(tmp_path, write):
    with pytest.raises(InputError, match=r"nope\.csv does not exist; give a folder, a file that ends in \.csv"):
        open_collection(str(tmp_path / "nope.csv"))
    with pytest.raises(InputError, match=r"a\.md is neither a folder nor a table"):
        open_collection(write(tmp_path / "a.md", ""))


def test_unknown_collections_and_options_are_rejected():
    with pytest.raises(InputError, match=r"There is no folder or collection socer; .* Did you mean 'soccer'"):
        open_collection("socer")
    with pytest.raises(InputError, match=r"'soccer' has no option 'pth'; it has path, check\. Did you mean 'path'"):
        open_collection("soccer(pth=x)")
    with pytest.raises(InputError, match=r"'table' needs the option 'path': table\(path=\.\.\.\)"):
        open_collection("table")
    with pytest.raises(InputError, match="Put it in quotes"):
        open_collection("folder(path=2006)")
