"""Request ids, the log, and metrics of one process and of two workers."""

import io
import json
import logging
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sample_texts import documents
from serving import server
from starlette.testclient import TestClient
from test_reload import get, saved, wait_until
from test_workers import children

import rankloom as rl
from rankloom.web import Limits, make_app
from rankloom.web.telemetry import JsonFormatter


@pytest.fixture
def client():
    searcher = rl.Searcher.build(documents(20), ["okapi"])
    app = make_app(searcher, limits=Limits(uploads=0))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as opened:
        yield opened


def samples(text):
    """Return {name and labels: value}."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name, *sorted(sample.labels.values())] = sample.value
    return found


def scraped(client):
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    return samples(response.text)


def test_requests_are_counted_by_route_and_status(client):
    for path in ("/item/3", "/item/4", "/item/4", "/item/99", "/nothing/1", "/nothing/2", "/documents/d1", "/ready"):
        client.get(path)
    client.post("/search", json={"query": "heat"})
    client.post("/search", json={"query": "heat", "k": 0})
    counts = {key[1:]: n for key, n in scraped(client).items() if key[0] == "rankloom_request_seconds_count"}
    assert counts == {
        ("/item/{number}", "200"): 3,  # one of them from the cache
        ("/item/{number}", "404"): 1,
        ("404", "other"): 2,
        ("/documents/{item_id:path}", "200"): 1,
        ("/ready", "200"): 1,
        ("/search", "200"): 1,
        ("/search", "422"): 1,
    }


def test_searches_are_counted_by_method(client):
    client.post("/search", json={"queries": ["heat", "wing"]})
    client.post("/search", json={"item": "d1", "method": "rrf(constant=20)"})
    client.get("/search?q=heat")
    client.get("/search?q=heat")  # from the cache: not searched again
    counts = {key[1]: n for key, n in scraped(client).items() if key[0] == "rankloom_searches_total"}
    assert counts == {"vote": 3, "rrf": 1}


def test_queues_and_refusals_are_counted(client, monkeypatch):
    site = client.app.site
    site._lanes["quick"]._max_tasks = 0
    assert client.post("/search", json={"query": "heat"}).status_code == 503
    found = scraped(client)
    assert found["rankloom_rejected_total", "quick"] == 1
    assert found["rankloom_queue", "quick"] == 0
    assert found["rankloom_index_documents",] == 20


def test_a_request_has_one_id_in_its_header_error_and_log(client, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.INFO, "rankloom.access")
    response = client.get("/item/999.json", headers={"x-request-id": "abc-1"})
    assert response.headers["x-request-id"] == response.json()["request_id"] == "abc-1"
    for odd in ("", "x" * 65, "a b", "a\tb", "é", '"'):
        response = client.get("/ready", headers={"x-request-id": odd.encode("latin-1")})
        assert len(response.headers["x-request-id"]) == 32
    monkeypatch.setattr(type(client.app.site.views), "browse", lambda *_, **__: 1 / 0)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    response = client.get("/items.json?page=2", headers={"x-request-id": "abc-2"})
    logging.getLogger().removeHandler(handler)
    assert response.status_code == 500
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    lines = [line for line in lines if line["request_id"]]  # the client logs, too
    assert {line["request_id"] for line in lines} == {"abc-2"}
    assert any("ZeroDivisionError" in line.get("exception", "") for line in lines)
    access = next(line for line in lines if line["message"] == "request")
    assert (access["method"], access["path"], access["status"]) == ("GET", "/items.json", 500)
    assert access["seconds"] > 0


@pytest.mark.long
def test_a_scrape_has_the_sums_of_two_workers(tmp_path):
    path = saved(tmp_path / "shop.loom")
    with server("--workers", "2", collection=str(path), rankers=()) as (process, url):

        def sums():
            with urllib.request.urlopen(f"{url}metrics", timeout=60) as response:
                return samples(response.read().decode())

        wait_until(lambda: len(children(process)) == 2)
        before = sums().get(("rankloom_request_seconds_count", "/version", "200"), 0)
        for _ in range(60):  # each on a connection of its own, so both workers answer some
            get(url, "version")
        assert sums()["rankloom_request_seconds_count", "/version", "200"] - before == 60
        assert sums()["rankloom_index_documents",] == 40
        assert sums()["rankloom_index_generation",] == 1
        assert sums()["rankloom_index_bytes",] == sum(
            one.stat().st_size for one in path.iterdir() if one.name != "lock"
        )
        assert abs(sums()["rankloom_index_timestamp_seconds",] - (path / "meta.json").stat().st_mtime) < 1
        meta = (path / "meta.json").read_bytes()
        (path / "meta.json").write_text("{}")
        while sums().get(("rankloom_reload_failures_total",), 0) < 2:
            process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
        (path / "meta.json").write_bytes(meta)
        victim = children(process)[0]
        os.kill(victim, signal.SIGKILL)  # what it counted stays
        wait_until(lambda: victim not in children(process) and len(children(process)) == 2)
        assert sums()["rankloom_request_seconds_count", "/version", "200"] - before == 60
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.long
def test_every_option_can_come_from_the_environment_and_the_log_can_be_json(tmp_path, monkeypatch):
    path = saved(tmp_path / "shop.loom")
    for name, value in {
        "RANKLOOM_API_KEY": "k1",
        "RANKLOOM_SERVE_LOG_FORMAT": "json",
        "RANKLOOM_SERVE_WORKERS": "2",
    }.items():
        monkeypatch.setenv(name, value)
    with server(collection=str(path), rankers=()) as (process, url):
        wait_until(lambda: len(children(process)) == 2)
        arguments = " ".join(Path(f"/proc/{one}/cmdline").read_text() for one in children(process))
        assert "shop.loom" in arguments
        assert "k1" not in arguments  # others can read them
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(url, "version")
        request = urllib.request.Request(
            f"{url}version", headers={"Authorization": "Bearer k1", "X-Request-ID": "mine"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.headers["X-Request-ID"] == "mine"
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
