"""The key, pages of other sites, and readiness, attacked."""

import re
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_texts import documents
from starlette.testclient import TestClient
from test_app import error_of
from test_server import connected

import rankloom as rl
from rankloom.errors import InputError
from rankloom.web import make_app
from rankloom.web.access import COOKIE, Access
from rankloom.web.app import make_app as app_of
from rankloom.web.server import listen, starting, url_of
from rankloom.web.site import Site

KEY = "s3cret-Key"
PATHS = [
    "/",
    "/items.json",
    "/search.json?q=a",
    "/item/0",
    "/documents/d0",
    "/version",
    "/metrics",
    "/openapi.json",
    "/api",
]
PAGE = {"accept": "text/html"}


@pytest.fixture(scope="module")
def texts():
    return rl.Searcher.build(documents(20), ["okapi"])


@pytest.fixture
def guarded(texts):
    app = make_app(texts, api_key=KEY, cors_origins=["https://shop.example"])
    with TestClient(app, base_url="http://localhost", follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
def test_without_the_key_nothing_is_told(guarded, path):
    for headers in ({}, PAGE):
        response = guarded.get(path, headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert "20 documents" not in response.text
        assert "okapi" not in response.text
    assert guarded.get(path, headers={"x-api-key": KEY}).status_code == 200


def test_what_needs_no_key_tells_nothing(guarded):
    assert guarded.get("/ready").json() == {"ok": True}
    assert guarded.get("/health").json().keys() == {"ok", "version"}
    assert "n_items" in guarded.get("/health", headers={"x-api-key": KEY}).json()
    for path in ("/login", "/static/none"):
        assert guarded.get(path, headers=PAGE).headers["content-type"] == "application/json"
    assert guarded.get("/healthz").status_code == 401
    assert guarded.get(re.search(r"/static/page[^\"]*", guarded.get("/", headers=PAGE).text)[0]).status_code == 200


def test_a_form_with_other_fields_is_refused_in_a_sentence(guarded):
    form = guarded.post("/login", data={"key": KEY, "next": "/", "more": "x"})
    assert error_of(form, 400).endswith("number of fields is 2.")


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": ""},
        {"x-api-key": KEY.lower()},
        {"x-api-key": KEY + " "[:0] + "x"},
        {"x-api-key": KEY[:-1]},
        {"authorization": KEY},
        {"authorization": f"Basic {KEY}"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"cookie": f"{COOKIE}={KEY}"},
        {"cookie": f"{COOKIE}="},
        {"cookie": f"x{COOKIE}={Access(api_key=KEY).cookie}"},
        {"cookie": f"{COOKIE}={Access(api_key=KEY + 'x').cookie}"},
        {"x-forwarded-user": KEY},
    ],
)
def test_guesses_are_refused(guarded, headers):
    assert "Send the API key" in error_of(guarded.post("/search", json={"query": "heat"}, headers=headers), 401)


@pytest.mark.parametrize(
    "headers", [{"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer  {KEY}"}, {"x-api-key": KEY}]
)
def test_the_key_opens(guarded, headers):
    assert guarded.post("/search", json={"query": "heat"}, headers=headers).status_code == 200


@given(st.text(max_size=30), st.binary(max_size=30))
def test_only_the_key_fits(key, guess):
    access = Access(api_key=key)
    assert access.fits(key.encode()) or not key
    assert access.fits(guess) == (guess == key.encode())


@pytest.mark.parametrize(
    "path", ["/Health", "/health/../items.json", "//items.json", "/static/../items.json", "/login", "/%2e/items.json"]
)
def test_odd_paths_do_not_lead_around_the_key(guarded, path):
    response = guarded.get(path)
    assert response.status_code in (401, 404, 405)
    assert '"d0"' not in response.text


def test_a_cached_page_is_not_shown_without_the_key(guarded):
    assert guarded.get("/items.json", headers={"x-api-key": KEY}).status_code == 200
    assert guarded.get("/items.json").status_code == 401


def test_the_page_asks_once(guarded):
    page = guarded.get("/search?q=heat", headers=PAGE)
    assert 'name="next" value="/search?q=heat"' in page.text
    wrong = guarded.post("/login", data={"key": "guess", "next": "/"})
    assert wrong.status_code == 401
    assert "Wrong key" in wrong.text
    right = guarded.post("/login", data={"key": KEY, "next": "/search?q=heat"})
    assert (right.status_code, right.headers["location"]) == (303, "/search?q=heat")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(right.headers["set-cookie"].split("; "))
    assert KEY not in right.headers["set-cookie"]
    assert guarded.get("/search?q=heat", headers=PAGE).status_code == 200  # the client has the cookie


