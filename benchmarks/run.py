"""Speed and memory benchmarks, relative to a yardstick measured in the same process.

    make bench                                       everything (about a quarter of an hour)
    .venv/bin/python benchmarks/run.py scale hubs    some parts
    .venv/bin/python benchmarks/run.py --quick       everything, on small collections

The yardstick Y is the time of `np.sort` on as many random int64 as the lists have items in total. Each part runs in
its own process. Results are printed as Markdown and, except with --quick, saved in benchmarks/results/, from which
docs/benchmarks.md is regenerated.
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def yardstick(size, repeats=3):
    """Return the time of np.sort on `size` random int64, the best of a few runs."""
    numbers = np.random.default_rng(0).integers(0, 2**62, size)
    return min(timed(lambda: np.sort(numbers)) for _ in range(repeats))


def timed(work):
    """Return the wall-clock seconds of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_gb():
    """Return the peak memory of this process, but not, as `getrusage` does, of the one that started it."""
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) / 2**20


def build_and_search(ranks, repeats=1, threads=None, **settings):
    """Return the seconds to build an index and to search with every item, the best of a few runs."""
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
    """Load what is needed."""
    from synthetic import ring

    build_and_search(ring(500))


def scale(quick):
    """Build an index and search with every item, for small and large collections."""
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
                "us per query": search / n * 1e6,
                "peak GB": memory,
            }
        )
    ratio = rows[-1]["us per query"] / rows[0]["us per query"]
    note = f"A query at n = {large:,} takes {ratio:.2f} times as long as at n = {small:,} (target: at most 3.5)."
    if not quick:
        one_core = build_and_search(ring(20_000), 5, threads=1)[1] / 20_000
        note += (
            f" At n = 20,000, on one core, a query takes {one_core * 1e6:.1f} us here and 45 ms in the authors' "
            f"program: {0.045 / one_core:,.0f} times as long (target: at least 1000)."
        )
    title = "Build an index and search with every item (ring, m = 3, cutoff 10, k = 10; target: at most 25 Y, 2 GB)"
    return title, rows, note


def sizes(quick):
    """Vary the cutoff and the number of rankers."""
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
                "cutoff": length,
                "build s": build,
                "us per query": search / n * 1e6,
                "(build + search) / Y": (build + search) / y,
            }
        )
    return f"Number of rankers m and cutoff (ring, n = {n:,}, k = 10)", rows, ""


def hubs(quick):
    """Add items that are in very many lists."""
    from synthetic import ring

    warm()
    rows = []
    for n in (10_000, 50_000) if quick else (10_000, 100_000, 1_000_000):
        for shares in ((), (0.01,), (0.1,), (0.1, 0.01, 0.01)):
            build, search = build_and_search(ring(n, hubs=shares))
            shown = " + ".join(f"{share:.0%}" for share in shares) or "none"
            rows.append({"n": n, "hubs in": shown, "build s": build, "us per query": search / n * 1e6})
    return "Hubs: items in a given share of all lists (ring, m = 3, cutoff 10, k = 10)", rows, ""


def reposition(quick):
    """Apply Equation 1 to deep lists."""
    from synthetic import deep_lists

    from rankloom.index.normalize import reposition

    n, depth = (2_000, 200) if quick else (20_000, 1000)
    reposition(deep_lists(100, 20))
    ranks = deep_lists(n, depth)
    seconds = min(timed(lambda: reposition(ranks)) for _ in range(3))
    y = yardstick(n * depth)
    row = {"n": n, "depth": depth, "seconds": seconds, "Y' s": y, "seconds / Y'": seconds / y}
    return "Repositioning (Eq. 1; target: at most 30 Y')", [row], ""


