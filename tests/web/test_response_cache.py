"""Which answers are given again from memory, and how much of it they take."""

import asyncio

import pytest

from rankloom.web.response_cache import LARGEST, LONGEST, Remembering


class Counting:
    """An application that counts how often it is asked."""

    def __init__(self, body=b"x"):
        self.asked, self._body = 0, body

    async def __call__(self, scope, receive, send):
        self.asked += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self._body})


def asked_twice(path, query=b"", body=b"x", method="GET"):
    """Return how often the application was asked for what came in twice."""
    app, sent = Counting(body), []

    async def send(message):
        sent.append(message)

    async def ask():
        remembering = Remembering(app)
        for _ in range(2):
            scope = {"type": "http", "method": method, "path": path, "query_string": query}
            await remembering(scope, None, send)

    asyncio.run(ask())
    assert sent[:2] == sent[2:]
    return app.asked


def test_an_answer_is_given_again():
    assert asked_twice("/item/3", b"k=5") == 1


@pytest.mark.parametrize("path", ["/picture/0", "/health", "/image/3", "/static/page.css"])
def test_what_changes_or_is_in_memory_anyway_is_not_kept(path):
    assert asked_twice(path) == 2


def test_long_addresses_and_large_answers_are_not_kept():
    assert asked_twice("/item/3", b"x" * LONGEST) == 2
    assert asked_twice("/item/3", body=bytes(LARGEST)) == 2
    assert asked_twice("/item/3", method="POST") == 2


def test_addresses_count_for_as_much_as_they_may_take():
    app = Remembering(Counting())

    async def send(message):
        pass

    async def ask():
        for number in range(50):
            query = b"%d" % number
            await app({"type": "http", "method": "GET", "path": "/", "query_string": query}, None, send)

    asyncio.run(ask())
    assert app._kept._total >= 50 * LONGEST
