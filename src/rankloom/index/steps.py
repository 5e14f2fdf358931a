"""What every build on disk does first: from tables of lists to normalized lists, part by part.

check the lists -> order the items -> renumber the lists, and turn them round for Eq. 1 -> reposition and cut.
Parts are consecutive internal numbers, except in the check, where they are consecutive item numbers.
"""

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import Transposed
from rankloom.index.job import Job, Step
from rankloom.index.normalize import reposition_block, unlisted_positions
from rankloom.index.order import Order
from rankloom.index.tables import Files, check_rows, copy_table, is_direct, open_array
from rankloom.ranks import PAD, list_lengths
from rankloom.ranks.arrays import Array, Int32s
from rankloom.ranks.lists import pointers
from rankloom.threads import run_blocks


def first_steps(job: Job) -> list[Step]:
    """Return the steps up to the renumbered lists."""
    n_rankers = len(job.spec["tables"])
    return [
        Step("copy", "Copying", copy, n_rankers),
        Step("check", "Checking", check, job.n_parts),
        Step("scores", "Copying scores", copy_scores, n_rankers),
        Step("order", "Ordering", order, 1),
        Step("renumber", "Renumbering", renumber, job.n_parts),
        Step("lengths", "Counting", lengths, 1),
    ]


def copy(job: Job, ranker: int) -> None:
    """Copy a table that cannot be mapped as it is."""
    files = Files(*(tuple(paths) for paths in job.spec["tables"][ranker]["files"]))
    if not is_direct(files):
        copy_table(files, job.spec["depth"], job.work / f"items_{ranker}.npy", job.work / f"scores_{ranker}.npy")


def tables(job: Job, ranker: int) -> tuple[Array, Array | None]:
    """Return the items and the scores of a ranker's table, memory-mapped; they may be deeper than needed."""
    copied = job.work / f"items_{ranker}.npy"
    items, scores = job.spec["tables"][ranker]["files"]
    if copied.exists():
        items, scores = [copied], [path for path in [job.work / f"scores_{ranker}.npy"] if path.exists()]
    return frozen(open_array(items[0])), frozen(open_array(scores[0])) if scores else None


def depth_of(job: Job, items: Array) -> int:
    """Return the depth to which a table is used."""
    return min(int(job.spec["depth"]), int(items.shape[1]))


def check(job: Job, number: int) -> None:
    """Check the lists of consecutive items."""
    for ranker in range(len(job.spec["tables"])):
        _check_table(job, ranker, *job.part(number))


def _check_table(job: Job, ranker: int, start: int, stop: int) -> None:
    items, scores = tables(job, ranker)
    path, depth = job.spec["tables"][ranker]["files"][0][0], depth_of(job, items)

    def work(first: int, last: int) -> None:
        rows = (slice(start + first, start + last), slice(0, depth))
        some = None if scores is None else scores[rows]
        with job.scratch.borrowed() as seen:
            check_rows(np.ascontiguousarray(items[rows]), some, len(items), path, start + first, seen)

    run_blocks(work, stop - start, stage="Checking")


def copy_scores(job: Job, ranker: int) -> None:
    """Write the scores of a ranker's lists to the index, -inf after the end of a list."""
    items, scores = tables(job, ranker)
    if scores is None or not job.spec["keep_scores"]:
        return
    depth, name = depth_of(job, items), f"scores_{ranker}"
    with job.filled(name, (len(items), depth), np.float32) as out:
        for start in range(0, len(items), job.spec["size"]):
            rows = (slice(start, start + job.spec["size"]), slice(0, depth))
            out[rows] = np.where(items[rows] == PAD, np.float32(-np.inf), scores[rows])


def order(job: Job, _: int) -> None:
    """Number the items in breadth-first order over the lists of the first ranker."""
    items, _scores = tables(job, 0)
    job.store(Order.of(items, depth_of(job, items))._asdict())


def renumber(job: Job, number: int) -> None:
    """Write the lists of a part in the internal numbering, and what they say of the items of other parts."""
    start, stop = job.part(number)
    for ranker in range(len(job.spec["tables"])):
        items, _ = tables(job, ranker)
        lists = job.order.to_internal(items, depth_of(job, items), slice(start, stop))
        job.write(f"inside_{ranker}_{number}", lists)
        job.write(f"lengths_{ranker}_{number}", list_lengths(lists))
        if job.spec["settings"]["reposition"]:
            turned, ends = _turned(lists, start, job.spec["size"], job.n_parts)
            job.write(f"turned_{ranker}_{number}", turned)
            job.write(f"ends_{ranker}_{number}", ends)


def _turned(lists: Array, start: int, size: int, n_parts: int) -> tuple[Array, Array]:
    """Return (target, source, position) of the entries that lead to other parts, by part, and where each part ends."""
    from rankloom._kernels.index import shards as kernels

    elsewhere = lists[(lists != PAD) & ((lists < start) | (lists >= start + size))]
    counts = np.bincount(elsewhere // size, minlength=n_parts)
    ends = np.cumsum(counts)
    turned = np.empty((ends[-1], 3), np.int32)
    kernels.turn(lists, start, size, ends - counts, turned)
    return turned, ends


def lengths(job: Job, _: int) -> None:
    """Join the lengths of lists: the position of what an item does not list."""
    empty = []
    for ranker in range(len(job.spec["tables"])):
        parts = [job.read(f"lengths_{ranker}_{number}", mapped=False) for number in range(job.n_parts)]
        found = np.concatenate(parts)
        job.write(f"unlisted_{ranker}", unlisted_positions(found, job.spec["settings"].get("absent", "first")))
        empty.append(int((found == 0).sum()))
    job.notes["empty"] = empty


def normalize_part(job: Job, number: int) -> list[Int32s]:
    """Return the lists of a part by each ranker, repositioned if the settings say so, and cut."""
    return [_normalized(job, number, ranker) for ranker in range(job.spec["settings"]["n_rankers"])]


def _normalized(job: Job, number: int, ranker: int) -> Int32s:
    lists, cutoff = job.read(f"inside_{ranker}_{number}", mapped=False), job.spec["settings"]["cutoff"]
    if not job.spec["settings"]["reposition"]:
        return lists[:, :cutoff]
    lengths, unlisted = job.read(f"lengths_{ranker}_{number}", mapped=False), job.read(f"unlisted_{ranker}")
    back = _listing(lists, job.part(number)[0], _incoming(job, number, ranker))
    return reposition_block(lists, lengths, unlisted, back, cutoff, job.scratch)


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