def latency(quick):
    """Search with one external query at a time, on an index opened from disk."""
    from synthetic import ring

    warm()
    rows = []
    for n in (10_000, 50_000) if quick else (10_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            for scored in (False, True):
                rows.append(one_at_a_time(ring(n), scored, Path(folder) / f"{scored}.loom"))
    return "One external query at a time on a memory-mapped index (k = 10)", rows, ""


def one_at_a_time(ranks, scored, path):
    """Return the times of saving, opening and single queries; with scores, these use virtual positions."""
    import rankloom as rl

    n = ranks[0].n_items
    if scored:
        ranks = [rl.Ranks(r.items, np.tile(np.linspace(1, 0, r.depth), (n, 1)), n) for r in ranks]
    built = rl.FusionIndex.build(ranks)
    saving = timed(lambda: built.save(path))
    opening = timed(lambda: rl.FusionIndex.open(path))
    index = rl.FusionIndex.open(path)
    times = single_queries(index, ranks)
    return {
        "n": n,
        "virtual positions": "yes" if scored else "no",
        "index MB": sum(file.stat().st_size for file in path.iterdir()) / 1e6,
        "save s": saving,
        "open and verify s": opening,
        "query ms (median)": float(np.median(times) * 1e3),
        "query ms (99 %)": float(np.quantile(times, 0.99) * 1e3),
    }


def single_queries(index, ranks):
    """Return the seconds of some 200 external queries, one at a time."""
    n = ranks[0].n_items
    queries = [[r.rows([q]) for r in ranks] for q in range(0, n, max(1, n // 200))]
    return [timed(lambda q=q: index.search(q, k=10)) for q in queries]


def weft(quick):
    """Compare weft with fusion graphs: build, search with every item, single external queries, size on disk."""
    from synthetic import ring

    import rankloom as rl

    sizes = (10_000, 50_000) if quick else (10_000, 1_000_000)
    rows = []
    for n in (500, *sizes):
        ranks = ring(n, length=20)
        graphs = sum(build_and_search(ranks))
        start = time.perf_counter()
        index = rl.WeftIndex.build(ranks)
        built = time.perf_counter()
        index.search(k=10)
        searched = time.perf_counter()
        times = single_queries(index, ranks)
        with tempfile.TemporaryDirectory() as folder:
            index.save(Path(folder) / "x.loom")
            stored = sum(file.stat().st_size for file in (Path(folder) / "x.loom").iterdir())
        rows.append(
            {
                "n": n,
                "build s": built - start,
                "search s": searched - built,
                "(build + search) / FG": (searched - start) / graphs,
                "us per query": (searched - built) / n * 1e6,
                "external query ms (median)": float(np.median(times) * 1e3),
                "bytes per item": stored / n,
                "peak GB": peak_gb(),
            }
        )
    rows = rows[1:]  # the first loads what is needed
    ratio = rows[-1]["us per query"] / rows[0]["us per query"]
    note = (
        f"A query at n = {sizes[1]:,} takes {ratio:.2f} times as long as at n = {sizes[0]:,}. Targets: at most 8 times "
        "FG, 2 times as long, 2 ms, 2 kB, 6 GB."
    )
    return "weft compared with fusion graphs (ring of lists of 20, m = 3, k = 10; FG at cutoff 10)", rows, note


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
    """Measure the import and the first call; CPU seconds."""
    out = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    imported, first, light = out.stdout.split()
    row = {
        "import rankloom s": float(imported),
        "first FG build and search s": float(first),
        "import loads numba or scipy.stats": "no" if light == "True" else "yes",
    }
    command = [str(Path(sys.executable).with_name("rankloom")), "--help"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = timed(lambda: subprocess.run(command, capture_output=True, check=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    note = f"`rankloom --help`: {cpu:.2f} CPU s, {wall:.2f} s wall. Target: 1 s."
    return "Start-up (CPU seconds)", [row], note


def classic(quick):
    """Compare the per-query methods with ranx."""
    from classic import side_by_side

    return side_by_side(quick)


#: Seconds of UDLF, the authors' program, for all digits with one thread, where known.
GRAPH_METHODS = {
    "rkgraph": 4.2,
    "corgraph": 2.5,
    "recknngraph": 2.6,
    "recknngraphccs": "-",
    "cprr": 0.9,
    "lhrr": 8.2,
    "rlsim_udl": 1.7,
    "rdpac": 69.0,
    "bfstree": "-",
    "contextrr": "-",
    "rlrecom": "-",
    "rfe": "-",
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
    """Measure graph methods on whole collections: time on digits, memory on a larger one (a process for each)."""
    from digits import rankers

    import rankloom as rl

    ranks = rankers(first=300 if quick else None)
    n, depth = (2_000, 50) if quick else (50_000, 100)
    rows = []
    for method, reference in GRAPH_METHODS.items():
        rl.fuse(ranks, method)
        seconds = []
        for _ in range(1 if quick else 5):
            start = time.process_time()
            rl.fuse(ranks, method, threads=1)
            seconds.append(time.process_time() - start)
        ours = min(seconds)
        command = [sys.executable, "-c", LARGE, str(HERE), method, str(n), str(depth)]
        large = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        rows.append(
            {
                "method": method,
                "digits CPU s": ours,
                "UDLF s": reference,
                "ratio": "-" if quick or reference == "-" else reference / ours,
                "large CPU s": float(large[0]),
                "large wall s": float(large[1]),
                "large peak GB": float(large[2]) / 2**20,
            }
        )
    note = (
        "Digits: one thread, as UDLF, whose seconds are those of the authors' program on an idle machine (for rdpac, "
        "its CPU seconds; it has no fusion by bfstree and rlrecom, and no seconds of contextrr and rfe are known). The "
        "ratio is UDLF's seconds divided by our CPU seconds; --quick has none, since it fuses fewer digits. Targets: a "
        "ratio of 2, and of 5 for recknngraph and for cprr to rdpac; 4 GB."
    )
    title = (
        f"Graph methods (digits: {ranks[0].n_items:,} items, 3 rankers; large: ring, n = {n:,}, m = 3, depth {depth})"
    )
    return title, rows, note


def shards(quick):
    """Build out of core and on Dask workers, and search shards."""
    from shards import out_of_core

    return out_of_core(quick)


def few_terms(quick):
    """Measure what the heaviest terms alone cost in effectiveness."""
    from lists import loss

    return "Loss of max_terms=25 (Ohsumed, NDCG@10, FG at cutoff 10 of the three rankers)", loss(quick), ""


def cells(quick):
    """Make the lists of all items by cells, exactly, and by HNSW."""
    from cells import rows

    note = (
        "Cosines, lists of 60, CPU seconds of one thread of BLAS. Texts of static are those of the searcher below, the "
        "vectors of minilm all 51,757 published ones. Exact time is that of 1,000 items, scaled to all; recall is "
        "theirs, without the item itself. HNSW has 16 links and beams of 64 and 120, and is searched for each item."
    )
    return "Lists of all items by cells", rows(quick), note


def searcher(quick):
    """Build a searcher and search it, beside what one would write by hand and other engines."""
    note = (
        "Texts of Ohsumed, SciFact and NPL in random order, above 51,001 texts of sentences mixed within a class of "
        "Ohsumed; queries are 2 to 5 words of titles, CPU ms is the median of 200. All are given the vectors of "
        "static; rankloom saves a folder; the others fuse two lists of 100. OpenMP and BLAS have one thread. Recall is "
        "that of the list of vectors. CPU seconds of the stages of rankloom's build, with"
    )
    return searcher_table("real", (500, 1_000) if quick else (18_302, 100_000), quick, "beside peers", note)


def searcher_million(quick):
    """Build a searcher over a million generated texts, and search it: the better part of an hour."""
    note = (
        "Texts of 100 words whose frequencies follow Zipf's law, 30 % of them from the 200 words of a cluster; vectors "
        "of 256 numbers around the centers of clusters of 200. CPU seconds of the stages of a build, with"
    )
    sizes = (500, 1_000) if quick else (20_000, 100_000, 1_000_000)
    return searcher_table("generated", sizes, quick, "of generated texts", note, ("rankloom",))


def searcher_table(kind, sizes, quick, what, note, *systems):
    """Return the table of a searcher; an interrupted run resumes."""
    from searchers import report

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if quick else HERE / "results" / f"searcher-{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        rows, stages = report(sizes, kind, folder, *systems)
        if not quick:
            shutil.rmtree(folder)
    return f"A searcher {what} (CPU seconds to build, CPU ms of a query)", rows, f"{note} {stages}"


def votes(quick):
    """Search texts one by one by vote, step by step."""
    from vote_steps import N_QUERIES, RANKERS, steps

    note = (
        f"Texts of Ohsumed, SciFact and NPL; means of {N_QUERIES} queries of 2 to 5 words of titles, one at a time, on "
        f"one core. Rankers {' and '.join(RANKERS)}, lists of 300. The self-test encodes 200 documents and 600 "
        "queries; with minilm beside okapi it takes 4 to 9 s (`experiments/guard.py`)."
    )
    return "Steps of a search by vote (CPU time)", steps((500,) if quick else (5_183, 18_302, 51_000)), note


PARTS = {
    part.__name__: part
    for part in (
        scale,
        sizes,
        hubs,
        reposition,
        latency,
        weft,
        startup,
        classic,
        graphs,
        shards,
        few_terms,
        cells,
        searcher,
        searcher_million,
        votes,
    )
}

#: Parts that read a published collection.
NEED_DATA = ("few_terms", "cells", "searcher", "votes")
ON_REQUEST = ("searcher_million",)
DATA = "RANKLOOM_DATA"
PAGE = HERE.parent / "docs" / "benchmarks.md"


def markdown(title, rows, note):
    """Return a section with a table."""

    def cell(value):
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = [f"### {title}", "", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(cell(value) for value in row.values()) + " |" for row in rows]
    return "\n".join([*lines, "", textwrap.fill(note, 120), ""] if note else [*lines, ""])


def page(results):
    """Return the page: sections measured here replace those of the same title, the others stay."""
    files = [results / f"{part}.json" for part in PARTS]
    saved = [json.loads(file.read_text()) for file in files if file.exists()]
    sections = {one.partition("\n")[0]: f"### {one}" for one in PAGE.read_text().split("\n### ")[1:]}
    sections |= {one["title"]: markdown(one["title"], one["rows"], one["note"]) for one in saved}
    head = [
        "# Benchmarks",
        "",
        "Generated by `make bench`; `benchmarks/run.py` documents the method. Y is the time of `np.sort` on as many",
        "random int64 as the lists have items in total, in the same process. Measured with",
        "; ".join(sorted({one["machine"] for one in saved})) + ".",
        "",
    ]
    return "\n".join([*head, *(f"{one.rstrip()}\n" for one in sections.values())])


def machine():
    """Return the versions and the machine of the measurements."""
    import rankloom

    return (
        f"rankloom {rankloom.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{os.cpu_count()} cores, {platform.machine()}, seed 0"
    )


def main():
    """Run the given parts, each in its own process."""
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
    for part in arguments.parts or [part for part in PARTS if part not in ON_REQUEST]:
        if part in NEED_DATA and DATA not in os.environ and not arguments.parts:
            print(f"{part} is left out: set {DATA} to the folder of the collections.\n", flush=True)
            continue
        command = [sys.executable, __file__, part, "--inside", *(["--quick"] if arguments.quick else [])]
        title, rows, note = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        print(markdown(title, rows, note), flush=True)
        if not arguments.quick:
            result = {"machine": machine(), "title": title, "rows": rows, "note": note}
            (results / f"{part}.json").write_text(json.dumps(result, indent=1))
            PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
