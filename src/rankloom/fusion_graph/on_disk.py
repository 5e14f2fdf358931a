"""Fusion graphs built out of core: the steps of `FusionIndex.build`, part by part."""

from __future__ import annotations

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.fusion_graph.arguments import SIZE, Woven
from rankloom._kernels.index.arguments import Transposed
from rankloom.fusion_graph.normalize import repositioned
from rankloom.fusion_graph.weave import ROWS, measure, weave
from rankloom.index.job import Job, Step
from rankloom.index.shard import Shard, prefix, shard_postings
from rankloom.ranks.arrays import Array, Int32s
from rankloom.ranks.lists import pointers


def graph_steps(job: Job) -> list[Step]:
    """Return the steps from renumbered lists to shards."""
    return [
        Step("weave", "Weaving", weave_part, job.n_parts),
        Step("measure", "Measuring", measure_part, job.n_parts),
    ]


def normalize_part(job: Job, number: int) -> list[Int32s]:
    """Return the lists of a part by each ranker, repositioned if the settings say so, and cut."""
    return [_normalized(job, number, ranker) for ranker in range(job.spec["settings"]["n_rankers"])]


def _normalized(job: Job, number: int, ranker: int) -> Int32s:
    lists, cutoff = job.read(f"inside_{ranker}_{number}", mapped=False), job.spec["settings"]["cutoff"]
    if not job.spec["settings"]["reposition"]:
        return lists[:, :cutoff]
    lengths, unlisted = job.read(f"lengths_{ranker}_{number}", mapped=False), job.read(f"unlisted_{ranker}")
    back = _listing(lists, job.part(number)[0], _incoming(job, number, ranker))
    return repositioned(lists, lengths, unlisted, back, cutoff, job.scratch)


def _incoming(job: Job, number: int, ranker: int) -> Array:
    """Return what the lists of other parts say of the items of a part."""
    found = [np.empty((0, 3), np.int32)]
    for other in range(job.n_parts):
        ends = job.read(f"ends_{ranker}_{other}", mapped=False)
        rows = slice(ends[number - 1] if number else 0, ends[number])
        if rows.stop > rows.start:
            found.append(np.array(job.read(f"turned_{ranker}_{other}")[rows]))
    return frozen(np.concatenate(found))


def _listing(lists: Array, start: int, incoming: Array) -> Transposed:
    """Return the lists that contain each item of a part, and its positions there, in CSR form."""
    from rankloom._kernels.index import shards as kernels

    here = lists[(lists >= start) & (lists < start + len(lists))]
    ptr = pointers(np.bincount(np.concatenate([here, incoming[:, 0]]) - start, minlength=len(lists)))
    rows, columns = np.empty(ptr[-1], np.uint32), np.empty(ptr[-1], np.int32)
    kernels.fill_listing(lists, start, incoming, ptr[:-1].copy(), rows, columns)
    return Transposed(ptr, frozen(rows), frozen(columns))


def weave_part(job: Job, number: int) -> None:
    """Weave the graphs of a part."""
    woven = weave(normalize_part(job, number), job.scratch, job.spec["settings"].get("weighting", "paper"))
    job.store({prefix(number) + name: array for name, array in zip(ROWS, woven, strict=False)})


def measure_part(job: Job, number: int) -> None:
    """Measure the graphs of a part, and transpose them."""
    shards = [_shard(job, part) for part in range(job.n_parts)]
    woven = Woven(*(shards[number].arrays[name] for name in ROWS[:-1]))
    graphs = measure(woven, job.spec["settings"]["graph_norm"] == "minmax", job.scratch, shards=shards)
    with job.scratch.borrowed() as slot:
        found = shard_postings(graphs, graphs.norms[:, SIZE], slot)
    job.store({prefix(number) + name: array for name, array in {ROWS[-1]: graphs.norms, **found}.items()})


def _shard(job: Job, number: int) -> Shard:
    start, stop = job.part(number)
    arrays = {name: job.read(prefix(number) + name) for name in ROWS[:-1]}
    return Shard(start, job.read("numbers")[start:stop], arrays)
