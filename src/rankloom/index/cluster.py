"""The one way to a Dask cluster: an address, or "local", becomes a client; tasks over parts report their progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from rankloom.errors import InputError, needs_extra
from rankloom.threads import n_threads, report

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
LOCAL = "local"
TIMEOUT = "10s"  # to connect to a scheduler


@contextmanager
def connected(scheduler: str, *, workers: int | None = None) -> Iterator[Client]:
    """Yield the client of a cluster by its address, or of "local" workers, by default one process for each CPU."""
    with needs_extra("A cluster", "dask[distributed]", "dask"):
        from distributed import Client
    if scheduler == LOCAL:
        with Client(n_workers=n_threads(workers), threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"Cannot connect to the scheduler {scheduler!r}: {error}. Give an address such as tcp://host:8786, or "
            f"{LOCAL!r} for workers on this machine."
        ) from None
    with client:
        yield client


def map_tasks(client: Client, work: Callable[..., T], tasks: Sequence[object], *shared: object, stage: str) -> list[T]:
    """Return ``work(task, *shared)`` of each task, in their order; what is shared goes to each worker once.

    Tasks must not have side effects that a second run would change: Dask runs those of a worker that dies again.
    """
    from distributed import as_completed

    sent = [client.scatter(value, broadcast=True, hash=False) for value in shared]
    futures = client.map(work, tasks, *[[future] * len(tasks) for future in sent], pure=False)
    for done, future in enumerate(as_completed(futures), 1):
        future.result()  # raises the error of a task, as soon as there is one
        report(stage, done, len(tasks))
    return list(client.gather(futures))