@pytest.mark.parametrize(
    "url",
    ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "", "/a\r\nx: y", "/\t/x"],
)
def test_the_login_leads_to_no_other_site(guarded, url):
    assert guarded.post("/login", data={"key": KEY, "next": url}).headers["location"] == "/"


def test_a_hostile_url_is_escaped_on_the_page(guarded):
    page = guarded.get('/search?q="><script>alert(1)</script>', headers=PAGE)
    assert "<script>" not in page.text


def test_other_sites_cannot_log_in(guarded):
    response = guarded.post("/login", data={"key": KEY}, headers={"origin": "https://evil.example"})
    assert response.status_code == 403


def test_a_key_must_not_be_empty(texts):
    with pytest.raises(InputError, match="The key is empty"):
        make_app(texts, api_key=" ")


# Pages of other sites


def preflight(client, origin):
    headers = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    return client.options("/search", headers=headers)


def test_allowed_pages_may_search_and_read_errors(guarded):
    origin = {"origin": "https://shop.example"}
    asked = preflight(guarded, "https://shop.example")
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == "https://shop.example"
    assert "x-api-key" in asked.headers["access-control-allow-headers"].lower()
    found = guarded.post("/search", json={"query": "heat"}, headers={**origin, "x-api-key": KEY})
    refused = guarded.post("/search", json={"query": "heat"}, headers=origin)
    assert (found.status_code, refused.status_code) == (200, 401)
    for response in (found, refused):
        assert response.headers["access-control-allow-origin"] == "https://shop.example"
        assert "access-control-allow-credentials" not in response.headers
        assert "origin" in response.headers["vary"].lower()


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "http://shop.example", "https://shop.example.evil.example", "https://shop.example:444",
     "null", "https://SHOP.example", "https://shop.example/", "*"],
)  # fmt: skip
def test_other_pages_are_refused(guarded, origin):
    assert "access-control-allow-origin" not in preflight(guarded, origin).headers
    response = guarded.post("/search", json={"query": "heat"}, headers={"origin": origin, "x-api-key": KEY})
    assert response.status_code == 403
    assert "access-control-allow-origin" not in response.headers


def test_without_a_list_no_other_page_may_read(texts):
    with TestClient(make_app(texts), base_url="http://localhost") as client:
        response = client.get("/items.json", headers={"origin": "https://shop.example"})
        assert "access-control-allow-origin" not in response.headers
        assert preflight(client, "https://shop.example").status_code in (403, 405)


@pytest.mark.parametrize(
    "origin", ["*", "shop.example", "https://shop.example/", "https://shop.example/a", "ftp://a", "", "https://a b"]
)
def test_odd_origins_are_errors(texts, origin):
    with pytest.raises(InputError, match="An origin is like"):
        make_app(texts, cors_origins=[origin])


# Readiness


def test_not_ready_while_stopping(texts):
    site = Site(texts)
    with TestClient(app_of(site), base_url="http://localhost") as client:
        assert client.get("/ready").status_code == 200
        site.stop()
        assert "The server is stopping" in error_of(client.get("/ready"), 503)
        assert client.get("/health").status_code == 200


def test_not_ready_while_starting():
    with listen("127.0.0.1", 0) as sock:
        with starting(sock):
            idle = connected(url_of(sock))  # sends nothing: others are told to wait all the same
            endless = connected(url_of(sock))
            endless.sendall(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 30_000)
            for request in (
                b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n",
                b"POST /search HTTP/1.1\r\n\r\n{}",
                b"garbage\r\n\r\n",
            ):
                client = connected(url_of(sock))
                client.sendall(request)
                answer = b""
                while data := client.recv(65536):
                    answer += data
                assert answer.startswith(b"HTTP/1.1 503 ")
                assert b"Retry-After: 1" in answer
                assert b"The server is starting" in answer
                client.close()
            idle.close()
            endless.close()
            dripping = connected(url_of(sock))
            ended = threading.Event()
            drip = threading.Thread(target=dripped, args=(dripping, ended))
            drip.start()
        ended.set()
        drip.join()
        assert not [one for one in threading.enumerate() if one.name == "rankloom-starting"]


def dripped(client, ended):
    """Send a header that does not end, byte by byte."""
    with client, suppress(OSError):
        client.sendall(b"GET / HTTP/1.1\r\na: ")
        while not ended.wait(0.05):
            client.sendall(b"b")
