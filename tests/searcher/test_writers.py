"""Several processes that write to one folder: what is reported as saved is there, or its writer got the error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sample_texts import documents

import rankloom as rl

# Works on one folder after another, in each together with the other workers, and prints what each step came to.
WORKER = """
import json, sys, time
from pathlib import Path
from random import Random
sys.path.insert(0, sys.argv[1])
from sample_texts import documents
import rankloom as rl
from rankloom.errors import RankloomError
from rankloom.searcher.searcher import updating

home, worker, workers, rounds = Path(sys.argv[2]), *map(int, sys.argv[3:])
random = Random(worker)

def new(turn, n):
    return documents(n, turn, 1000 * (worker + 1) + 10 * turn)

def step(path, turn):
    kind = random.choice(["add", "add", "command", "delete", "build", "compact"])
    if kind == "build":
        searcher = rl.Searcher.build(docs := new(turn, 6), ["okapi"], depth=8, cutoff=4)
        overwrite = random.random() < 0.5
        searcher.save(path, overwrite=overwrite)
        return searcher, {"only": [one["id"] for one in docs]}
    if kind == "command":
        with updating(path) as searcher:
            searcher.add(docs := new(turn, 1))
        return searcher, {"added": [one["id"] for one in docs]}
    searcher = rl.Searcher.open(path)
    time.sleep(random.choice([0, 0.01, 0.03]))
    if kind == "compact":
        searcher.compact()
    elif kind == "add":
        searcher.add(docs := new(turn, random.choice([1, 2])))
    else:
        gone = random.choice(list(searcher.ids))
        searcher.delete([gone])
    searcher.save(path)
    done = {"compact": {}, "add": {"added": [one["id"] for one in docs]} if kind == "add" else {}}
    return searcher, done.get(kind, {}) if kind != "delete" else {"deleted": [gone]}

for number in range(rounds):
    path = home / str(number)
    (home / f"{number}.{worker}").touch()
    while len(list(home.glob(f"{number}.*"))) < workers:
        time.sleep(0.002)
    for turn in range(4):
        try:
            searcher, done = step(path, turn)
            print(json.dumps({"round": number, "generation": searcher._folder.head.generation, **done}), flush=True)
        except RankloomError as error:
            print(json.dumps({"round": number, "error": str(error)}), flush=True)
"""

#: What a writer may be told.
ALLOWED = ("has changed since it was opened", "already exists", "at least one document")


def outcomes(home, workers, rounds):
    """Return what the steps of all workers came to."""
    for number in range(rounds):
        rl.Searcher.build(documents(12, number), ["okapi"], depth=8, cutoff=4).save(home / str(number))
        (home / str(number) / "notes.txt").write_text("mine")
    arguments = [sys.executable, "-c", WORKER, str(Path(__file__).parent), str(home)]
    running = [
        subprocess.Popen([*arguments, *map(str, (worker, workers, rounds))], stdout=subprocess.PIPE, text=True)
        for worker in range(workers)
    ]
    texts = [one.communicate()[0] for one in running]
    assert [one.returncode for one in running] == [0] * workers
    return [json.loads(line) for text in texts for line in text.splitlines()]


def check_round(path, steps, first):
    """Replay the steps that were saved, in the order of their generations, and compare with the folder."""
    saved = sorted((step for step in steps if "generation" in step), key=lambda step: step["generation"])
    assert [step["generation"] for step in saved] == list(range(2, len(saved) + 2))  # none was lost
    ids = list(first)
    for step in saved:
        ids = step.get("only", [id for id in ids if id not in step.get("deleted", [])] + step.get("added", []))
    opened = rl.Searcher.open(path, verify=True)
    assert list(opened.ids) == ids
    assert [one["id"] for one in opened.documents] == ids
    assert (path / "notes.txt").read_text() == "mine"
    for step in steps:
        assert "error" not in step or any(known in step["error"] for known in ALLOWED), step["error"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("workers", "rounds"),
    [
        (2, 3),
        (3, 3),
        pytest.param(2, 100, marks=pytest.mark.exhaustive),
        pytest.param(3, 100, marks=pytest.mark.exhaustive),
    ],
)
def test_no_work_of_writers_is_lost(tmp_path, workers, rounds):
    steps = outcomes(tmp_path, workers, rounds)
    first = [one["id"] for one in documents(12)]
    for number in range(rounds):
        check_round(tmp_path / str(number), [step for step in steps if step["round"] == number], first)
