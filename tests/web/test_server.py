"""The server with slow, broken and vanishing clients, and its shutdown."""

import http.client
import json
import os
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from urllib.parse import urlsplit

import numpy as np
import pytest
from hostile_images import endless_comment, many_scans
from serving import BRIEF, IMPATIENT, SLOW, in_a_loop, server, started
from typer.testing import CliRunner

import rankloom as rl
from rankloom.cli.app import app
from rankloom.errors import InputError
from rankloom.web import listen, make_app


@pytest.fixture(scope="module")
def running():
    with server("--time-limit", "3") as (process, url):
        yield process, url


def connected(url):
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def response_to(url, *pieces, pause=0.0):
    """Send raw bytes and return the whole response."""
    with connected(url) as client:
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


def healthy(url):
    with urllib.request.urlopen(f"{url}health", timeout=30) as response:
        return json.load(response)["ok"]


def error_in(response):
    head, _, body = response.partition(b"\r\n\r\n")
    data = json.loads(body)
    assert data.keys() - {"request_id"} == {"ok", "error", "status"}
    assert f" {data['status']} " in head.split(b"\r\n")[0].decode()
    return data["status"]


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff\x16\x03\x01 garbage\r\n\r\n", b"GET\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"],
)  # fmt: skip
def test_garbage_gets_400_and_the_server_survives(running, garbage):
    assert error_in(response_to(running[1], garbage)) == 400
    assert healthy(running[1])


def test_endless_headers_are_cut_off(running):
    pieces = [b"GET / HTTP/1.1\r\nHost: localhost\r\n", *[b"X-Long: " + b"a" * 8000 + b"\r\n"] * 6]
    with suppress(BrokenPipeError, ConnectionResetError):  # it may close before we have sent everything
        assert error_in(response_to(running[1], *pieces)) == 431
    assert healthy(running[1])


@pytest.mark.long
def test_slow_headers_and_too_many_connections_are_refused():
    with started(IMPATIENT) as (_, url):
        assert error_in(response_to(url, b"GET / HT", b"T", b"P", pause=0.2)) == 408
        assert error_in(response_to(url)) == 408
        waiting = [connected(url) for _ in range(20)]
        assert error_in(response_to(url)) == 503
        for client in waiting:
            client.close()
        time.sleep(0.5)
        assert healthy(url)


@pytest.mark.long
def test_client_that_does_not_read_is_dropped():
    request = b"GET /item/1/why/2.json?cutoff=18 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with started(IMPATIENT) as (_, url), connected(url) as client:
        client.sendall(request * 400)
        time.sleep(4)
        got = b""
        with suppress(ConnectionResetError):
            while more := client.recv(65536):
                got += more
        assert 0 < got.count(b"HTTP/1.1 200") < 400
        assert healthy(url)


def test_large_headers_in_one_piece_are_refused(running):
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: aaaaaaaaaaaaaaaaaaaaa\r\n" * 1200
    assert error_in(response_to(running[1], head + b"Connection: close\r\n\r\n")) == 431


def test_two_host_headers_are_refused(running):
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert error_in(response_to(running[1], request)) == 400


def test_too_many_uploads_get_503_with_retry_after(running):
    head = b"POST /upload.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 100\r\n\r\n"
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
            response_to(running[1], head.replace(b"Content-Length", b"Connection: close\r\nContent-Length"), bytes(100))
        )
        == 415
    )


def test_disconnect_during_an_upload_is_not_logged(caplog, searcher):
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"image/png")]
    scope = {"type": "http", "method": "POST", "path": "/upload.json", "query_string": b"", "headers": headers}
    in_a_loop(make_app(searcher)(scope, receive, send))
    assert sent[0]["status"] == 400
    assert caplog.records == []


def test_slow_body_gets_408(running):
    head = b"POST /upload.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\n"
    assert error_in(response_to(running[1], head + b"\x89PNG")) == 408
    assert healthy(running[1])


