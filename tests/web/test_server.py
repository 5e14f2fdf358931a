"""The server as clients of all kinds meet it: patient, slow, broken and gone; and its end."""

import asyncio
import json
import signal
import socket
import threading
import time
import urllib.request
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from serving import IMPATIENT, SLOW, server, started
from typer.testing import CliRunner

import rankloom as rl
from rankloom.cli import app
from rankloom.errors import InputError
from rankloom.web import listen, make_app


@pytest.fixture(scope="module")
def running():
    with server("--time-limit", "3") as (process, address):
        yield process, address


def connected(address):
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def answer_to(address, *pieces, pause=0.0):
    """Send bytes as they are and return all that comes back."""
    with connected(address) as client:
        for piece in pieces:
            client.sendall(piece)
            time.sleep(pause)
        got = b""
        while True:
            try:
                more = client.recv(65536)
            except ConnectionResetError:
                return got
            if not more:
                return got
            got += more


def healthy(address):
    with urllib.request.urlopen(f"{address}health", timeout=30) as answer:
        return json.load(answer)["ok"]


def error_in(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    data = json.loads(body)
    assert data.keys() == {"ok", "error", "status"}
    assert f" {data['status']} " in head.split(b"\r\n")[0].decode()
    return data["status"]


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff\x16\x03\x01 garbage\r\n\r\n", b"GET\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"POST /picture HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"],
)  # fmt: skip
def test_garbage_is_answered_with_400_and_the_server_lives_on(running, garbage):
    assert error_in(answer_to(running[1], garbage)) == 400
    assert healthy(running[1])


def test_endless_headers_are_cut_off(running):
    pieces = [b"GET / HTTP/1.1\r\nHost: localhost\r\n", *[b"X-Long: " + b"a" * 8000 + b"\r\n"] * 6]
    with suppress(BrokenPipeError, ConnectionResetError):  # it may close while we are still sending
        assert error_in(answer_to(running[1], *pieces)) == 431
    assert healthy(running[1])


def test_headers_that_come_byte_by_byte_are_given_up_and_too_many_connections_refused():
    with started(IMPATIENT) as (_, address):
        assert error_in(answer_to(address, b"GET / HT", b"T", b"P", pause=0.2)) == 408
        assert error_in(answer_to(address)) == 408
        waiting = [connected(address) for _ in range(20)]
        assert error_in(answer_to(address)) == 503
        for client in waiting:
            client.close()
        time.sleep(0.5)
        assert healthy(address)


def test_a_client_that_does_not_read_its_answers_is_given_up():
    asked = b"GET /item/1/why/2.json?cutoff=18 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with started(IMPATIENT) as (_, address), connected(address) as client:
        client.sendall(asked * 400)
        time.sleep(4)
        got = b""
        with suppress(ConnectionResetError):
            while more := client.recv(65536):
                got += more
        assert 0 < got.count(b"HTTP/1.1 200") < 400
        assert healthy(address)


def test_headers_that_come_together_are_counted_too(running):
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: aaaaaaaaaaaaaaaaaaaaa\r\n" * 1200
    assert error_in(answer_to(running[1], head + b"Connection: close\r\n\r\n")) == 431


def test_two_hosts_are_refused(running):
    asked = b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert error_in(answer_to(running[1], asked)) == 400


def test_more_pictures_at_a_time_than_allowed_are_told_to_come_again(running):
    head = b"POST /picture.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 100\r\n\r\n"
    under_way = [connected(running[1]) for _ in range(8)]
    for client in under_way:
        client.sendall(head)
    assert healthy(running[1])
    with connected(running[1]) as client:
        client.sendall(head)
        got = client.recv(65536)
    assert b" 503 " in got.split(b"\r\n")[0]
    assert b"retry-after: 1" in got.lower()
    for client in under_way:
        client.close()
    assert healthy(running[1])
    assert (
        error_in(
            answer_to(running[1], head.replace(b"Content-Length", b"Connection: close\r\nContent-Length"), bytes(100))
        )
        == 415
    )


