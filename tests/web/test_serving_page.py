"""The requests of docs/serving.md and docs/start.md return what the pages show below them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import server

from rankloom.searcher.page import LIST_DEPTH
from rankloom.web.limits import Limits
from rankloom.web.search_api import body_schema

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "serving.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CURL = re.compile(r"^```sh\n(curl -s [^\n]*)\n```\n\n```json\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def rounded(value):
    """Return JSON with its numbers rounded."""
    return json.loads(json.dumps(value), parse_float=lambda text: round(float(text), 5))


@pytest.mark.skipif(None in (shutil.which("bash"), shutil.which("curl")), reason="the commands need bash and curl")
@pytest.mark.parametrize(
    ("page", "documents", "searcher", "n_requests"),
    [
        pytest.param("serving.md", "docs.jsonl", "shop.loom", 5, marks=pytest.mark.long),
        ("start.md", "notes", "notes.loom", 1),
    ],
)
def test_requests_of_a_page_return_what_it_shows(page, documents, searcher, n_requests, tmp_path):
    text = (DOCS / page).read_text("utf-8")
    build = next(text for kind, text in BLOCK.findall(text) if kind == "sh" and f"rankloom build {documents}" in text)
    build = "\n".join(line for line in build.splitlines() if not line.startswith("rankloom serve"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-euc", build], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    examples = CURL.findall(text)
    assert len(examples) >= n_requests
    with server(collection=str(tmp_path / searcher), rankers=()) as (_, url):
        for command, shown in examples:
            here = command.replace("http://127.0.0.1:8000/", url)
            done = subprocess.run(["bash", "-euc", here], capture_output=True, text=True, check=True)
            assert rounded(json.loads(done.stdout)) == rounded(json.loads(shown))


def test_every_key_and_limit_of_a_search_is_on_the_page():
    limits = Limits()
    assert [name for name in body_schema(limits)["properties"] if f"`{name}`" not in PAGE] == []
    assert f"{limits.json_bytes // 10**6} MB of JSON; {limits.batch} queries" in PAGE
    assert f"`k` up to {limits.results}, pages up to hit {LIST_DEPTH}" in PAGE
