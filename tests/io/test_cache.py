from pathlib import Path

import numpy as np
import pytest

from rankloom.io.cache import Cache, digest_bytes

KEY = "ab" * 16


def test_what_is_saved_is_found_again(tmp_path):
    Cache(tmp_path / "deep" / "er").save(KEY, {"x": np.arange(3), "y": np.zeros((2, 2))})
    found = Cache(tmp_path / "deep" / "er").load(KEY)
    assert found["x"].tolist() == [0, 1, 2]
    assert found["y"].shape == (2, 2)


def test_a_damaged_file_counts_as_not_there(tmp_path):
    cache = Cache(tmp_path)
    cache.save(KEY, {"x": np.arange(3)})
    path = next(tmp_path.rglob("*.npz"))
    path.write_bytes(path.read_bytes()[:-20])
    assert cache.load(KEY) is None


def test_no_folder_keeps_nothing():
    cache = Cache(None)
    cache.save(KEY, {"x": np.arange(3)})
    assert cache.load(KEY) is None


def test_a_folder_that_cannot_be_made_is_told_of_once_and_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("")
    told = []
    cache = Cache(tmp_path / "file" / "x", tell=told.append)
    for key in (KEY, "cd" * 16):
        cache.save(key, {"x": np.arange(3)})
        assert cache.load(key) is None
    assert len(told) == 1
    assert "Nothing is kept; choose another cache with --cache" in told[0]
    with pytest.warns(UserWarning, match="Nothing is kept"):
        Cache(tmp_path / "file" / "x").save(KEY, {})


def test_the_standard_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.delenv("RANKLOOM_CACHE", raising=False)
    assert Cache.standard().folder == Path("/xdg/rankloom")
    monkeypatch.setenv("RANKLOOM_CACHE", "/own")
    assert Cache.standard().folder == Path("/own")


def test_parts_do_not_run_together():
    assert digest_bytes(b"ab", b"c") != digest_bytes(b"a", b"bc")
