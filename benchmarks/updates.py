"""The price of updates: CPU seconds and bytes written by adding and deleting documents, each with its save.

    RANKLOOM_DATA=data python benchmarks/updates.py 100000 --against ../other/src --cache /tmp/lists

prints a row for each step in this tree and in another one, which are measured one after the other in each step's turn.
The cache shares the lists of the build.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

STEPS = ("open", "first search", "first where", "add 1", "add 100", "delete 1", "delete 100", "reopen", "search")
SRC = str(Path(__file__).parents[1] / "src")


def cpu():
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sizes(folder):
    """Return the size of each file in a folder, by what changes when it is written."""
    stats = [file.stat() for file in Path(folder).iterdir()]
    return {(stat.st_ino, stat.st_mtime_ns): stat.st_size for stat in stats}


def written(folder, before):
    """Return the bytes of files that are new in a folder."""
    return sum(size for file, size in sizes(folder).items() if file not in before)


def build(n, depth, cache, folder):
    """Build and save a searcher of n documents that have a year."""
    from documents import documents

    import rankloom as rl
    from rankloom.io.cache import Cache

    rows = [{"id": f"d{i}", "text": text, "year": 1900 + i % 120} for i, text in enumerate(documents(n + 200))]
    Path(f"{folder}.json").write_text(json.dumps(rows[n:]))
    searcher = rl.Searcher.build(rows[:n], rankers=["bm25", "static"], depth=depth, cache=Cache(Path(cache)))
    searcher.save(folder)


def measure(folder):
    """Print a row for each step, when a line of input asks for the next."""
    import rankloom as rl

    more, searcher = json.loads(Path(f"{folder}.json").read_text()), None
    warm(rl)
    for step in STEPS:
        sys.stdin.readline()
        before, start, clock = sizes(folder), cpu(), time.perf_counter()
        searcher = run(step, searcher, folder, more, rl)
        row = {"cpu": cpu() - start, "wall": time.perf_counter() - clock, "bytes": written(folder, before)}
        print(json.dumps(row), flush=True)


def warm(rl):
    """Load the kernels and the encoder with a few documents."""
    rows = [{"id": str(i), "text": f"heart {i} failure of {'abcdefghij'[i % 10]}", "year": i} for i in range(60)]
    searcher = rl.Searcher.build(rows, rankers=["bm25", "static"], depth=20)
    with TemporaryDirectory() as folder:
        searcher.save(f"{folder}/x")
        searcher = rl.Searcher.open(f"{folder}/x")
        for at in range(3):
            searcher.add([{"id": f"new{at}", "text": "a failing heart", "year": 3}])
            searcher.delete([f"new{at}"])
            searcher.search("heart", where={"year": 3})
            searcher.save(f"{folder}/x")


def run(step, searcher, folder, more, rl):
    """Run one step; return the searcher after it."""
    if "open" in step:
        return rl.Searcher.open(folder)
    if step == "first where":
        searcher.search("heart failure in children", where={"year": 1961})
    elif "search" in step:
        searcher.search("heart failure in children")
    elif step.startswith("add"):
        searcher.add(more[:1] if step == "add 1" else more[1:101])
        searcher.save(folder)
    else:
        searcher.delete(["d7"] if step == "delete 1" else [f"d{i}" for i in range(1000, 1100)])
        searcher.save(folder)
    return searcher


def main():
    """Build a searcher in each tree, and measure the steps in turn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", type=int)
    parser.add_argument("--depth", type=int, default=60)
    parser.add_argument("--against", help="the src folder of another tree")
    parser.add_argument("--cache", help="a folder that shares the lists of the build")
    parser.add_argument("--build", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.build:
        build(given.n, given.depth, *given.build)
    elif given.measure:
        measure(given.measure)
    else:
        compare(given)


def compare(given):
    """Print a row for each step and tree."""
    trees = [SRC, *([given.against] if given.against else [])]
    with TemporaryDirectory() as home:
        cache, command = given.cache or f"{home}/cache", [sys.executable, __file__, str(given.n)]
        runs = []
        for number, tree in enumerate(trees):
            folder = f"{home}/{number}.loom"
            environment = {**os.environ, "PYTHONPATH": tree}
            depth = ["--depth", str(given.depth)]
            subprocess.run([*command, *depth, "--build", cache, folder], env=environment, check=True)
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
            runs.append(subprocess.Popen([*command, "--measure", folder], **pipes))
        print(f"{'step':14}" + "".join(f"{'CPU s':>10}{'wall s':>10}{'MB':>10}" for _ in trees))
        for step in STEPS:
            print(f"{step:14}" + "".join(map(asked, runs)), flush=True)
        for one in runs:
            one.communicate()


def asked(one):
    """Let a run take its next step; return its figures as text."""
    one.stdin.write("next\n")
    one.stdin.flush()
    row = json.loads(one.stdout.readline())
    return f"{row['cpu']:10.3f}{row['wall']:10.3f}{row['bytes'] / 1e6:10.3f}"


if __name__ == "__main__":
    main()
