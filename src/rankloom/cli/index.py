"""`rankloom index`: build a fusion-graph index."""

from dataclasses import asdict, dataclass
from typing import Annotated, get_args

import typer

from rankloom.cli import app as cli
from rankloom.cli.option_groups import RunOptions, expand_groups
from rankloom.cli.outputs import check_output, writes
from rankloom.fusion_graph.compare import COMPARATORS
from rankloom.fusion_graph.graph import GRAPH_NORMS
from rankloom.fusion_graph.index import FusionIndex
from rankloom.fusion_graph.weave import WEIGHTINGS
from rankloom.index.job import job_folder
from rankloom.index.settings import Absent
from rankloom.io.folder_writer import TIMEOUT, check_absent


@dataclass(frozen=True)
class GraphOptions:
    """How graphs are made of lists, and compared: options of `FusionIndex.build`."""

    cutoff: Annotated[int, cli.Option(min=1, help="How much of each list makes up a graph: the paper's L.")] = 10
    depth: Annotated[int, cli.Option(min=1, help="How much of each list is used for repositioning.")] = 1000
    reposition: Annotated[bool, cli.Option(help="Move up items that also list the query (Eq. 1).")] = True
    graph_norm: Annotated[
        str,
        cli.Option(
            help=f"How weights are normalized, {cli.either(GRAPH_NORMS)}: as in the paper or in the authors' program."
        ),
    ] = "max"
    comparator: Annotated[str, cli.Option(help=f"How graphs are compared: {cli.either(COMPARATORS)}.")] = "wgu"
    weighting: Annotated[str, cli.Option(help=f"How lists become weights: {cli.either(WEIGHTINGS)}.")] = "paper"
    absent: Annotated[
        str, cli.Option(help=f"Where Eq. 1 places items that have no list: {cli.either(get_args(Absent))}.")
    ] = "first"
    keep_scores: Annotated[bool, cli.Option(help="Keep scores, for virtual positions of external queries.")] = True


@cli.app.command()
@expand_groups
def index(
    context: typer.Context,
    runs: cli.Runs,
    output: cli.Output,
    *,
    graphs: GraphOptions,
    memory: Annotated[
        str | None,
        cli.Option(
            help="Build out of core: a task uses this much memory, as in 1GB. Runs are then tables of lists: .npy, "
            ".npz or parquet files, or folders of parts (docs/scaling.md). An interrupted build resumes."
        ),
    ] = None,
    shards: Annotated[
        int | None,
        cli.Option(min=1, help="Split the index by item into this many shards; with --memory by default as needed."),
    ] = None,
    scheduler: cli.Scheduler = None,
    reading: RunOptions,
    as_collection: cli.AsCollection = False,
    overwrite: cli.Overwrite = False,
    timeout: cli.Timeout = TIMEOUT,
    threads: cli.Threads = None,
    plugin: cli.Plugin = None,
) -> None:
    """Build a fusion-graph index from the lists of a collection's items.

    Each file has the lists of one ranker, with every item of the collection as a query. Rankers can be named, as in
    bm25=a.run; the index then keeps their names, and queries are matched to them by name.

    Examples:

    rankloom index a-items.run b-items.run -o shop.loom

    rankloom index bm25=a-items.run dense=b-items.run -o shop.loom

    rankloom index bm25.npy dense.npy --memory 1GB -o big.loom
    """
    check_output(output, runs)
    check_absent(output, FusionIndex.KIND, None if overwrite else "--overwrite")
    writes(output)
    names, paths = cli.split_names(runs)
    options = {**asdict(graphs), "threads": threads}
    with cli.progress_bars() as progress:
        if memory is not None:
            cli.refuse_options(context, "with --memory, runs are tables", "format", "duplicates", "as_collection")
            tables = dict(zip(names, paths, strict=True)) if names else paths
            writes(job_folder(output), "{path} keeps the finished tasks, and the same command resumes")
            options |= {"memory": memory, "shards": shards, "scheduler": scheduler, "progress": progress}
            options |= {"overwrite": overwrite, "timeout": timeout}
            built = FusionIndex.build_on_disk(tables, output, **options)
        else:
            cli.refuse_options(context, "it needs --memory", "scheduler")
            ranks = reading.read(paths, progress, "collection" if as_collection else None)
            lists = dict(zip(names, ranks, strict=True)) if names else ranks
            built = FusionIndex.build(lists, progress=progress, **options)
            progress("Saving", 0, 1)
            built.save(output, shards=shards, overwrite=overwrite, timeout=timeout)
    in_shards = f", {built.n_shards} shards" if built.n_shards else ""
    counts = f"{cli.counted(built.n_items, 'item')}, {cli.counted(len(runs), 'ranker')}"
    cli.echo(f"{output}: {counts}{in_shards}", err=True)
