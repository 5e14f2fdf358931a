"""A small library, and an in-process client for it."""

import pytest
from web_collection import baskets

from rankloom.web import Library, Limits, make_app


@pytest.fixture(scope="session")
def library():
    return Library.open(baskets(), ["bic", "gch", "okapi", "jaccard"], cutoff=4)


@pytest.fixture(scope="session")
def limits():
    return Limits(body_bytes=200_000, pixels=500_000, seconds=20)


@pytest.fixture(scope="session")
def client(library, limits):
    from starlette.testclient import TestClient

    app = make_app(library, limits=limits, allowed_hosts=["baskets.example"])
    with TestClient(app, base_url="http://127.0.0.1:8000", follow_redirects=False) as opened:
        yield opened
