from pathlib import Path

import numpy as np
import pytest

from rankloom.io.cache import Cache, digest_bytes

KEY = "ab" * 16


def test_saved_arrays_are_loaded(tmp_path):
    Cache(tmp_path / "deep" / "er").save(KEY, {"x": np.arange(3), "y": np.zeros((2, 2))})
    found = Cache(tmp_path / "deep" / "er").load(KEY)
    assert found["x"].tolist() == [0, 1, 2]
    assert found["y"].shape == (2, 2)


def test_a_damaged_file_is_a_miss(tmp_path):
    cache = Cache(tmp_path)
    cache.save(KEY, {"x": np.arange(3)})
    path = next(tmp_path.rglob("*.npz"))
    path.write_bytes(path.read_bytes()[:-20])
    assert cache.load(KEY) is None


def test_a_cache_without_a_folder_is_disabled():
    cache = Cache(None)
    cache.save(KEY, {"x": np.arange(3)})
    assert cache.load(KEY) is None


def test_a_folder_that_cannot_be_created_causes_one_warning(tmp_path):
    (tmp_path / "file").write_text("")
    messages = []
    cache = Cache(tmp_path / "file" / "x", warn=messages.append)
    for key in (KEY, "cd" * 16):
        cache.save(key, {"x": np.arange(3)})
        assert cache.load(key) is None
    assert len(messages) == 1
    assert messages[0].startswith("Cannot create the folder")
    with pytest.warns(UserWarning, match="Nothing is cached"):
        Cache(tmp_path / "file" / "x").save(KEY, {})


def test_the_standard_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.delenv("RANKLOOM_CACHE", raising=False)
    assert Cache.standard().folder == Path("/xdg/rankloom")
    monkeypatch.setenv("RANKLOOM_CACHE", "/own")
    assert Cache.standard().folder == Path("/own")


def test_a_digest_depends_on_the_division_into_parts():
    assert digest_bytes(b"ab", b"c") != digest_bytes(b"a", b"bc")
