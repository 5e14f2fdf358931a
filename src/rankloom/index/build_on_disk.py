"""Builds out of core: what `CollectionIndex.build_on_disk` is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path

from rankloom.errors import InputError, brief, check_choice, whole_number
from rankloom.index.job import Job, run_steps
from rankloom.index.row_kind import R, RowKind
from rankloom.index.settings import stores_scores, warn_if_sparse
from rankloom.index.shard import shard_size
from rankloom.index.steps import first_steps
from rankloom.index.tables import Files, find_files, shape_of
from rankloom.io.text_file import Plain, as_path
from rankloom.ranks.align import split_names
from rankloom.threads import Progress

#: The paths of tables of lists, one for each ranker, in order or by name.
Tables = Sequence[str | Path] | Mapping[str, str | Path]
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
MAX_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class ListFiles:
    """The tables of several rankers: their names, files, number of items and depths."""

    names: tuple[str, ...]
    files: tuple[Files, ...]
    n_items: int
    depths: tuple[int, ...]

    @classmethod
    def of(cls, paths: Tables) -> ListFiles:
        """Return the tables at these paths; raise InputError unless they have a row for each item."""
        if isinstance(paths, str | Path) or not isinstance(paths, Sequence | Mapping) or not len(paths):
            raise InputError(f"Give the path of a table of lists for each ranker; got {brief(paths)}.")
        names, places = split_names(paths)
        files = tuple(find_files(as_path(place)) for place in places)
        shapes = [shape_of(table) for table in files]
        for place, (rows, _) in zip(places, shapes, strict=True):
            if rows != shapes[0][0]:
                raise InputError(f"{places[0]} has {shapes[0][0]} rows and {place} has {rows}; each item needs one.")
        return cls(names, files, shapes[0][0], tuple(depth for _, depth in shapes))

    def spec(self) -> list[Plain]:
        """Return plain data that changes when a file does."""
        return [
            {"files": list(map(list, table)), "state": [_state(p) for f in table for p in f]} for table in self.files
        ]


def _state(path: str) -> list[int]:
    stat = Path(path).stat()
    return [stat.st_size, stat.st_mtime_ns]


def parse_size(text: str | int) -> int:
    """Return a number of bytes.

    Examples
    --------
    >>> parse_size("1GB"), parse_size("250 MB"), parse_size(4096)
    (1000000000, 250000000, 4096)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(text).strip(), re.IGNORECASE)
    if found is None or float(found[1]) <= 0:
        raise InputError(f"memory must be a size such as '1GB' or '500MB'; got {brief(text)}.")
    return int(float(found[1]) * UNITS[found[2].upper()])


def part_size(n_items: int, item_bytes: int, memory: str | int, shards: int | None) -> int:
    """Return how many items a part has, so that a task needs no more than `memory`; parts become shards."""
    limit = max(1, parse_size(memory) // item_bytes)
    min_parts = -(-n_items // limit)
    size = shard_size(n_items, min_parts or 1 if shards is None else whole_number("shards", shards))
    n_parts = -(-n_items // size)
    if size > limit:
        raise InputError(
            f"{n_parts} shards of {size:,} items need about {size * item_bytes / 1e9:.2g} GB each, and memory is "
            f"{memory}; give at least {min_parts:,} shards or more memory."
        )
    if n_parts > MAX_PARTS:
        raise InputError(f"{n_parts:,} shards are too many, at most {MAX_PARTS:,} are supported; give more memory.")
    return size


def with_defaults(build: Callable[..., object], chosen: Mapping[str, object]) -> Plain:
    """Return the options of `build` that a build on disk has too, as chosen or by default."""
    parameters = signature(build).parameters.values()
    options = {p.name: p.default for p in parameters if p.kind is Parameter.KEYWORD_ONLY}
    del options["threads"], options["progress"]
    for name in chosen:
        check_choice("option", name, options)
    return options | dict(chosen)


def specification(kind: str, rows: RowKind[R], lists: ListFiles, size: int, keep_scores: bool) -> Plain:
    """Return what a build depends on, as plain data."""
    return {
        "kind": kind,
        "settings": rows.settings.to_dict(),
        "depth": rows.settings.depth,
        "tables": lists.spec(),
        "n_items": lists.n_items,
        "size": size,
        "keep_scores": stores_scores(rows.settings, keep_scores),
        **rows.spec(),
    }


def run(
    job: Job, rows: RowKind[R], *, scheduler: str | None, threads: int | None, progress: Progress | None
) -> dict[str, list[int]]:
    """Run all steps of a build that are not done yet, and return the shapes of the arrays of the index."""
    settings = rows.settings
    run_steps(job, [*first_steps(job), *rows.steps(job)], scheduler=scheduler, threads=threads, progress=progress)
    if settings.reposition and settings.absent == "first":
        warn_if_sparse(job.read_notes("lengths")["empty"], job.spec["n_items"], settings.rankers)
    return {name: about["shape"] for name, about in job.all_files().items()}
