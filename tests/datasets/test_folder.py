"""Folders of images or texts as collections."""

import pytest

from rankloom.datasets import folder
from rankloom.errors import InputError, UnknownNameError


def test_a_subfolder_is_a_class(tmp_path, write):
    for name in ("cats/2.txt", "cats/10.txt", "dogs/big/1.txt"):
        write(tmp_path / name, f"text of {name}")
    write(tmp_path / "cats" / "notes.rst", "skipped")
    found = folder(str(tmp_path))
    assert list(found.ids) == ["cats/2.txt", "cats/10.txt", "dogs/big/1.txt"]
    assert found.labels == ("cats", "cats", "dogs/big")
    assert found.part("texts")[1] == "text of cats/10.txt"
    assert found.about == "3 texts, in 2 classes"


def test_a_flat_folder_has_no_classes(tmp_path, write):
    write(tmp_path / "b.JPG", "")
    write(tmp_path / "a.png", "")
    found = folder(str(tmp_path))
    assert (list(found.ids), found.labels, found.queries) == (["a.png", "b.JPG"], None, None)
    assert [item.path.name for item in found.part("images")] == ["a.png", "b.JPG"]


def test_a_folder_with_images_and_texts_needs_a_kind(tmp_path, write):
    write(tmp_path / "x" / "a.png", "")
    write(tmp_path / "x" / "a.txt", "text")
    with pytest.raises(InputError, match=r"both images and texts; choose .* as in 'folder\(path=.*, kind=images\)'"):
        folder(str(tmp_path))
    assert folder(str(tmp_path), kind="texts").part("texts") == ["text"]
    with pytest.raises(UnknownNameError, match="Did you mean 'texts'"):
        folder(str(tmp_path), kind="text")


def test_a_file_outside_the_subfolders_leaves_a_folder_without_classes(tmp_path, write):
    write(tmp_path / "x" / "a.txt", "first")
    write(tmp_path / "stray.md", "second")
    found = folder(str(tmp_path))
    assert list(found.ids) == ["stray.md", "x/a.txt"]
    assert found.part("texts") == ["second", "first"]
    assert found.labels is None


def test_markdown_next_to_images_is_not_a_text_unless_asked_for(tmp_path, write):
    write(tmp_path / "a.png", "")
    write(tmp_path / "README.md", "about the images")
    assert list(folder(str(tmp_path)).ids) == ["a.png"]
    assert list(folder(str(tmp_path), kind="texts").ids) == ["README.md"]


def test_images_next_to_more_markdown_are_its_pictures(tmp_path, write):
    for name in ("a.md", "b.md", "a.png"):
        write(tmp_path / name, "text")
    assert list(folder(str(tmp_path)).ids) == ["a.md", "b.md"]
    assert list(folder(str(tmp_path), kind="images").ids) == ["a.png"]


def test_an_empty_or_missing_folder_is_rejected(tmp_path, write):
    with pytest.raises(InputError, match=r"looked for files that end in \.avif"):
        folder(str(tmp_path))
    with pytest.raises(InputError, match="does not exist"):
        folder(str(tmp_path / "none"))
    with pytest.raises(InputError, match="is not a folder"):
        folder(write(tmp_path / "file.txt", ""))


def test_the_current_folder_has_a_name(tmp_path, monkeypatch, write):
    write(tmp_path / "pets" / "a.txt", "")
    monkeypatch.chdir(tmp_path / "pets")
    assert folder(".").name == "pets"


def test_a_text_that_is_not_utf8_is_named(tmp_path, write):
    write(tmp_path / "a.txt", b"caf\xe9")
    with pytest.raises(InputError, match=r"a\.txt:1: byte 0xe9 is not UTF-8"):
        folder(str(tmp_path))
