"""Count the frames of our own functions in the main chains, and print them: `fuse`, `Searcher.search` and others.

    .venv/bin/python benchmarks/frames.py                      the number of frames in each chain
    .venv/bin/python benchmarks/frames.py search --depth 3     a chain as a call tree, three levels deep
    PYTHONPATH=../other/src .venv/bin/python benchmarks/frames.py   the same for another source tree

Each chain runs once before it is recorded, so that imports, plug-ins and kernels are loaded. What counts are frames of
`rankloom`, comprehensions and resumed generators included, and one for each call of a kernel; the tree has the
functions, and consecutive calls of the same one are one line.
"""

import argparse
import sys
import tempfile
import threading
import warnings
from itertools import count, groupby
from pathlib import Path

import numpy as np

import rankloom as rl
from rankloom._kernels.jit import Kernel

PACKAGE = rl.__file__.removesuffix("__init__.py")
RANKERS = {"bm25": "okapi", "cosine": "bow-cosine"}
SUBJECTS = ("heat in slabs", "supersonic flow", "blood pressure", "a game of chess", "the garden in May")


class Recorder:
    """Records the calls of our functions while it is entered, in all threads started since it was made."""

    def __init__(self):
        self.calls, self._active = [], False
        threading.setprofile(self._note)

    def __enter__(self):
        self.calls, self._active = [], True
        self._depths = threading.local()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        self._active = False

    def _note(self, frame, event, _):
        if not self._active or event not in ("call", "return") or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        depth = getattr(self._depths, "now", 0)
        if event == "call":
            self.calls.append((depth, called(frame)))
        self._depths.now = max(0, depth + (1 if event == "call" else -1))

    def tree(self, depth):
        """Return the calls as indented lines, cut to a depth."""
        shown = [(level, named(code)) for level, code in self.calls if level < depth and code.co_name[0] != "<"]
        for (level, name), several in groupby(shown):
            n = len(list(several))
            yield "  " * level + name + (f"  x{n}" if n > 1 else "")


def called(frame):
    """Return the code that a frame runs; that of a kernel, compiled or not, where one is called."""
    return frame.f_locals["self"].py_func.__code__ if frame.f_code is Kernel.__call__.__code__ else frame.f_code


def named(code):
    """Return a function as module and qualified name."""
    module = Path(code.co_filename.removeprefix(PACKAGE)).with_suffix("")
    return f"{'.'.join(module.parts)}: {code.co_qualname}"


def texts(n, seed=0):
    """Return documents of a few words each, with ids."""
    words = np.random.default_rng(seed).integers(0, 500, (n, 12))
    return [
        {"id": f"d{i}", "text": f"{SUBJECTS[i % 5]} {' '.join(f'w{w}' for w in row)}"} for i, row in enumerate(words)
    ]


def lists(seed, n=60):
    """Return collection ranks without ids."""
    return rl.Ranks.from_vectors(np.random.default_rng(seed).normal(size=(n, 4)), "l2", depth=20)


def chains(folder):
    """Return what each chain calls."""
    ranks = [lists(0), lists(1)]
    index = rl.FusionIndex.build(ranks)
    queries = [one.rows([3, 4]).replaced(kind="queries") for one in ranks]
    searcher, grown, fresh = rl.Searcher.build(texts(5), RANKERS), rl.Searcher.build(texts(5), RANKERS), count()
    return {
        "fuse rrf": lambda: rl.fuse(ranks, "rrf"),
        "fuse fg": lambda: rl.fuse(ranks, "fg"),
        "external": lambda: index.search(queries, k=10),
        "build": lambda: rl.Searcher.build(texts(5), RANKERS),
        "search": lambda: searcher.search("heat in slabs", k=10),
        "add": lambda: grown.add([{"id": f"new{next(fresh)}", "text": "heat in a new slab"}]),
        "save": lambda: searcher.save(Path(folder) / f"{next(fresh)}.loom"),
        "POST /search": posted(searcher),
        "experiment": experiment(Path(folder)),
    }


def posted(searcher):
    """Return a function that posts a search to a service in this process."""
    from starlette.testclient import TestClient

    from rankloom.web import make_app

    client = TestClient(make_app(searcher), base_url="http://localhost").__enter__()
    return lambda: client.post("/search", json={"query": "heat in slabs"}).raise_for_status()


def experiment(folder):
    """Return a function that runs an experiment of two rankers and two methods on a table of labeled texts."""
    from rankloom.experiment import Experiment, run
    from rankloom.io.cache import Cache

    table = folder / "texts.tsv"
    rows = [f"{row['id']}\t{row['text']}\t{i % 5}\n" for i, row in enumerate(texts(40))]
    table.write_text("".join(["id\ttext\tlabel\n", *rows]))
    spec = Experiment(
        name="texts", collection=f'table(path="{table}")', rankers=RANKERS, methods=("fg", "rrf"), repeats=0
    )
    fresh = count()
    return lambda: run(spec, folder / f"results{next(fresh)}", cache=Cache(None))


def main():
    """Print the numbers of frames, or a tree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chain", nargs="?", help="print this chain as a tree")
    parser.add_argument("--depth", type=int, default=4)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        for name, run in chains(folder).items():
            if given.chain not in (None, name):
                continue
            run()
            with recorder:
                run()
            print(f"{name}: {len(recorder.calls)} frames")
            if given.chain is not None:
                print("\n".join(recorder.tree(given.depth)))


if __name__ == "__main__":
    main()