def test_a_picture_whose_sender_goes_away_is_not_logged_as_an_error(caplog, library):
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"image/png")]
    scope = {"type": "http", "method": "POST", "path": "/picture.json", "query_string": b"", "headers": headers}
    asyncio.run(make_app(library)(scope, receive, send))
    assert sent[0]["status"] == 400
    assert caplog.records == []


def test_a_body_that_comes_too_slowly_is_given_up(running):
    head = b"POST /picture.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\n"
    assert error_in(answer_to(running[1], head + b"\x89PNG")) == 408
    assert healthy(running[1])


def test_a_client_that_goes_away_in_the_middle_harms_no_one(running):
    for _ in range(20):
        with connected(running[1]) as client:
            client.sendall(b"GET /item/3 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with connected(running[1]) as client:
            client.sendall(b"POST /picture HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\nabc")
    assert healthy(running[1])


def test_a_body_beyond_the_limit_is_refused_before_it_is_sent(running):
    head = b"POST /picture HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 99999999\r\n\r\n"
    assert error_in(answer_to(running[1], head)) == 413


def test_a_name_that_is_not_ours_is_refused(running):
    asked = b"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert error_in(answer_to(running[1], asked)) == 400


def test_many_clients_at_a_time_are_all_answered(running):
    statuses = []

    def ask(number):
        with urllib.request.urlopen(f"{running[1]}item/{number % 18}.json?k={number % 7 + 1}", timeout=60) as answer:
            statuses.append(answer.status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 32


def test_sigterm_finishes_what_is_under_way_and_ends_with_0():
    with server() as (process, address):
        with connected(address) as client:
            head = b"POST /picture.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
            client.sendall(head + b"Content-Length: 100\r\n\r\n" + bytes(50))
            assert healthy(address)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            client.sendall(bytes(50))
            assert b" 415 " in client.recv(65536).split(b"\r\n")[0]
        assert process.wait(30) == 0


def test_sigterm_ends_the_process_while_a_search_goes_on_and_on():
    with started(SLOW) as (process, address):
        asked = b"GET /item/1/why/2.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        assert error_in(answer_to(address, asked)) == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_port_that_is_taken_is_told_in_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["serve", "emoji(first=10)", "--port", str(port)])
    assert result.exit_code == 1
    assert f"Cannot listen on port {port} of 127.0.0.1" in result.output
    assert "--port" in result.output


@pytest.mark.parametrize("host", ["", " ", "127.0.0.1\0", "no.such.host.invalid", "a" * 300])
def test_a_host_that_cannot_be_is_told_in_a_sentence(host):
    with pytest.raises(InputError, match=r"--host|Cannot listen"):
        listen(host)


def test_options_that_an_index_has_settled_are_refused(tmp_path):
    names = ["a", "b"]
    ranks = rl.Ranks([[0, 1], [1, 0]], item_ids=names, query_ids=names)
    rl.FusionIndex.build([ranks], cutoff=2).save(tmp_path / "x.loom")
    for option in (["--ranker", "bic"], ["--cutoff", "5"]):
        result = CliRunner().invoke(app, ["serve", str(tmp_path / "x.loom"), "--port", "0", *option])
        assert result.exit_code == 1
        assert f"{option[0]} can't be chosen" in result.output


def test_an_index_on_disk_is_served(tmp_path):
    names = ["a", "b", "c"]
    ranks = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], item_ids=names, query_ids=names)
    rl.FusionIndex.build([ranks], cutoff=2).save(tmp_path / "x.loom")
    with (
        server(collection=str(tmp_path / "x.loom"), rankers=()) as (_, address),
        urllib.request.urlopen(f"{address}item/0.json", timeout=30) as answer,
    ):
        assert [hit["name"] for hit in json.load(answer)["results"]] == ["a", "b", "c"]
