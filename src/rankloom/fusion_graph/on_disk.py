"""Fusion graphs built out of core: the steps of `FusionIndex.build`, part by part."""

from rankloom._kernels.fusion_graph.arguments import Woven
from rankloom.fusion_graph.weave import ROWS, measure, posted, weave
from rankloom.index.job import Job, Step
from rankloom.index.shard import Shard, prefix
from rankloom.index.steps import normalize_part


def graph_steps(job: Job) -> list[Step]:
    """Return the steps from renumbered lists to shards."""
    return [
        Step("weave", "Weaving", weave_part, job.n_parts),
        Step("measure", "Measuring", measure_part, job.n_parts),
    ]


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
        found = posted(graphs, slot)
    job.store({prefix(number) + name: array for name, array in {ROWS[-1]: graphs.norms, **found}.items()})


def _shard(job: Job, number: int) -> Shard:
    start, stop = job.part(number)
    arrays = {name: job.read(prefix(number) + name) for name in ROWS[:-1]}
    return Shard(start, job.read("numbers")[start:stop], arrays)
