"""The commands of docs/serving.md print what the page shows below them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import server

from rankloom.web.limits import Limits
from rankloom.web.search_api import body_schema

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CURL = re.compile(r"^```sh\n(curl -s [^\n]*)\n```\n\n```json\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def rounded(value):
    """Return JSON with its numbers rounded."""
    return json.loads(json.dumps(value), parse_float=lambda text: round(float(text), 5))


@pytest.mark.skipif(None in (shutil.which("bash"), shutil.which("curl")), reason="the commands need bash and curl")
def test_commands_of_the_page_print_what_it_shows(tmp_path):
    build = next(text for kind, text in BLOCK.findall(PAGE) if kind == "sh" and "rankloom build docs.jsonl" in text)
    build = "\n".join(line for line in build.splitlines() if not line.startswith("rankloom serve"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-euc", build], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    examples = CURL.findall(PAGE)
    assert len(examples) >= 5
    with server(collection=str(tmp_path / "shop.loom"), rankers=()) as (_, url):
        for command, shown in examples:
            here = command.replace("http://127.0.0.1:8000/", url)
            done = subprocess.run(["bash", "-euc", here], capture_output=True, text=True, check=True)
            assert rounded(json.loads(done.stdout)) == rounded(json.loads(shown))


def test_every_key_and_limit_of_a_search_is_on_the_page():
    limits = Limits()
    assert [name for name in body_schema(limits)["properties"] if f"`{name}`" not in PAGE] == []
    assert f"{limits.json_bytes // 10**6} MB of JSON; {limits.batch} queries" in PAGE
    assert f"`k` + `offset` up to {limits.results}" in PAGE
