"""Builds on disk: steps of independent tasks over parts of the items, run one after the other or on a Dask cluster.

A job is a hidden folder next to its target. A task reads and writes files below it, aside and renamed, and leaves a
marker when it is done; so a job that was killed resumes, and a task that runs twice writes the same bytes.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from rankloom._kernels import frozen
from rankloom.errors import InputError
from rankloom.index.cluster import connected, map_tasks
from rankloom.index.order import Order
from rankloom.index.tables import aside, growing
from rankloom.io.array_file import described, write_array
from rankloom.io.atomic_file import atomic_write, resolved
from rankloom.io.file_lock import claimed
from rankloom.io.folder_writer import FolderWriter
from rankloom.io.text_file import Plain
from rankloom.ranks.arrays import Array
from rankloom.threads import Progress, Scratch, running

SPECIFICATION = "job.json"


class Job:
    """A build on disk, by its folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.index, self.work, self._done = (self.folder / name for name in ("index", "work", "done"))
        self.notes: Plain = {}  #: what the current task has found out; other tasks `read_notes`
        self.files: Plain = {}

    @cached_property
    def spec(self) -> Plain:
        """What is built, as plain data: `n_items`, `size` (the items of a part), `tables`, `settings`, ..."""
        spec: Plain = json.loads((self.folder / SPECIFICATION).read_text(encoding="utf-8"))
        return spec

    @property
    def n_parts(self) -> int:
        """The number of parts, which become the shards."""
        return int(-(-max(self.spec["n_items"], 1) // self.spec["size"]))

    def part(self, number: int) -> tuple[int, int]:
        """Return the first internal number of a part, and the one after its last."""
        start = number * self.spec["size"]
        return start, min(start + self.spec["size"], self.spec["n_items"])

    @cached_property
    def order(self) -> Order:
        """The internal numbering, once it is known."""
        return Order(self.read("numbers"), self.read("places"))

    @cached_property
    def scratch(self) -> Scratch:
        """Scratch of the size of the collection; the system provides the pages that are touched."""
        return Scratch(self.spec["n_items"])

    def write(self, name: str, array: Array) -> None:
        """Write an array that other tasks read."""
        _write(self.work / f"{name}.npy", array)

    def read(self, name: str, *, mapped: bool = True) -> Array:
        """Return an array that a task wrote, memory-mapped; one of the index if it is there."""
        for folder in (self.work, self.index):
            file = folder / f"{name}.npy"
            if file.exists():
                return _read(file, "r" if mapped else None)
        raise FileNotFoundError(self.work / f"{name}.npy")

    def store(self, arrays: Mapping[str, Array]) -> None:
        """Write arrays of the index, and note their checksums."""
        for name, array in arrays.items():
            _write(self.index / f"{name}.npy", array)
        self._note(arrays)

    @contextmanager
    def filled(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[Array]:
        """Yield an array of the index to fill; it may be larger than memory."""
        with growing(self.index / f"{name}.npy", shape, dtype) as array:
            yield array
        self._note({name: array})

    def _note(self, arrays: Mapping[str, Array]) -> None:
        """Note the checksums of files of the index."""
        with ThreadPoolExecutor() as pool:
            about = pool.map(lambda name: described(self.index / f"{name}.npy", arrays[name]), arrays)
            self.files |= dict(zip(arrays, about, strict=True))

    def marker(self, step: str, number: int) -> Path:
        """Return the file that says that a task is done."""
        return self._done / f"{step}-{number}.json"

    def read_notes(self, step: str, number: int = 0) -> Plain:
        """Return what a task has noted."""
        notes: Plain = json.loads(self.marker(step, number).read_text(encoding="utf-8"))["notes"]
        return notes

    def all_files(self) -> Plain:
        """Return the descriptions of all files of the index, by name."""
        files: Plain = {}
        for marker in self._done.iterdir():
            if marker.suffix == ".json":
                files |= json.loads(marker.read_text(encoding="utf-8"))["files"]
        return dict(sorted(files.items()))

    def start(self, spec: Plain) -> None:
        """Continue a job with this specification, or start a new one."""
        text = json.dumps(spec, indent=1, sort_keys=True)
        known = self.folder / SPECIFICATION
        if not known.exists() or known.read_text(encoding="utf-8") != text:
            known.unlink(missing_ok=True)  # first: if this is interrupted, no specification matches
            for folder in (self._done, self.work, self.index):
                shutil.rmtree(folder, ignore_errors=True)
            for folder in (self.index, self.work, self._done):
                folder.mkdir()
            with atomic_write(known) as stream:
                stream.write(text)


def _write(file: Path, array: Array) -> None:
    temporary = aside(file)
    write_array(temporary, array, sync=False)
    temporary.replace(file)


def _read(file: Path, mmap_mode: Literal["r"] | None) -> Array:
    try:
        array = np.load(file, mmap_mode, allow_pickle=False)
    except ValueError:  # an empty array cannot be mapped
        array = np.load(file, allow_pickle=False)
    return frozen(np.asarray(array))


#: (job, number of the part): does one task
Task = Callable[[Job, int], None]


class Step(NamedTuple):
    """A set of independent tasks, one for each part or just one; a step starts when the one before is done."""

    name: str
    title: str  # for the progress bar
    task: Task
    n_tasks: int


def perform(step: str, task: Task, folder: str, threads: int | None, number: int) -> int:
    """Do one task unless it is done; this is what a worker of a cluster runs."""
    job = Job(folder)
    marker = job.marker(step, number)
    if not marker.exists():
        with running(threads):
            task(job, number)
        temporary = aside(marker)
        temporary.write_text(json.dumps({"notes": job.notes, "files": job.files}), encoding="utf-8")
        temporary.replace(marker)
    return number


def run_steps(
    job: Job, steps: Sequence[Step], *, scheduler: str | None, threads: int | None, progress: Progress | None
) -> None:
    """Run the tasks that are not done yet, step by step."""
    with nullcontext() if scheduler is None else connected(scheduler) as client:
        for step in steps:
            todo = [number for number in range(step.n_tasks) if not job.marker(step.name, number).exists()]
            work = partial(perform, step.name, step.task, str(job.folder), threads if client is None else 1)
            if client is not None:
                with running(progress=progress):
                    map_tasks(client, work, todo, stage=step.title)
                continue
            for done, number in enumerate(todo, step.n_tasks - len(todo) + 1):
                work(number)
                if progress is not None:
                    progress(step.title, done, step.n_tasks)


def job_folder(path: Path) -> Path:
    """Return the hidden folder next to an index that holds the work on it."""
    target = resolved(path)
    return target.parent / f".{target.name}.building"


@contextmanager
def opened_job(path: Path, spec: Plain) -> Iterator[Job]:
    """Yield the job that builds an index at `path`, new or resumed; no other process can open it meanwhile."""
    folder = job_folder(path)
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot write an index at {path}: {error.strerror}.") from None
    with claimed(folder, is_new=is_new) as free:
        if not free:
            raise InputError(f"Another process is building {path}; wait for it, or choose another path.")
        job = Job(folder)
        job.start(spec)
        yield job


def install(job: Job, writer: FolderWriter, meta: Plain) -> None:
    """Make the finished index the next generation of its folder, and remove the job."""
    files = job.all_files()
    (job.folder / SPECIFICATION).unlink()  # a job that is killed from here on must not resume: its files have moved
    writer.adopt(job.index, files, meta)
    shutil.rmtree(job.folder, ignore_errors=True)
