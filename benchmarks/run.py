"""Speed and memory, as ratios to a yardstick taken in the same process.

    make bench                                       everything (about a quarter of an hour)
    .venv/bin/python benchmarks/run.py scale hubs    some parts
    .venv/bin/python benchmarks/run.py --quick       everything, on small collections

The yardstick Y is the time of `np.sort` on as many random int64 as the lists have entries. Each part runs in a
process of its own; results are printed as Markdown and kept in benchmarks/results/, and docs/benchmarks.md is written
anew from what is there (not by --quick).
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def yardstick(entries, repeats=3):
    """Return the time of np.sort on that many random int64, the best of a few."""
    numbers = np.random.default_rng(0).integers(0, 2**62, entries)
    return min(timed(lambda: np.sort(numbers)) for _ in range(repeats))


def timed(work):
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_gb():
    """Return the most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def build_and_search(ranks, repeats=1, threads=None, **settings):
    """Return the seconds of building an index and of searching with every item, the best of a few."""
    import rankloom as rl

    best = None
    for _ in range(repeats):
        start = time.perf_counter()
        index = rl.FusionIndex.build(ranks, threads=threads, **settings)
        built = time.perf_counter()
        index.search(k=10, threads=threads)
        times = built - start, time.perf_counter() - built
        best = times if best is None or sum(times) < sum(best) else best
    return best


def warm():
    """Compile the kernels, or load them."""
    from synthetic import ring

    build_and_search(ring(500))


def scale(quick):
    """Build and search all items of small and large collections."""
    from synthetic import ring

    warm()
    small, large = (10_000, 100_000) if quick else (10_000, 1_000_000)
    rows = []
    for n, repeats in ((small, 7), (20_000, 7), (large, 2)):
        ranks = ring(n)
        build, search = build_and_search(ranks, repeats)
        memory = peak_gb()
        y = yardstick(n * 3 * 10)
        rows.append(
            {
                "n": n,
                "build s": build,
                "search s": search,
                "Y s": y,
                "(build + search) / Y": (build + search) / y,
                "us a query": search / n * 1e6,
                "peak GB": memory,
            }
        )
    ratio = rows[-1]["us a query"] / rows[0]["us a query"]
    note = f"A query at n = {large:,} takes {ratio:.2f} times one at n = {small:,} (target: at most 3.5)."
    if not quick:
        one_core = build_and_search(ring(20_000), 5, threads=1)[1] / 20_000
        note += (
            f" At n = 20,000, on one core, a query takes {one_core * 1e6:.1f} us here and 45 ms in the authors' "
            f"program: {0.045 / one_core:,.0f} times as long (target: at least 1000)."
        )
    return "Build and search every item (ring, m = 3, L = 10, k = 10; target: at most 25 Y, 2 GB)", rows, note


def sizes(quick):
    """Other cutoffs and numbers of rankers."""
    from synthetic import ring

    warm()
    n = 2_000 if quick else 10_000
    rows = []
    for m, length in [(3, 10), (3, 20), (3, 50), (3, 100), *((m, 10) for m in range(2, 13) if m != 3)]:
        build, search = build_and_search(ring(n, m=m, length=length), 1 if quick else 2, cutoff=length)
        y = yardstick(n * m * length)
        rows.append(
            {
                "m": m,
                "L": length,
                "build s": build,
                "us a query": search / n * 1e6,
                "(build + search) / Y": (build + search) / y,
            }
        )
    return f"Numbers of rankers m and cutoffs L (ring, n = {n:,}, k = 10)", rows, ""


def hubs(quick):
    """Collections in which some items are in very many lists."""
    from synthetic import ring

    warm()
    rows = []
    for n in (10_000, 50_000) if quick else (10_000, 100_000, 1_000_000):
        for shares in ((), (0.01,), (0.1,), (0.1, 0.01, 0.01)):
            build, search = build_and_search(ring(n, hubs=shares))
            where = " + ".join(f"{share:.0%}" for share in shares) or "none"
            rows.append({"n": n, "hubs in": where, "build s": build, "us a query": search / n * 1e6})
    return "Hubs: items that are in a share of all lists (ring, m = 3, L = 10, k = 10)", rows, ""


