"""A service under mixed load and under abuse: what default searches get, and how much memory a worker takes.

    python benchmarks/load.py ohsumed.loom words.txt --minutes 10

starts `rankloom serve ohsumed.loom --workers 2` and prints two tables; `words.txt` has a word a line, for queries of
three. It wants an idle machine; as a client, `wrk` with search.lua takes less of it.
"""

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np


def default(words):
    """Return the body of a search that changes nothing but the query."""
    return {"query": " ".join(random.choices(words, k=3))}


#: Bodies of the mixed load, each with the number of its connections.
MIXED = {
    "default": (6, default),
    "weights": (2, lambda words: default(words) | {"weights": {"bm25": round(random.uniform(0.1, 9), 2)}}),
    "filter": (2, lambda words: default(words) | {"where": {"id": {"gte": random.choice("123456789abcdef")}}}),
    "groups": (1, lambda words: default(words) | {"group_by": "id", "facets": ["id"], "highlight": True}),
    "other index": (2, lambda words: default(words) | {"method": f"weft(cutoff={random.randint(1, 40)})"}),
    "heavy": (2, lambda words: default(words) | {"method": random.choice(["kemeny", "mc4"])}),
    "explained": (1, lambda words: default(words) | {"explain": True, "k": 50}),
}


def batch(words):
    """Return a batch of 100 queries by a slow method."""
    return {"queries": [default(words)["query"] for _ in range(100)], "method": "kemeny"}


class Client(threading.Thread):
    """A connection that searches until it is stopped; keeps the status and the seconds of each request."""

    def __init__(self, url, body, words):
        super().__init__(daemon=True)
        self.body, self.words, self.found, self.stopped = body, words, [], threading.Event()
        self.address = urlsplit(url).hostname, urlsplit(url).port

    def run(self):
        """Search."""
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        while not self.stopped.is_set():
            content, started = json.dumps(self.body(self.words)), time.perf_counter()
            try:
                connection.request("POST", "/search", content)
                response = connection.getresponse()
                response.read()
                status = response.status
            except (OSError, http.client.HTTPException):
                connection.close()
                status = 0
            self.found.append((status, time.perf_counter() - started))
            if status != 200:
                time.sleep(0.1)  # a refused client waits


def load(url, words, kinds, seconds, tick=lambda: None):
    """Return (status, seconds) of each request by kind of body, given {kind: (connections, body)}."""
    clients = [(kind, Client(url, body, words)) for kind, (n, body) in kinds.items() for _ in range(n)]
    for _, client in clients:
        client.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(5, max(end - time.monotonic(), 0)))
        tick()
    found = {kind: [] for kind in kinds}
    for _, client in clients:
        client.stopped.set()
    for kind, client in clients:
        client.join(60)
        found[kind] += client.found
    return found


def row(name, found, seconds):
    """Print rate, percentiles and statuses of one kind of request."""
    times = np.array([one for status, one in found if status == 200] or [np.nan]) * 1000
    statuses = ", ".join(f"{n} x {status}" for status, n in sorted(Counter(one for one, _ in found).items()))
    p50, p99 = np.percentile(times, [50, 99])
    print(f"| {name} | {len(found) / seconds:.0f} | {p50:.0f} ms | {p99:.0f} ms | {statuses} |", flush=True)
    return p99


def memory(process):
    """Return the megabytes of each worker: all, and without mapped files."""
    workers = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
    sizes = []
    for pid in workers.stdout.split():
        status = dict(re.findall(r"(VmRSS|RssAnon):\s+(\d+)", Path(f"/proc/{pid}/status").read_text()))
        sizes.append([int(status[name]) / 1000 for name in ("VmRSS", "RssAnon")])
    return np.array(sizes)


def main(options):
    """Start the service, and print both tables."""
    words = Path(options.words).read_text().split()
    random.seed(7)
    command = [sys.executable, "-c", "from rankloom_command import main; main()", "serve", options.folder]
    command += ["--port", "0", "--workers", "2", "--cache-size", str(options.cache_size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = re.search(r"http://\S+", process.stdout.readline()).group()
            time.sleep(5)  # until the second worker has started, too
            print("| load | requests/s | 50 % | 99 % | answers |\n|---|---:|---:|---:|---|")
            row("fresh, 16 connections", load(url, words, {"": (16, default)}, options.seconds)[""], options.seconds)
            alone = row("default alone", load(url, words, {"": (4, default)}, options.seconds)[""], options.seconds)
            kinds = {"default": (4, default), "batch": (8, batch)}
            beside = load(url, words, kinds, options.seconds)
            p99 = row("default, beside batches by kemeny", beside["default"], options.seconds)
            row("these batches", beside["batch"], options.seconds)
            print(f"\n99 %: {p99 / alone:.1f} times that alone.\n")
            sizes, seconds = [memory(process)], options.minutes * 60
            found = load(url, words, MIXED, seconds, lambda: sizes.append(memory(process)))
            print("| mixed load | requests/s | 50 % | 99 % | answers |\n|---|---:|---:|---:|---|")
            for kind, answers in found.items():
                row(kind, answers, seconds)
            for name, column in (("all", 0), ("without mapped files", 1)):
                most = max(size[:, column].max() for size in sizes if len(size))
                print(f"\nMemory of a worker, {name}: {sizes[0][:, column].max():.0f} MB at first, {most:.0f} at most.")
        finally:
            process.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("words")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--cache-size", type=float, default=256)
    main(parser.parse_args())
