"""Which responses are cached, and how much memory they count for."""

import pytest
from serving import in_a_loop

from rankloom.web.response_cache import MAX_RESPONSE_BYTES, MAX_URL_BYTES, ResponseCache

MAX_BYTES = 96_000_000


class Counting:
    """An application that counts its requests."""

    def __init__(self, body=b"x"):
        self.n_requests, self._body = 0, body

    async def __call__(self, scope, receive, send):
        self.n_requests += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self._body})


def responses(app, *requests):
    """Return the messages sent in response to requests (method, path, query)."""
    sent = []

    async def send(message):
        sent.append(message)

    async def request_all():
        for method, path, query in requests:
            await app({"type": "http", "method": method, "path": path, "query_string": query}, None, send)

    in_a_loop(request_all())
    return sent


def requests_passed(path, query=b"", body=b"x", method="GET"):
    """Return how often the application behind the cache gets a request that is sent twice."""
    app = Counting(body)
    sent = responses(ResponseCache(app, lambda: 1, MAX_BYTES), *[(method, path, query)] * 2)
    assert sent[:2] == sent[2:]
    return app.n_requests


def test_response_is_cached():
    assert requests_passed("/item/3", b"k=5") == 1


@pytest.mark.parametrize("path", ["/upload/0", "/health", "/version", "/image/3", "/static/page.css"])
def test_responses_that_change_or_are_in_memory_are_not_cached(path):
    assert requests_passed(path) == 2


def test_long_urls_and_large_responses_are_not_cached():
    assert requests_passed("/item/3", b"x" * MAX_URL_BYTES) == 2
    assert requests_passed("/item/3", body=bytes(MAX_RESPONSE_BYTES)) == 2
    assert requests_passed("/item/3", method="POST") == 2


def test_urls_count_toward_the_size():
    cache = ResponseCache(Counting(), lambda: 1, MAX_BYTES)
    responses(cache, *[("GET", "/", b"%d" % number) for number in range(50)])
    assert cache._responses.currsize >= 50 * MAX_URL_BYTES


def test_another_version_forgets_the_responses():
    versions = iter([1, 1, 1, 1, 2, 2, 2])  # two lookups for a response that is made, one for one that is cached
    app = Counting()
    responses(ResponseCache(app, lambda: next(versions), MAX_BYTES), *[("GET", "/item/3", b"")] * 3)
    assert app.n_requests == 2


def test_response_begun_with_an_old_version_is_not_cached():
    versions = iter([1, 1, 2, 2, 2])
    app = Counting()
    responses(ResponseCache(app, lambda: next(versions), MAX_BYTES), *[("GET", "/item/3", b"")] * 2)
    assert app.n_requests == 2
