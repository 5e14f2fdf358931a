"""Several processes serve one port: they share it, are replaced when they end, and stop together."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from serving import server, started
from test_reload import Client, get, saved, wait_until

from rankloom.web.access import Access
from rankloom.web.limits import Limits
from rankloom.web.workers import Job

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sockets are passed on to processes on POSIX systems only")


def children(process):
    """Return the numbers of the processes that a process has started and that still run."""
    listed = subprocess.run(["ps", "-o", "pid=,stat=", "--ppid", str(process.pid)], capture_output=True, text=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [int(pid) for pid, state in rows if not state.startswith("Z")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("workers") / "shop.loom")


def test_job_survives_json():
    job = Job(Path("shop.loom"), Limits(batch=3), Access(("a",), ("https://b",)), True, ("x.py",), "json")
    assert Job.of_json(json.loads(job.to_json())) == job


@pytest.mark.long
def test_requests_are_answered_while_workers_are_killed_and_replaced(path):
    with server("--workers", "2", collection=str(path), rankers=()) as (process, url):
        wait_until(lambda: len(children(process)) == 2)
        first = set(children(process))
        for victim in first:
            before = set(children(process))
            os.kill(victim, signal.SIGKILL)
            for _ in range(20):  # each on a connection of its own
                assert get(url, "health")["ok"]
            wait_until(lambda before=before: len(set(children(process)) - before) == 1)
            replacement = (set(children(process)) - before).pop()
            wait_until(lambda: get(url, "health")["ok"])
            time.sleep(0.5)
            assert replacement in children(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.long
def test_hangup_reloads_all_workers_under_load(tmp_path):
    path = saved(tmp_path / "shop.loom")
    with server("--workers", "2", collection=str(path), rankers=()) as (process, url):
        clients = [Client(url) for _ in range(6)]
        for client in clients:
            client.start()
        wait_until(lambda: all(client.count for client in clients))
        saved(path, 30)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: all(client.seen[-1:] == [30] for client in clients) or any(one.errors for one in clients))
        for client in clients:
            client.stopped.set()
            client.join()
        assert [client.errors for client in clients] == [[]] * 6


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_finishes_pending_requests_of_all_workers(path, number):
    from test_server import connected

    with server("--workers", "2", collection=str(path), rankers=()) as (process, url):
        wait_until(lambda: len(children(process)) == 2)
        workers = children(process)
        body = b'{"query": "heat"}'
        pending = [connected(url) for _ in range(8)]
        for client in pending:
            head = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
            client.sendall(head + body[:5])
        time.sleep(0.5)
        process.send_signal(number)
        time.sleep(0.5)
        for client in pending:
            client.sendall(body[5:])
            assert b" 200 " in client.recv(65536).split(b"\r\n")[0]
            client.close()
        assert process.wait(60) == 0
        assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


@pytest.mark.long
def test_workers_end_with_their_parent(path):
    with server("--workers", "2", collection=str(path), rankers=()) as (process, _url):
        wait_until(lambda: len(children(process)) == 2)
        workers = children(process)
        process.kill()
        wait_until(lambda: not any(_runs(pid) for pid in workers))


def _runs(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


@pytest.mark.long
def test_error_of_the_folder_is_reported_once(tmp_path):
    path = saved(tmp_path / "shop.loom")
    (path / "documents0_blob.g1.npy").unlink()
    with (
        pytest.raises(AssertionError, match=r"documents0_blob\.g1\.npy is missing") as caught,
        server("--workers", "2", collection=str(path), rankers=()),
    ):
        pass
    assert str(caught.value).count("\n") == 1  # one sentence, no traceback


SERVE_IN_A_THREAD_POOL = """
import sys
from rankloom.web import listen, serve_folder
serve_folder(sys.argv[1], listen(), workers=2, ready=lambda url: print(url, flush=True))
"""


@pytest.mark.long
def test_workers_are_started_from_python_too(path):
    with (
        started(SERVE_IN_A_THREAD_POOL, str(path)) as (_, url),
        urllib.request.urlopen(f"{url}version", timeout=60) as response,
    ):
        assert json.load(response)["n_items"] == 40
