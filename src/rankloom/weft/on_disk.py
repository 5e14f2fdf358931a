"""Rows of weft built out of core: the steps of `WeftIndex.build`, part by part."""

from __future__ import annotations

import numpy as np

from rankloom._kernels import contiguous
from rankloom.index.job import Job, Step
from rankloom.index.shard import prefix
from rankloom.index.steps import depth_of, normalize_part, tables
from rankloom.weft.row_kind import WeftSettings
from rankloom.weft.rows import expanded, item_lists, neighbors_of, posted
from rankloom.weft.votes import N_NEAREST, nearest
from rankloom.weft.weights import shares_of


def weft_steps(job: Job) -> list[Step]:
    """Return the steps from renumbered lists to shards."""
    return [
        Step("lists", "Repositioning", lists_part, job.n_parts),
        Step("join", "Joining", join_lists, 1),
        Step("expand", "Expanding", expand_part, job.n_parts),
        *([Step("nearest", "Copying", copy_nearest, 1)] if job.spec["keep_nearest"] else []),
    ]


def lists_part(job: Job, number: int) -> None:
    """Write the normalized lists of a part, each starting with the item itself."""
    lists = item_lists(normalize_part(job, number), job.spec["settings"]["cutoff"], job.part(number)[0])
    job.write(f"lists_{number}", lists)


def join_lists(job: Job, _: int) -> None:
    """Write the lists of all parts as one array of the index, and the weights of the rankers."""
    settings = job.spec["settings"]
    shape = (settings["n_rankers"], job.spec["n_items"], settings["cutoff"])
    with job.filled("lists", shape, np.int32) as joined:
        for number in range(job.n_parts):
            start, stop = job.part(number)
            joined[:, start:stop] = job.read(f"lists_{number}")
    listed = [empty < job.spec["n_items"] for empty in job.read_notes("lengths")["empty"]]
    job.store({"shares": shares_of(listed)})


def expand_part(job: Job, number: int) -> None:
    """Expand the lists of a part, and transpose the rows."""
    lists, settings = job.read("lists"), WeftSettings(**job.spec["settings"])
    neighbors = neighbors_of(lists, job.order, job.read("shares"), settings)
    rows = expanded(contiguous(lists[:, slice(*job.part(number))]), neighbors, job.scratch, are_items=True)
    with job.scratch.borrowed() as slot:
        own = posted(rows, slot)
    job.store({prefix(number) + name: array for name, array in own.items()})


def copy_nearest(job: Job, _: int) -> None:
    """Write the nearest items of each item by each ranker, as `stacked_nearest` returns them."""
    shape = (job.spec["settings"]["n_rankers"], job.spec["n_items"], N_NEAREST)
    with job.filled("nearest", shape, np.int32) as items, job.filled("nearest_scores", shape, np.float32) as scores:
        for ranker in range(shape[0]):
            all_items, all_scores = tables(job, ranker)
            for start, stop in map(job.part, range(job.n_parts)):
                rows = (slice(start, stop), slice(0, depth_of(job, all_items)))
                own = None if all_scores is None else np.asarray(all_scores[rows], np.float32)
                found = nearest(np.asarray(all_items[rows], np.int32), own, start)
                items[ranker, start:stop], scores[ranker, start:stop] = found
