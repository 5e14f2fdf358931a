"""A server in a separate process, started as a user would."""

import asyncio
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

SOURCE = str(Path(__file__).parents[2] / "src")
BASKETS = """
import sys
sys.path.insert(0, {folder!r})
from web_collection import baskets
from rankloom.datasets import COLLECTIONS
COLLECTIONS.register("baskets")(baskets)
from rankloom.cli import main
main()
"""
IMPATIENT = """
import sys
sys.path.insert(0, {folder!r})
from web_collection import baskets
from rankloom import Searcher
from rankloom.web import Limits, listen, make_app, serve
limits = Limits(header_seconds=1, answer_seconds=1, connections=20)
serve(make_app(Searcher.build(baskets(), ["bic"]), limits=limits), listen(), ready=lambda url: print(url, flush=True))
"""
BRIEF = """
import sys
sys.path.insert(0, {folder!r})
from web_collection import baskets
from rankloom import Searcher
from rankloom.web import Limits, listen, make_app, serve
searcher = Searcher.build(baskets(), ["bic", "okapi"])
limits = Limits(decode_seconds=0.5, seconds=60)
serve(make_app(searcher, limits=limits), listen(), ready=lambda url: print(url, flush=True))
"""
SLOW = """
import sys, time
sys.path.insert(0, {folder!r})
from web_collection import baskets
from rankloom import Searcher
from rankloom.web import Limits, listen, make_app, serve
from rankloom.web.why import Why
Why.compare = lambda *_: time.sleep(600)
searcher = Searcher.build(baskets(), ["bic"])
serve(make_app(searcher, limits=Limits(seconds=1)), listen(), ready=lambda url: print(url, flush=True))
"""


@contextmanager
def server(*arguments, collection="baskets", rankers=("bic", "gch", "okapi", "jaccard")):
    """Yield the process of a server and its URL; kill it afterwards if it still runs."""
    chosen = [part for one in rankers for part in ("--ranker", one)]
    with started(BASKETS, "serve", collection, *chosen, "--port", "0", "--no-cache", *arguments) as started_server:
        yield started_server


@contextmanager
def started(code, *arguments):
    """Yield a process that runs some code, and the URL that it prints."""
    command = [sys.executable, "-c", code.format(folder=str(Path(__file__).parent)), *arguments]
    paths = [SOURCE, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, bufsize=1
    )
    stderr = []
    reader = threading.Thread(target=lambda: stderr.extend(process.stderr), daemon=True)
    reader.start()
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        if found is None:
            process.wait(30)
            raise AssertionError("".join(stderr))
        yield process, found.group()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        reader.join(10)
        process.stdout.close()
        process.stderr.close()


def in_a_loop(coroutine):
    """Run a coroutine in a thread of its own: a browser may keep a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