def test_server_survives_clients_that_disconnect(running):
    for _ in range(20):
        with connected(running[1]) as client:
            client.sendall(b"GET /item/3 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with connected(running[1]) as client:
            client.sendall(b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\nabc")
    assert healthy(running[1])


def test_body_beyond_the_limit_is_refused_before_it_is_sent(running):
    head = b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 99999999\r\n\r\n"
    assert error_in(response_to(running[1], head)) == 413


def test_unknown_host_is_refused(running):
    request = b"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert error_in(response_to(running[1], request)) == 400


def test_concurrent_clients_are_all_answered(running):
    statuses = []

    def ask(number):
        with urllib.request.urlopen(f"{running[1]}item/{number % 18}.json?k={number % 7 + 1}", timeout=60) as response:
            statuses.append(response.status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 32


def upload(url, content, statuses):
    request = urllib.request.Request(f"{url}upload.json", content, {"Content-Type": "image/jpeg"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            statuses.append(response.status)
    except urllib.error.HTTPError as error:
        statuses.append(error.code)


def seconds_of(url, number):
    """Return the times of a search by text and of one by item that are not cached yet."""
    times = []
    for path in (f"search.json?q=figs&k={number % 90 + 1}", f"item/{number % 18}.json?k={number % 90 + 1}"):
        start = time.perf_counter()
        with urllib.request.urlopen(f"{url}{path}", timeout=60) as response:
            assert response.status == 200
        times.append(time.perf_counter() - start)
    return times


@pytest.mark.long
@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([many_scans(232_000), many_scans(232_000), endless_comment(), endless_comment()], [415] * 4),
        # few enough scans to be decoded: the time limit ends that
        pytest.param([many_scans(80)] * 4, [413] * 4, marks=pytest.mark.long),
    ],
    ids=["refused", "killed"],
)
def test_uploads_that_take_hours_to_decode_hold_up_nobody(contents, expected):
    """Every request takes at most a second longer than at a server without uploads: the machine may be busy."""
    with started(BRIEF) as (_, url), started(BRIEF) as (_, idle):
        seconds_of(url, 0), seconds_of(idle, 0)  # the first of each kind loads compiled code
        statuses, times, usual = [], [], []
        threads = [threading.Thread(target=upload, args=(url, content, statuses)) for content in contents]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or len(times) < 80:  # and for a while afterwards
            number = len(times) // 2 + 1
            times += seconds_of(url, number)
            usual += seconds_of(idle, number)
        assert statuses == expected
        assert max(times) < 1 + max(usual)


@pytest.mark.long
def test_sigterm_finishes_pending_requests_and_exits_with_0():
    with server() as (process, url):
        with connected(url) as client:
            head = b"POST /upload.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
            client.sendall(head + b"Content-Length: 100\r\n\r\n" + bytes(50))
            assert healthy(url)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            client.sendall(bytes(50))
            assert b" 415 " in client.recv(65536).split(b"\r\n")[0]
        assert process.wait(30) == 0


def answered_until_refused(url, keep_alive, failures, counts):
    """Send requests until the connection is refused; what was connected must be answered in full."""
    parts = urlsplit(url)
    headers = {} if keep_alive else {"Connection": "close"}
    connection, count = None, 0
    while True:
        if connection is None:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
            try:
                connection.connect()
            except OSError:
                counts.append(count)
                return
        try:
            connection.request("GET", f"/item/{count % 18}.json?k={count % 90 + 1}", headers=headers)
            response = connection.getresponse()
            assert json.loads(response.read())["ok"]
            count += 1
        except (OSError, http.client.HTTPException, AssertionError) as error:
            failures.append(repr(error))
            return
        if response.will_close:
            connection.close()
            connection = None


@pytest.mark.long
def test_sigterm_under_load_resets_no_request():
    with server() as (process, url):
        failures, counts = [], []
        threads = [
            threading.Thread(target=answered_until_refused, args=(url, number % 2 == 0, failures, counts))
            for number in range(32)
        ]
        for thread in threads:
            thread.start()
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(60)
        assert failures == []
        assert len(counts) == 32
        assert all(counts)
        assert process.wait(30) == 0


@pytest.mark.long
def test_sigterm_closes_idle_connections_and_finishes_incomplete_headers():
    with server() as (process, url):
        with connected(url) as idle, connected(url) as begun:
            begun.sendall(b"GET /health HTTP/1.1\r\nHost: local")
            assert healthy(url)
            process.send_signal(signal.SIGTERM)
            time.sleep(2)
            begun.sendall(b"host\r\n\r\n")
            got = b"".join(iter(lambda: begun.recv(65536), b""))
            assert b" 200 " in got.split(b"\r\n")[0]
            assert b"connection: close" in got.lower()
            assert idle.recv(1) == b""
        assert process.wait(30) == 0


@pytest.mark.long
def test_sigterm_stops_the_process_during_an_endless_search():
    with started(SLOW) as (process, url):
        request = b"GET /item/1/why/2.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        assert error_in(response_to(url, request)) == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_port_in_use_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["serve", "emoji(first=10)", "--port", str(port)])
    assert result.exit_code == 1
    assert f"Cannot listen on port {port} of 127.0.0.1" in result.output


def test_other_programs_cannot_take_a_listening_port():
    with listen() as sock, socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(sock.getsockname())


def test_on_windows_the_address_is_exclusive(monkeypatch):
    """SO_REUSEADDR means something else there: any program could take the port."""
    options = []

    class Recorded(socket.socket):
        def setsockopt(self, *option):
            options.append(option)

    monkeypatch.setattr("rankloom.web.server.socket.socket", Recorded)
    monkeypatch.setattr("rankloom.web.server.socket.SO_EXCLUSIVEADDRUSE", -5, raising=False)
    listen().close()
    assert options == [(socket.SOL_SOCKET, -5, 1)]


@pytest.mark.parametrize("host", ["", " ", "127.0.0.1\0", "no.such.host.invalid", "a" * 300])
def test_invalid_host_is_an_input_error(host):
    with pytest.raises(InputError, match=r"An empty host|Cannot listen"):
        listen(host)


def test_options_fixed_by_the_index_are_refused(tmp_path):
    names = ["a", "b"]
    ranks = rl.Ranks([[0, 1], [1, 0]], item_ids=names, query_ids=names)
    rl.FusionIndex.build([ranks], cutoff=2).save(tmp_path / "x.loom")
    for option in (["--ranker", "bic"], ["--cutoff", "5"]):
        result = CliRunner().invoke(app, ["serve", str(tmp_path / "x.loom"), "--port", "0", *option])
        assert result.exit_code == 1
        assert f"{option[0]} does not apply" in result.output


def test_a_missing_folder_is_called_missing():
    result = CliRunner().invoke(app, ["serve", "nots", "--port", "0"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: There is no folder or collection nots; give a folder")


def test_index_on_disk_is_served(tmp_path):
    names = ["a", "b", "c"]
    ranks = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], item_ids=names, query_ids=names)
    rl.FusionIndex.build([ranks], cutoff=2).save(tmp_path / "x.loom")
    with (
        server(collection=str(tmp_path / "x.loom"), rankers=()) as (_, url),
        urllib.request.urlopen(f"{url}item/0.json", timeout=30) as response,
    ):
        assert [hit["id"] for hit in json.load(response)["results"]] == ["b", "c"]  # not itself


@pytest.mark.long
def test_index_that_is_cut_or_replaced_while_it_is_served_is_still_answered_from(tmp_path):
    path = tmp_path / "x.loom"
    numbers = np.arange(3000)
    lists = (numbers[:, None] + np.arange(10)) % 3000
    rl.FusionIndex.build([rl.Ranks(lists, kind="collection")], cutoff=10).save(path)
    with server(collection=str(path), rankers=()) as (process, url):

        def found():
            with urllib.request.urlopen(f"{url}item/{next(items)}.json", timeout=30) as response:
                return len(json.load(response)["results"])

        items = iter(range(3000))
        assert found() > 1
        for file in path.iterdir():  # in place: whoever has mapped it reads beyond its end
            os.truncate(file, 0)
        assert min(found() for _ in range(300)) > 1
        shutil.rmtree(path)
        assert min(found() for _ in range(300)) > 1
        assert process.poll() is None
