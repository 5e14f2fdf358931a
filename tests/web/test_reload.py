"""A server opens a new version of its folder without dropping a request."""

import gc
import http.client
import json
import logging
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import weakref
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sample_texts import documents, encode
from serving import server

import rankloom as rl
from command import run, sentence
from rankloom.errors import InputError
from rankloom.web import Limits
from rankloom.web.reload import Reloader, identity_of, open_version
from rankloom.web.site import Site


def saved(path, n=40, seed=0):
    """Save a searcher of n documents."""
    rl.Searcher.build(documents(n, seed=seed), ["okapi", "jaccard"], cutoff=5, depth=20).save(path, overwrite=True)
    return path


def get(url, path):
    with urllib.request.urlopen(f"{url}{path}", timeout=60) as response:
        return json.load(response)


def wait_until(true):
    """Wait until a condition holds; the test hangs if it never does."""
    while not true():
        time.sleep(0.05)


class Client(threading.Thread):
    """Searches until it is stopped, and keeps what went wrong and which numbers of documents it saw."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.errors, self.seen, self.count, self.stopped = [], [], 0, threading.Event()
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)

    def run(self):
        while not self.stopped.is_set():
            try:
                data = self.ask("POST", "/search", {"query": "heat transfer", "k": 3, "fields": ["id"]})
                assert [hit["document"]["id"] for hit in data["hits"]] == [hit["id"] for hit in data["hits"]]
                n_items = self.ask("GET", "/items.json")["n_items"]
                if n_items not in self.seen[-1:]:
                    self.seen.append(n_items)
                self.count += 1
            except Exception as error:
                self.errors.append(repr(error))
                break
        self._connection.close()

    def ask(self, method, path, body=None):
        self._connection.request(method, path, None if body is None else json.dumps(body))
        response = self._connection.getresponse()
        data = json.loads(response.read())
        assert response.status == 200, data
        return data


@pytest.mark.long
def test_folder_is_replaced_under_load_without_an_error(tmp_path):
    path = saved(tmp_path / "shop.loom")
    with server("--watch", collection=str(path), rankers=()) as (process, url):
        clients = [Client(url) for _ in range(4)]
        for client in clients:
            client.start()
        sizes = [40, 41, 45, 39, 60, 50]
        for n in sizes[1:]:
            saved(path, n, seed=n)
            wait_until(lambda n=n: get(url, "health")["n_items"] == n)
            before = [client.count for client in clients]
            wait_until(
                lambda before=before: (
                    all(one.count > n + 1 for one, n in zip(clients, before, strict=True))
                    or any(one.errors for one in clients)
                )
            )
        for client in clients:
            client.stopped.set()
            client.join()
        assert [client.errors for client in clients] == [[]] * 4
        assert all(client.seen == sizes for client in clients)
        assert process.poll() is None


@pytest.mark.long
def test_hangup_takes_up_the_new_version(tmp_path):
    path = saved(tmp_path / "shop.loom")
    with server(collection=str(path), rankers=()) as (process, url):
        before = get(url, "version")
        assert before["n_items"] == 40
        done = run("delete", path, "d7")
        assert done.exit_code == 0, done.output
        assert get(url, "version") == before
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: get(url, "version")["serving"] != before["serving"])
        assert get(url, "version")["n_items"] == 39
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.long
def test_old_version_is_served_on_if_the_new_one_is_damaged(tmp_path):
    path = saved(tmp_path / "shop.loom")
    with server("--watch", collection=str(path), rankers=()) as (process, url):
        damaged = saved(tmp_path / "other.loom", 30)
        (damaged / "documents0_blob.g1.npy").unlink()
        path.rename(tmp_path / "old.loom")
        damaged.rename(path)
        time.sleep(2.5)
        assert get(url, "health")["n_items"] == 40
        shutil.rmtree(path)
        time.sleep(1.5)
        assert get(url, "items.json")["n_items"] == 40
        saved(path, 30)
        wait_until(lambda: get(url, "health")["n_items"] == 30)
        assert process.poll() is None


@pytest.fixture
def site(tmp_path):
    path = saved(tmp_path / "shop.loom")
    site = Site(open_version(path)[0], Limits())
    yield path, site
    site.close()


def test_failed_reload_is_logged_and_keeps_the_searcher(site, caplog):
    path, site = site
    reloader = Reloader(path, site, identity_of(path), watch=False)
    (path / "meta.json").write_text("{")
    before = site.views
    with caplog.at_level(logging.INFO, "rankloom.web"):
        reloader._reload()
    assert site.views is before
    assert "still serving the old one" in caplog.text
    saved(path.with_name("new.loom"), 20)
    shutil.rmtree(path)
    path.with_name("new.loom").rename(path)
    reloader._reload()
    assert len(site.views) == 20
    assert site.views.digest != before.digest


def test_old_version_is_released(site):
    path, site = site
    gone = weakref.ref(site.views.state)
    pending = site.views  # as a request holds it
    saved(path, 20)
    Reloader(path, site, identity_of(path), watch=False)._reload()
    assert gone() is not None
    assert pending.search(pending.text_query("heat"), pending.defaults)["results"]
    del pending
    gc.collect()
    assert gone() is None


def test_searcher_with_a_function_as_encoder_is_refused(tmp_path):
    path = tmp_path / "shop.loom"
    rl.Searcher.build(documents(20), {"bm25": "okapi", "dense": encode}).save(path)
    with pytest.raises(InputError, match=r"'dense' of .* was given as a function, which is not stored"):
        open_version(path)
    assert "was given as a function" in sentence(run("serve", path, "--port", "0"))


@pytest.mark.long
def test_ranker_of_a_plugin_is_known_to_the_server(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "import rankloom as rl\nfrom rankloom.rankers import RANKERS\n"
        "RANKERS.register('mine')(lambda: RANKERS.make('okapi'))\n"
    )
    (tmp_path / "docs.jsonl").write_text("\n".join(json.dumps(one) for one in documents(20)))
    command = [Path(sys.executable).with_name("rankloom"), "build", tmp_path / "docs.jsonl"]  # it stays registered
    command += ["--plugin", plugin, "--ranker", "mine", "-o", tmp_path / "shop.loom"]
    subprocess.run(command, check=True, capture_output=True)
    options = ("--plugin", str(plugin), "--workers", "2")
    with server(*options, collection=str(tmp_path / "shop.loom"), rankers=()) as (_, url):
        assert get(url, "health")["rankers"] == [{"name": "mine", "title": "mine", "part": "texts"}]


def test_options_for_folders_are_refused_for_collections():
    for option in (["--watch"], ["--workers", "2"]):
        said = sentence(run("serve", "emoji(first=10)", "--port", "0", *option))
        assert f"{option[0]} does not apply: it needs a folder written by rankloom build" in said
