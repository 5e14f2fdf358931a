"""Per-query methods compared with ranx (compiled beforehand), in CPU seconds of one process.

Both return the complete fused lists; the runs of ranx, which use strings, are created beforehand, and supervised
methods are trained beforehand. Borda and Condorcet of ranx take minutes for 10,000 queries: they run on 1,000, and
their times are multiplied by ten (queries are independent).
"""

import sys
import time
import warnings

import numpy as np

DEPTH, RANKERS, CANDIDATES, N_ITEMS = 100, 4, 200, 100_000

WEIGHTS = [0.4, 0.3, 0.2, 0.1]
#: Our method with its options, the name of the same method in ranx, its normalization and parameters.
PAIRS = [
    ("combsum", {}, "sum", "min-max", {}),
    ("combmin", {}, "min", "min-max", {}),
    ("combmax", {}, "max", "min-max", {}),
    ("combmed", {"mode": "median"}, "med", "min-max", {}),
    ("combanz", {}, "anz", "min-max", {}),
    ("combmnz", {}, "mnz", "min-max", {}),
    ("gmnz", {"gamma": 0.5}, "gmnz", "min-max", {"gamma": 0.5}),
    ("mixed", {"weights": WEIGHTS}, "mixed", "min-max", {"weights": WEIGHTS}),
    ("wmnz", {"weights": WEIGHTS}, "wmnz", "min-max", {"weights": WEIGHTS}),
    ("wsum", {"weights": WEIGHTS}, "wsum", "min-max", {"weights": WEIGHTS}),
    ("rrf", {}, "rrf", None, {}),
    ("isr", {}, "isr", None, {}),
    ("log_isr", {}, "log_isr", None, {}),
    ("logn_isr", {}, "logn_isr", None, {}),
    ("rbc", {"persistence": 0.9}, "rbc", None, {"phi": 0.9}),
    ("borda", {"points": "pool"}, "bordafuse", None, {}),
    ("borda", {"points": "pool", "weights": WEIGHTS}, "w_bordafuse", None, {"weights": WEIGHTS}),
    ("condorcet", {}, "condorcet", None, {}),
    ("condorcet", {"variant": "fuse", "absent": "last"}, "condorcet", None, {}),
    (
        "condorcet",
        {"variant": "fuse", "absent": "last", "weights": WEIGHTS},
        "w_condorcet",
        None,
        {"weights": WEIGHTS},
    ),
]
#: Supervised methods: with options, the name in ranx and its options of training.
TRAINED = [
    ("probfuse", {"segments": 25}, "probfuse", {"min_n_segments": 25, "max_n_segments": 25, "show_progress": False}),
    ("segfuse", {"segments": "ends"}, "segfuse", {}),
    ("slidefuse", {"window": 5}, "slidefuse", {"min_w": 5, "max_w": 5, "show_progress": False}),
    ("bayesfuse", {}, "bayesfuse", {}),
    ("mapfuse", {}, "mapfuse", {}),
    ("posfuse", {}, "posfuse", {}),
]
ALONE = [("combmed", {}), ("rlsim", {}), ("borda", {}), ("dbsf", {}), ("mra", {}), ("kemeny", {"depth": 10})]
ALONE += [("mc4", {"depth": 10})]
SLOW = ("bordafuse", "w_bordafuse", "condorcet", "w_condorcet")
TRAIN_QUERIES = 20


def random_ranks(n_queries, seed=0):
    """Return the ranks of rankers that score the same candidates, each with its own noise."""
    import rankloom as rl

    random = np.random.default_rng(seed)
    candidates = random.integers(0, N_ITEMS - CANDIDATES, n_queries)[:, None] + np.arange(CANDIDATES)
    quality = random.normal(size=candidates.shape)
    ranks = []
    for _ in range(RANKERS):
        scores = quality + random.normal(size=quality.shape)
        order = np.argsort(-scores, axis=1)[:, :DEPTH]
        ranks.append(
            rl.Ranks(
                np.take_along_axis(candidates, order, axis=1),
                np.take_along_axis(scores, order, axis=1).astype(np.float32),
                N_ITEMS,
            )
        )
    return ranks


def cpu(work):
    """Return the CPU seconds of a call, summed over threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def side_by_side(quick):
    """Return the table of our times, those of ranx, and their ratios."""
    import rankloom as rl

    n, few = (40, 20) if quick else (10_000, 1_000)
    ranks = random_ranks(n)
    k = RANKERS * DEPTH
    qrels = random_qrels(ranks)
    ours = {}
    for method, options in [*((name, options) for name, options, *_ in PAIRS), *ALONE]:
        times = [cpu(lambda m=method, o=options: rl.fuse(ranks, m, k, **o)) for _ in range(1 if quick else 3)]
        ours[method, str(options)] = min(times)
    for method, options, *_ in TRAINED:
        trained = rl.train(ranks, qrels, method, **options)
        times = [cpu(lambda m=trained: rl.fuse(ranks, m, k)) for _ in range(1 if quick else 3)]
        ours[method, str(options)] = min(times)
    if "numba" in sys.modules:
        raise RuntimeError("a per-query method loaded numba")
    theirs = ranx_times(ranks, few, qrels)
    rows = [
        row(method, options, ours[method, str(options)], theirs[name] * (n / few if name in SLOW else 1))
        for method, options, name, *_ in PAIRS
    ]
    rows += [row(method, options, ours[method, str(options)], theirs[name]) for method, options, name, _ in TRAINED]
    rows += [row(method, options, ours[method, str(options)], None) for method, options in ALONE]
    title = f"Per-query methods compared with ranx ({n:,} queries, {DEPTH} items, {RANKERS} rankers; CPU seconds)"
    note = (
        f"Borda and Condorcet of ranx: measured on {few:,} queries, times {n // few}. Our methods do not load numba. "
        "Targets: a ratio of 10, and of 50 for borda and for condorcet without weights."
    )
    return title, rows, note


def random_qrels(ranks, seed=1):
    """Return judgments of the first queries: five items of the first ranker's list are relevant."""
    random = np.random.default_rng(seed)
    return {
        str(q): {str(item): 1 for item in random.choice(ranks[0].items[q], 5, replace=False)}
        for q in range(TRAIN_QUERIES)
    }


def row(method, options, seconds, other):
    """Return a row of the table."""
    setting = ", ".join(f"{name}={value}" for name, value in options.items())
    return {
        "method": f"{method} ({setting})" if setting else method,
        "rankloom s": seconds,
        "ranx s": "-" if other is None else other,
        "ratio": "-" if other is None else other / seconds,
    }


def ranx_times(ranks, few, qrels):
    """Return the CPU seconds of each method of ranx, compiled beforehand on a few queries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ranx itself
        from ranx import Qrels, Run, fuse, optimize_fusion

        sizes = (5, len(qrels), few, ranks[0].n_queries)
        runs = {n: [Run(r.rows(slice(0, n)).to_dict()) for r in ranks] for n in sizes}
        judged = Qrels(qrels)
        jobs = [(name, norm, params) for _, _, name, norm, params in PAIRS]
        for _, _, name, options in TRAINED:
            params = optimize_fusion(judged, runs[len(qrels)], "min-max", name, "map", **options)
            jobs.append((name, "min-max" if name == "segfuse" else None, params))
        seconds = {}
        for name, norm, params in jobs:
            if name not in seconds:
                fuse(runs[5], norm=norm, method=name, params=params)
                given = runs[few] if name in SLOW else runs[ranks[0].n_queries]
                seconds[name] = cpu(lambda g=given, m=name, n=norm, p=params: fuse(g, norm=n, method=m, params=p))
    return seconds
