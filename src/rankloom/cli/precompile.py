"""Kernels compiled in other processes: numba compiles one function at a time, so a first start would use one core.

The compiled code goes to numba's own cache, from where the process that started the others loads it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO

import numpy as np

from rankloom.aggregate import fuse
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.weft import WeftIndex
from rankloom.weft.row_kind import WeftSettings

CODE = "import sys; from rankloom.cli.precompile import compile_stages; compile_stages(sys.argv[1:])"


def _tiny() -> list[Ranks]:
    distances = np.array([[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]])
    return [Ranks.from_distances(distances), Ranks.from_distances(distances * 2)]


def _build_weft() -> None:

    WeftIndex.build(_tiny(), comparable=[True, True])


def _search_weft() -> None:
    """Compile the search alone, on an index written down by hand: building one would compile the rest first."""
    from rankloom._kernels import frozen

    pointers, rows, fields = np.arange(3), np.arange(2, dtype=np.uint32), np.full((2, 2), 9)
    arrays: dict[str, Array] = {
        "numbers": np.arange(2, dtype=np.int32),
        "places": np.arange(2, dtype=np.int32),
        "lists": np.zeros((1, 2, 1), np.int32),
        "shares": np.ones(1),
        "row_ptr": pointers.astype(np.int64),
        "row_items": rows,
        "row_weights": fields.astype(np.uint16),
        "row_sizes": fields.astype(np.uint32),
        "post_ptr": pointers.astype(np.int64),
        "post_rows": rows.copy(),
        "post_least": fields.astype(np.uint32),
    }
    settings = WeftSettings(n_rankers=1, cutoff=1, depth=1, expand=1, width=None, reposition=True)
    index = WeftIndex(settings, {name: frozen(array) for name, array in arrays.items()})
    index.search(items=[0])
    index.explain(0, 0)


def _fuse(method: str) -> None:
    fuse(_tiny(), method=method, k=2)


#: What can be compiled by itself.
STAGES: dict[str, Callable[[], None]] = {
    "weft build": _build_weft,
    "weft search": _search_weft,
    **{name: partial(_fuse, name) for name in ("fg", "rkgraph", "recknngraphccs")},
}


def compile_stages(names: Sequence[str]) -> None:
    """Compile some stages, and print the name of each when it is done."""
    for name in names:
        STAGES[name]()
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


def is_compiled() -> bool:
    """Return True if numba's cache has the search of weft, no older than its source: a sign of an earlier start."""
    from rankloom._kernels.weft import search as kernels

    if not hasattr(kernels.search, "stats"):  # the JIT is off
        return True
    source = Path(kernels.__file__).stat().st_mtime
    cached = Path(kernels.search.stats.cache_path).glob("search.search-*.nbi")
    return any(path.stat().st_mtime >= source for path in cached)


class Precompiler:
    """Processes that compile kernels, one for each plan: the names of stages, in order. Ended on exit."""

    def __init__(self, *plans: Sequence[str]) -> None:
        self._children: list[subprocess.Popen[str]] = []
        self._plans: list[list[str]] = []
        self._lock, self._ended = Lock(), False
        self.start(*plans)

    def start(self, *plans: Sequence[str]) -> None:
        """Start a process for each plan; none after the exit, so that a thread may call this at any time."""
        with self._lock:
            for plan in () if self._ended else plans:
                self._plans.append(list(plan))
                command = [sys.executable, "-P", "-c", CODE, *plan]  # -P: no modules from the current folder
                child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                self._children.append(child)

    @property
    def is_running(self) -> bool:
        """Whether processes were started at all."""
        return bool(self._children)

    def __enter__(self) -> Precompiler:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended = True
            for child in self._children:
                child.kill()
                child.wait()
                _output(child).close()

    def wait(self, *stages: str) -> None:
        """Wait until these stages are compiled, or their processes have ended; what fails is compiled when needed."""
        for plan, child in zip(self._plans, self._children, strict=True):
            while any(stage in plan for stage in stages):
                line = _output(child).readline().strip()
                plan[:] = plan[plan.index(line) + 1 :] if line in plan else []


def _output(child: subprocess.Popen[str]) -> IO[str]:
    assert child.stdout is not None
    return child.stdout
