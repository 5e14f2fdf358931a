"""Under abuse, default searches are answered, indexes are built once, and caches stay within their bytes."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sample_texts import documents, encode
from starlette.testclient import TestClient
from test_app import error_of

import rankloom as rl
from rankloom.methods import Kemeny
from rankloom.searcher.lru import NotBuiltError, only_built
from rankloom.web import Limits, make_app
from rankloom.web.app import make_app as app_of
from rankloom.web.site import Site
from rankloom.web.uploads import Uploads
from rankloom.web.views import Views
from rankloom.weft import WeftIndex


@pytest.fixture
def texts():
    return rl.Searcher.build(documents(80), {"bm25": "okapi", "dense": encode, "bow": "bow"}, cutoff=10)


def post(client, **body):
    return client.post("/search", json={"query": "heat transfer", **body})


@pytest.fixture
def builds(monkeypatch):
    """Return the lists of rankers that indexes are built of; a build takes a while."""
    made, build = [], WeftIndex.build.__func__

    def slow(cls, lists, **options):
        made.append(tuple(lists))
        time.sleep(0.3)
        return build(cls, lists, **options)

    monkeypatch.setattr(WeftIndex, "build", classmethod(slow))
    return made


def test_the_default_index_is_never_evicted(texts, builds):
    app = make_app(texts, limits=Limits(cache_bytes=1000))
    with TestClient(app, base_url="http://localhost") as client:
        expected = post(client).json()
        for number in range(20):
            assert post(client, weights={"bm25": 1 + number / 10}).status_code == 200
            assert post(client, method=f"vote(neighbors_weight=0.{number:02})").status_code == 200
        assert builds == []  # none of them needs an index of its own
        for cutoff in range(1, 6):
            assert post(client, method=f"weft(cutoff={cutoff})").status_code == 200
        assert len(builds) == 5
        assert post(client).json() == expected
        assert len(builds) == 5


def test_a_first_use_under_load_waits_for_the_one_build(texts, builds):
    with TestClient(make_app(texts), base_url="http://localhost") as client, ThreadPoolExecutor(24) as pool:
        found = list(pool.map(lambda _: post(client, rankers=["bm25", "bow"]), range(24)))
    assert [one.status_code for one in found] == [200] * 24
    assert builds == [("bm25", "bow")]


def test_an_index_that_is_not_there_is_not_built_where_that_is_not_allowed(texts):
    with only_built():
        assert len(texts.search("heat")) > 0
        with pytest.raises(NotBuiltError):
            texts.search("heat", rankers=["bow"])
    assert len(texts.search("heat", rankers=["bow"])) > 0


def test_slow_methods_do_not_hold_up_others(texts, monkeypatch):
    hold, fuse = threading.Event(), Kemeny.fuse

    def held(self, ranks, k=10):
        hold.wait(60)
        return fuse(self, ranks, k)

    monkeypatch.setattr(Kemeny, "fuse", held)
    site = Site(texts)
    with TestClient(app_of(site), base_url="http://localhost") as client, ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(post, client, method="kemeny") for _ in range(4)]
        while site._lanes["slow"]._n_tasks < 4:
            time.sleep(0.01)
        assert "Too many searches" in error_of(post(client, method="kemeny"), 503)
        assert [post(client).status_code for _ in range(20)] == [200] * 20
        queries = [f"heat {n}" for n in range(21)]
        refused = client.post("/search", json={"queries": queries})
        assert "Too many searches" in error_of(refused, 503)  # a large batch is slow, too
        assert client.post("/search", json={"queries": queries[:20]}).status_code == 200
        hold.set()
        assert [one.result().status_code for one in waiting] == [200] * 4


def test_indexes_stay_within_their_bytes(texts):
    views = Views(texts, limits=Limits(cache_bytes=1_000_000))
    others = views.state.indexes._others._values
    for cutoff in range(1, 30):
        views.searcher.search("heat", method=f"weft(cutoff={cutoff})")
        assert others.currsize <= 500_000
    assert 1 < len(others) < 29


def test_uploads_and_documents_stay_within_their_bytes(texts):
    class Decoder:
        def decode(self, content):
            return np.full((100, 100, 3), content[0], np.uint8)

    uploads = Uploads(Decoder(), 100_000)
    digests = [uploads.add(bytes([number])) for number in range(10)]
    assert [uploads.find(one) is not None for one in digests] == [False] * 7 + [True] * 3
    views = Views(texts, limits=Limits(cache_bytes=16 * 30_000))
    for number in range(80):
        views.document(number)
        assert views._parsed._values.currsize <= 30_000
    assert 0 < len(views._parsed._values) < 80
