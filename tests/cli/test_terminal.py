"""What documents and files contain cannot drive the terminal: no command prints control characters."""

import json
import re
from pathlib import Path

import pytest

import rankloom as rl
import rankloom.cli
from command import run

#: Escape sequences that color the terminal and clear it, in 7 bits and in 8, and other control characters.
EVIL = "\x1b[31m\x07\x08\x9b2J\x7f"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
COMMANDS = {
    "search": ["search", "{loom}", "heat"],
    "item": ["search", "{loom}", "--item", f"d1{EVIL}"],
    "explain": ["search", "{loom}", "heat", "--explain", f"d1{EVIL}"],
    "json": ["search", "{loom}", "heat", "--json", "--field", "text", "--field", f"f{EVIL}"],
    "fields": ["search", "{loom}", "heat", "--where", "absent=1"],
    "queries": ["search", "{loom}", "--queries", "{queries}"],
    "add": ["add", "{loom}", "{docs}"],
    "delete": ["delete", "{loom}", f"absent{EVIL}"],
    "build": ["build", "{docs}", "--text", "absent", "--ranker", "bm25", "-o", "{folder}/x.loom"],
    "duplicate": ["build", "{twice}", "--ranker", "bm25", "-o", "{folder}/x.loom"],
    "index": ["search", "{index}", "-k", "2"],
    "index-json": ["search", "{index}", "--item", f"a{EVIL}"],
    "fuse": ["fuse", "{bad}", "--method", "rrf", "-o", "{folder}/x.run"],
    "evaluate": ["evaluate", "{evil_run}", "--qrels", "{qrels}"],
    "compare": ["compare", "{evil_run}", "{run}", "--qrels", "{qrels}", "--per-query"],
    "correlate": ["correlate", "{evil_run}", "{run}"],
    "select": ["select", "{evil_run}", "{run}", "--qrels", "{qrels}", "--json"],
    "rank": ["rank", "{docs}", "--ranker", "bm25", "--no-cache", "-o", "{folder}/ranks"],
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    documents = [{"id": f"d{i}{EVIL}", "text": f"heat {EVIL} slab {i}", f"f{EVIL}": EVIL} for i in range(4)]
    found = {name: folder / f"{name}.jsonl" for name in ("docs", "twice", "queries")}
    found |= {name: folder / f"{name}.run" for name in ("bad", "run")}
    found |= {"loom": folder / "x.loom", "index": folder / "index.loom", "folder": folder, "qrels": folder / "qrels"}
    found["evil_run"] = folder / f"evil{EVIL}.run"
    found["docs"].write_text("".join(f"{json.dumps(one)}\n" for one in documents))
    found["twice"].write_text("".join(f"{json.dumps(one)}\n" for one in documents[:1] * 2))
    found["queries"].write_text(f"{json.dumps({'id': f'q{EVIL}', 'text': 'slab'})}\n")
    rl.Searcher.build(documents, ["bm25", "bow"]).save(found["loom"])
    lists = rl.Ranks.from_dict({one: {one: 2.0, other: 1.0} for one, other in (("a" + EVIL, "b"), ("b", "a" + EVIL))})
    rl.FusionIndex.build([lists]).save(found["index"])
    found["bad"].write_text(f"q1 Q0 d{EVIL} 1\n")
    for path in (found["run"], found["evil_run"]):
        path.write_text(f"q1 Q0 d1{EVIL} 1 2.0 x\nq1 Q0 d2 2 1.0 x\nq2 Q0 d2 1 1.0 x\n")
    found["qrels"].write_text(f"q1 0 d1{EVIL} 1\nq2 0 d2 1\nq{EVIL} 0 d9 1\n")
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_control_characters(command, paths):
    done = run(*(one.format(**paths) if "{" in one else one for one in COMMANDS[command]))
    assert done.stdout or done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)
    assert done.exit_code in (0, 1), done.output


def test_json_for_the_terminal_still_has_the_same_text(paths):
    done = run("search", paths["loom"], "heat", "--json", "--field", "text")
    assert {EVIL in hit["text"] for hit in json.loads(done.stdout)["hits"]} == {True}


def test_commands_print_through_one_function():
    folder = Path(rankloom.cli.__file__).parent
    printing = [path.name for path in folder.glob("*.py") if re.search(r"typer\.echo|\bprint\(", path.read_text())]
    assert printing == ["app.py"]
