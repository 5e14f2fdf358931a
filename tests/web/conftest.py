"""A small searcher, and an in-process client for it."""

import pytest
from web_collection import baskets

from rankloom import Searcher
from rankloom.web import Limits, make_app

RANKERS = ["bic", "gch", "okapi", "jaccard"]


@pytest.fixture(scope="session")
def searcher():
    return Searcher.build(baskets(), RANKERS, cutoff=4)


@pytest.fixture(scope="session")
def limits():
    return Limits(body_bytes=200_000, pixels=500_000, seconds=20, json_bytes=50_000)


@pytest.fixture(scope="session")
def client(searcher, limits):
    from starlette.testclient import TestClient

    app = make_app(searcher, collection=baskets(), limits=limits, allowed_hosts=["baskets.example"])
    with TestClient(app, base_url="http://127.0.0.1:8000", follow_redirects=False) as opened:
        yield opened
