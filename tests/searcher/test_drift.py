"""Drift: `info` tells how far a searcher is from a build of its documents."""

import warnings

import numpy as np
import pytest
from sample_texts import documents, encode

import rankloom as rl
from rankloom.errors import RankloomWarning

MADE = documents(300)


def built(n=200):
    return rl.Searcher.build(MADE[:n], {"bm25": "bm25", "dense": encode}, depth=20)


def test_newer_documents_are_counted_until_compact():
    searcher = built()
    assert searcher.info()["statistics"] == {
        "fitted": searcher.state.settings.fitted,
        "days": 0,
        "newer": 0,
        "lists_changed": 0.0,
    }
    searcher.add(MADE[200:230])  # is merged, which keeps the statistics
    searcher.add(MADE[230:250])
    assert searcher.info()["statistics"]["newer"] == 50
    searcher.delete(["d1", "d205", "d249"])
    assert searcher.info()["statistics"]["newer"] == 48
    searcher.compact()
    assert searcher.info()["statistics"]["newer"] == 0


def test_lists_that_changed_are_those_that_new_documents_entered():
    searcher = built()
    before = {name: searcher.state.lists[name].items for name in searcher.rankers}
    searcher.add(MADE[200:210])
    after = {name: searcher.state.lists[name].items[:200] for name in searcher.rankers}
    shares = [np.mean((before[name] != after[name]).any(axis=1)) for name in searcher.rankers]
    assert searcher.info()["statistics"]["lists_changed"] == pytest.approx(np.mean(shares), abs=1e-4)


def test_many_newer_documents_are_a_warning(tmp_path):
    searcher = built(60)
    searcher.add(MADE[60:90])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searcher.info()  # a third is not more than a third
    searcher.add(MADE[90:91])
    searcher.save(tmp_path / "s.loom")
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": encode})
    with pytest.warns(RankloomWarning, match="31 of 91 documents are newer than the statistics of words; compact"):
        assert opened.info() == {**searcher.info(), "encoders": opened.info()["encoders"]}


def test_an_encoder_that_changes_shows(tmp_path):
    searcher = built(60)
    assert searcher.info()["encoders"] == {"dense": 1.0}
    searcher.save(tmp_path / "s.loom")
    tilt = 0.0
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": lambda texts: encode(texts) + tilt})
    tilt = 0.5
    known, now = encode([one["title"] + "\n" + one["text"] for one in MADE[:60]]).astype(float), opened.info()
    cosines = [a @ (a + tilt) / np.linalg.norm(a) / np.linalg.norm(a + tilt) for a in known]
    assert min(cosines) - 1e-5 <= now["encoders"]["dense"] < 1
    assert rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": None}).info()["encoders"] == {}
