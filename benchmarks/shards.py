"""Out-of-core builds and searches of shards, on one machine and on Dask workers; each measurement in its own process.

    .venv/bin/python benchmarks/run.py shards        n = 10,000,000; needs 10 GB of disk in $TMPDIR

Resident memory is the peak of VmRSS, which counts pages of mapped files that happen to be in memory; anonymous memory,
the peak of RssAnon, is what the process itself has allocated and the system cannot take back.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

SAMPLE = 100_000  # items searched with


class Memory:
    """The peak memory of this process and its children, sampled while a block runs."""

    def __init__(self):
        self.resident = self.anonymous = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def _sample(self):
        while not self._stop.wait(0.05):
            found = [_status(pid) for pid in _family(os.getpid())]
            self.resident = max(self.resident, max(one[0] for one in found))
            self.anonymous = max(self.anonymous, max(one[1] for one in found))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def _status(pid):
    """Return the resident and the anonymous memory of a process, in GB; zeros if it has ended."""
    try:
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return tuple(int(lines[name].split()[0]) / 1e6 for name in ("VmRSS", "RssAnon"))
    except (OSError, KeyError):
        return 0.0, 0.0


def _family(pid):
    """Return a process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return [pid, *(one for child in children for one in _family(int(child)))]


def write_tables(folder, n):
    """Write the lists of a ring as tables."""
    from synthetic import ring

    Path(folder).mkdir()
    for number, ranks in enumerate(ring(int(n))):
        np.save(Path(folder) / f"{number}.npy", ranks.items)


def in_memory(folder):
    """Build an index in memory."""
    import rankloom as rl

    ranks = [rl.Ranks(np.load(path)) for path in _tables(folder)]
    return measured(lambda: rl.FusionIndex.build(ranks))


def on_disk(folder, memory, scheduler):
    """Build an index out of core."""
    import rankloom as rl

    target = f"{folder}/{scheduler or 'here'}.loom"
    return measured(lambda: rl.FusionIndex.build_on_disk(_tables(folder), target, memory=memory, scheduler=scheduler))


def search(path, scheduler):
    """Search with a sample of the items."""
    import rankloom as rl

    index = rl.FusionIndex.open(path)
    items = np.random.default_rng(0).integers(0, index.n_items, SAMPLE).tolist()
    index.search(items=items[:10], k=10)
    if scheduler is None:
        return measured(lambda: index.search(items=items, k=10))
    with index.served(scheduler) as served:
        served.search(items=items[:10], k=10)
        return measured(lambda: served.search(items=items, k=10))


def _tables(folder):
    return sorted(Path(folder).glob("*.npy"))


def measured(work):
    """Return the wall-clock time, the CPU time of this process, and the peak memory of a call."""
    _warm()
    cpu, wall = time.process_time(), time.perf_counter()
    with Memory() as memory:
        work()
    return time.perf_counter() - wall, time.process_time() - cpu, memory.resident, memory.anonymous


def _warm():
    """Load the compiled kernels."""
    import rankloom as rl

    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", np.array([[0, 1], [1, 0]], np.int32))
        tiny = rl.FusionIndex.build_on_disk([f"{folder}/x.npy"], f"{folder}/x.loom", shards=2, cutoff=2)
        tiny.search(k=1)
        rl.FusionIndex.build([rl.Ranks([[0, 1], [1, 0]])], cutoff=2)


def apart(function, *arguments):
    """Run a function of this module in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, function.__name__, json.dumps(arguments)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout or "null")


def row(what, n, items, found):
    """Return a row of the table."""
    wall, cpu, resident, anonymous = found
    return {
        "what": what,
        "n": n,
        "wall s": wall,
        "CPU s": cpu,
        "us per item": wall / items * 1e6,
        "peak resident GB": resident,
        "of that anonymous GB": anonymous,
    }


def out_of_core(quick):
    """Compare builds in memory, out of core and on Dask workers, and search what they built."""
    one, ten, two = (5_000, 20_000, 10_000) if quick else (1_000_000, 10_000_000, 2_000_000)
    memory = "2MB" if quick else "1GB"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n in (one, ten, two):
            apart(write_tables, f"{folder}/{n}", n)
        apart(in_memory, f"{folder}/{one}")  # compiles the kernels
        rows.append(row("build in memory", one, one, apart(in_memory, f"{folder}/{one}")))
        rows.append(row("build out of core", ten, ten, apart(on_disk, f"{folder}/{ten}", memory, None)))
        rows.append(row("search 100,000 items", ten, SAMPLE, apart(search, f"{folder}/{ten}/here.loom", None)))
        for name, scheduler in (("threads", None), ("2 Dask workers", "local")):
            found = apart(on_disk, f"{folder}/{two}", "2MB" if quick else "250MB", scheduler)
            rows.append(row(f"build out of core, {name}", two, two, found))
        for name, scheduler in (("threads", None), ("2 Dask workers", "local")):
            found = apart(search, f"{folder}/{two}/here.loom", scheduler)
            rows.append(row(f"search 100,000 items, {name}", two, SAMPLE, found))
    ratio = rows[1]["us per item"] / rows[0]["us per item"]
    dask = [rows[4]["wall s"] / rows[3]["wall s"], rows[6]["wall s"] / rows[5]["wall s"]]
    note = (
        f"Out of core (memory={memory!r}) an item takes {ratio:.2f} times as long as in memory at n = {one:,} (target: "
        f"2.5 times, 2 GB resident). Dask takes {dask[0]:.2f} times as long as threads to build, with the start of the "
        f"cluster, and {dask[1]:.2f} times to search. Resident memory counts pages of mapped files, of the largest "
        "process; CPU seconds are those of the first process, without workers."
    )
    return "Out of core and on Dask (ring, m = 3, cutoff 10, k = 10)", rows, note


if __name__ == "__main__":
    name, arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*json.loads(arguments))))