def reposition(quick):
    """Equation 1 on deep lists."""
    from synthetic import deep_lists

    from rankloom.fusion_graph.normalize import reposition

    n, depth = (2_000, 200) if quick else (20_000, 1000)
    reposition(deep_lists(100, 20))
    ranks = deep_lists(n, depth)
    seconds = min(timed(lambda: reposition(ranks)) for _ in range(3))
    y = yardstick(n * depth)
    row = {"n": n, "depth": depth, "seconds": seconds, "Y' s": y, "seconds / Y'": seconds / y}
    return "Repositioning (Eq. 1; target: at most 30 Y')", [row], ""


def latency(quick):
    """One query at a time, from outside the collection, on an index opened from disk."""
    from synthetic import ring

    warm()
    rows = []
    for n in (10_000, 50_000) if quick else (10_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            for scored in (False, True):
                rows.append(one_at_a_time(ring(n), scored, Path(folder) / f"{scored}.loom"))
    return "One external query at a time, index memory-mapped (k = 10)", rows, ""


def one_at_a_time(ranks, scored, path):
    """Return what saving, opening and single queries cost, also with scores: then positions are virtual ones."""
    import rankloom as rl

    n = ranks[0].n_items
    if scored:
        ranks = [rl.Ranks(r.items, np.tile(np.linspace(1, 0, r.depth), (n, 1)), n) for r in ranks]
    built = rl.FusionIndex.build(ranks)
    saving = timed(lambda: built.save(path))
    opening = timed(lambda: rl.FusionIndex.open(path))
    index = rl.FusionIndex.open(path, verify=False)
    queries = [[r.rows([q]) for r in ranks] for q in range(0, n, n // 200)]
    times = [timed(lambda q=q: index.search(q, k=10)) for q in queries]
    return {
        "n": n,
        "virtual positions": "yes" if scored else "no",
        "index MB": sum(file.stat().st_size for file in path.iterdir()) / 1e6,
        "save s": saving,
        "open and verify s": opening,
        "query ms (median)": float(np.median(times) * 1e3),
        "query ms (99 %)": float(np.quantile(times, 0.99) * 1e3),
    }


START = """
import os, time, sys
t0 = time.process_time()
import rankloom as rl
t1 = time.process_time()
light = not any(name in sys.modules for name in ("numba", "scipy.stats"))
r = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], [[1.0, 0.5, 0.1]] * 3)
index = rl.FusionIndex.build([r, r], cutoff=2)
index.search(k=2)
index.search([r.rows([0])] * 2, k=2)
print(t1 - t0, time.process_time() - t1, light)
"""


def startup(quick):
    """Import, first call on a new machine (compiling), first call of a later process; CPU seconds."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for what in ("new machine: nothing compiled yet", "later process"):
            out = subprocess.run(
                [sys.executable, "-c", START],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            imported, first, light = out.stdout.split()
            rows.append(
                {
                    "process": what,
                    "import rankloom s": float(imported),
                    "first FG build and search s": float(first),
                    "import loads numba or scipy.stats": "no" if light == "True" else "yes",
                }
            )
    command = [str(Path(sys.executable).with_name("rankloom")), "--help"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = timed(lambda: subprocess.run(command, capture_output=True, check=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    note = f"`rankloom --help`: {cpu:.2f} CPU s, {wall:.2f} s wall. Targets: 10 s to compile, 1 s later."
    return "Start-up (CPU seconds)", rows, note


def classic(quick):
    """Per-query methods, side by side with ranx."""
    from classic import side_by_side

    return side_by_side(quick)


#: Seconds of the authors' program on digits, one thread, where there is one.
GRAPH_METHODS = {
    "rkgraph": 4.2,
    "corgraph": 2.5,
    "recknngraphccs": 2.6,
    "queryrankfusion": "-",
    "sca": "-",
    "crossdiffusion": "-",
    "helloneighbor": "-",
}

LARGE = """
import sys, time, resource
sys.path.insert(0, sys.argv[1])
from synthetic import ring
import rankloom as rl
rl.fuse(ring(200, m=2, length=20), sys.argv[2])
ranks = ring(int(sys.argv[3]), m=3, length=int(sys.argv[4]))
lists = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cpu, wall = time.process_time(), time.perf_counter()
rl.fuse(ranks, sys.argv[2])
print(time.process_time() - cpu, time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, lists)
"""


def graphs(quick):
    """The whole-collection graph methods: seconds on digits, memory on a larger collection (a process for each)."""
    from digits import rankers

    import rankloom as rl

    ranks = rankers(first=300 if quick else None)
    n, depth = (2_000, 50) if quick else (50_000, 100)
    rows = []
    for method, reference in GRAPH_METHODS.items():
        rl.fuse(ranks, method)
        seconds = []
        for _ in range(1 if quick else 5):
            cpu, wall = time.process_time(), time.perf_counter()
            rl.fuse(ranks, method)
            seconds.append((time.process_time() - cpu, time.perf_counter() - wall))
        command = [sys.executable, "-c", LARGE, str(HERE), method, str(n), str(depth)]
        large = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        rows.append(
            {
                "method": method,
                "digits CPU s": min(cpu for cpu, _ in seconds),
                "digits wall s": min(wall for _, wall in seconds),
                "authors' program s": reference,
                "large CPU s": float(large[0]),
                "large wall s": float(large[1]),
                "large peak GB": float(large[2]) / 2**20,
            }
        )
    note = (
        "Targets: half of the authors' program (UDLF, one thread, a quiet machine; for recknngraphccs its RECKNNGRAPH, "
        "the older method), 4 GB."
    )
    title = (
        f"Graph methods (digits: {ranks[0].n_items:,} items, 3 rankers; large: ring, n = {n:,}, m = 3, depth {depth})"
    )
    return title, rows, note


PARTS = {part.__name__: part for part in (scale, sizes, hubs, reposition, latency, startup, classic, graphs)}


def markdown(title, rows, note):
    """Return a table."""

    def cell(value):
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = [f"### {title}", "", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(cell(value) for value in row.values()) + " |" for row in rows]
    return "\n".join([*lines, "", note, ""] if note else [*lines, ""])


def page(results):
    """Return the page of all results that are kept."""
    files = [results / f"{part}.json" for part in PARTS]
    kept = [json.loads(file.read_text()) for file in files if file.exists()]
    head = [
        "# Benchmarks",
        "",
        "Written by `make bench`; `benchmarks/run.py` says how figures are taken. Y is the time of `np.sort` on as",
        "many random int64 as the lists have entries, in the same process. Taken with",
        "; ".join(sorted({one["machine"] for one in kept})) + ".",
        "",
    ]
    return "\n".join([*head, *(markdown(one["title"], one["rows"], one["note"]) for one in kept)])


def machine():
    """Return what the figures were taken on."""
    import numba

    import rankloom

    return (
        f"rankloom {rankloom.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"numba {numba.__version__}, {os.cpu_count()} cores, {platform.machine()}, seed 0"
    )


def main():
    """Run the parts asked for, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="small collections")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    if arguments.inside:
        print(json.dumps(PARTS[arguments.parts[0]](arguments.quick)))
        return
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    print(f"{machine()}\n", flush=True)
    for part in arguments.parts or PARTS:
        command = [sys.executable, __file__, part, "--inside", *(["--quick"] if arguments.quick else [])]
        title, rows, note = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        print(markdown(title, rows, note), flush=True)
        if not arguments.quick:
            kept = {"machine": machine(), "title": title, "rows": rows, "note": note}
            (results / f"{part}.json").write_text(json.dumps(kept, indent=1))
            (HERE.parent / "docs" / "benchmarks.md").write_text(page(results))


if __name__ == "__main__":
    main()
