"""Rows of weft built out of core: the steps of `WeftIndex.build`, part by part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankloom.fusion_graph.weave import Order
from rankloom.index.job import Job, Step
from rankloom.index.shard import prefix, shard_postings
from rankloom.index.steps import normalized
from rankloom.index.tables import aside
from rankloom.ranks import Ranks
from rankloom.weft.rows import expand, item_lists, smallest_sizes

ROWS = ("row_ptr", "row_items", "row_weights", "row_sizes")


class _How:
    """The settings of an expansion, from plain data."""

    def __init__(self, expand: int, width: int | None) -> None:
        self.expand, self.width = expand, width


def weft_steps(job: Job) -> list[Step]:
    """Return the steps from renumbered lists to shards."""
    return [
        Step("lists", "Repositioning", lists_part, job.n_parts),
        Step("join", "Joining", join_lists, 1),
        Step("expand", "Expanding", expand_part, job.n_parts),
    ]


def lists_part(job: Job, number: int) -> None:
    """Write the normalized lists of a part, each starting with the item itself."""
    settings, n, (start, _) = job.spec["settings"], job.spec["n_items"], job.part(number)
    cut = [normalized(job, number, ranker, settings["cutoff"]) for ranker in range(settings["n_rankers"])]
    job.write(f"lists_{number}", item_lists([Ranks.trusted(one, None, n) for one in cut], settings["cutoff"], start))


def join_lists(job: Job, _: int) -> None:
    """Write the lists of all parts as one array of the index, and the weights of the rankers."""
    settings, file = job.spec["settings"], job.index / "lists.npy"
    shape = (settings["n_rankers"], job.spec["n_items"], settings["cutoff"])
    temporary = aside(file)
    if not job.spec["n_items"]:
        job.store({"lists": np.empty(shape, np.int32)})
    else:
        joined = np.lib.format.open_memmap(temporary, "w+", np.int32, shape)
        for number in range(job.n_parts):
            start, stop = job.part(number)
            joined[:, start:stop] = job.read(f"lists_{number}")
        joined.flush()
        temporary.replace(file)
        job.stored({"lists": joined})
    job.store({"shares": _shares(job)})


def _shares(job: Job) -> NDArray[np.float64]:
    """Return the weights of the rankers: those given, else equal ones for the rankers that have lists."""
    given = job.spec["weights"]
    if given is None:
        listed = [empty < job.spec["n_items"] for empty in job.read_notes("lengths")["empty"]]
        given = [float(one) for one in listed] if any(listed) else [1.0] * len(listed)
    weights: NDArray[np.float64] = np.array(given, np.float64)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def expand_part(job: Job, number: int) -> None:
    """Expand the lists of a part, and transpose the rows."""
    settings = job.spec["settings"]
    lists, order = job.read("lists"), Order(job.read("numbers"), job.read("places"))
    how = _How(settings["expand"], settings["width"])
    rows = expand(lists, lists, order, job.read("shares"), job.scratch, how, inside=True, part=job.part(number))
    own = dict(zip(ROWS, rows, strict=True))
    with job.scratch.borrowed() as slot:
        found = shard_postings(own, own["row_sizes"], smallest_sizes, slot)
    job.store({prefix(number) + name: array for name, array in {**own, **found}.items()})
