"""Listing the files of a folder."""

import os

import pytest

from rankloom.datasets import folder
from rankloom.datasets.layout import natural_key
from rankloom.errors import InputError


def test_natural_key_orders_numbers_by_value():
    names = ["a10", "a2", "a02", "b1", "a", "10", "9"]
    assert sorted(names, key=natural_key) == ["9", "10", "a", "a02", "a2", "a10", "b1"]


def test_pipes_are_skipped(tmp_path, write):
    write(tmp_path / "a.txt", "text")
    os.mkfifo(tmp_path / "b.txt")
    assert list(folder(str(tmp_path)).ids) == ["a.txt"]


def test_an_unreadable_subfolder_is_named(tmp_path, monkeypatch, write):
    write(tmp_path / "a" / "a.txt", "text")
    (tmp_path / "b").mkdir()
    scandir = os.scandir

    def refusing(path):
        if os.fspath(path).endswith("b"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(InputError, match=r"Cannot read the folder .*b: Permission denied"):
        folder(str(tmp_path))
