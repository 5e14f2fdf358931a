#!/bin/sh
# What the image does, without Docker: install, serve a searcher with options from the environment, ask it, stop it.
# CI runs it in an empty environment: env -i PATH="$PATH" sh deploy/check.sh
set -eu
sources=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
export HOME="$work"
sh "$sources/deploy/install.sh" "$sources" "$work/rankloom"
cd "$work"
printf '{"id": "d1", "text": "Heat conduction in slabs."}\n{"id": "d2", "text": "The failing heart."}\n' > docs.jsonl
rankloom/bin/rankloom build docs.jsonl --ranker bm25 --ranker static -o shop.loom
export RANKLOOM_SERVE_HOST=0.0.0.0 RANKLOOM_SERVE_PORT="${PORT:-8765}" RANKLOOM_SERVE_WORKERS=2 RANKLOOM_API_KEY=checked
rankloom/bin/rankloom serve shop.loom &
server=$!
rankloom/bin/python - <<'PYTHON'
import json, os, time, urllib.error, urllib.request

url = f"http://127.0.0.1:{os.environ['RANKLOOM_SERVE_PORT']}"


def status(path, **headers):
    try:
        return urllib.request.urlopen(urllib.request.Request(url + path, headers=headers), timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


for _ in range(300):
    if status("/ready") == 200:
        break
    time.sleep(0.2)
assert status("/ready") == 200
assert status("/metrics") == 401
assert status("/metrics", Authorization="Bearer checked") == 200
body = json.dumps({"query": "heat", "k": 1}).encode()
found = json.load(urllib.request.urlopen(urllib.request.Request(url + "/search", body, {"X-API-Key": "checked"})))
assert [hit["id"] for hit in found["hits"]] == ["d1"], found
print("The service answers.")
PYTHON
kill "$server"
wait "$server"
server=
