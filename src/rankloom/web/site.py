"""What the routes share: views, pages, uploads and the threads that search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from starlette.responses import HTMLResponse, Response

from rankloom.datasets import Collection as Items
from rankloom.datasets.images import File, Pixels
from rankloom.searcher import Searcher
from rankloom.searcher.lru import NotBuiltError, only_built
from rankloom.web.access import Access
from rankloom.web.decoder import Decoder
from rankloom.web.limits import Limits, RefusedError
from rankloom.web.metrics import Metrics
from rankloom.web.pages import Pages
from rankloom.web.tour import NO_TOUR, Tour
from rankloom.web.uploads import Uploads
from rankloom.web.views import Views

T = TypeVar("T")
#: A function to call, and the future of its result.
Task = tuple[Future[Any], Callable[[], Any]]

MAX_WAITS = 5  # for indexes that others build
MAX_SLOW = 4  # tasks of a lane that is not for quick searches


class Version(NamedTuple):
    """A version of a served folder."""

    digest: str  #: of its meta.json
    generation: int
    written: float  #: when, in seconds since 1970
    n_bytes: int


class Site:
    """A searcher on the web, which may be updated, or replaced by another one; its options are those of `make_app`."""

    def __init__(
        self,
        searcher: Searcher,
        limits: Limits | None = None,
        *,
        collection: Items | None = None,
        version: Version | None = None,
        tour: Tour = NO_TOUR,
        access: Access | None = None,
    ) -> None:
        limits = self.limits = limits or Limits()
        self.pages, self.access, self.metrics = Pages(), access or Access(), Metrics()
        self.is_stopping = False
        self._view = partial(Views, collection=collection, tour=tour, limits=limits)
        self._served: tuple[Searcher, Views]
        self.replace(searcher, version)
        self.decoder = Decoder(limits.pixels, min(limits.decode_seconds, limits.seconds))
        self.uploads = Uploads(self.decoder, limits.share("uploads"))
        lanes = {
            "quick": (2, limits.searches),  # more would not help: the rest of a search holds the GIL
            "slow": (1, MAX_SLOW),  # methods and batches that take long
            "build": (1, MAX_SLOW),  # searches that first need an index
            "decode": (1, limits.uploads),
        }
        self._lanes = {name: WorkerPool(*sizes, name, self.metrics) for name, sizes in lanes.items()}
        self._builds: dict[Hashable, asyncio.Future[None]] = {}  # used on the event loop only
        self._n_uploading = 0

    @property
    def views(self) -> Views:
        """The views of the documents as they are now; a request uses the same ones from start to end."""
        searcher, views = self._served
        if views.source is not searcher.state:  # it was updated
            views = self._view(searcher, digest=views.digest)
            self._served = (searcher, views)
            self.metrics.documents.set(len(views))
        return views

    def replace(self, searcher: Searcher, version: Version | None = None) -> None:
        """Serve another searcher from the next request on; pending requests finish on the old one."""
        views = self._view(searcher, digest=None if version is None else version.digest)
        views.warm_up()
        self._served = (searcher, views)
        self.metrics.documents.set(len(searcher))
        if version is not None:
            self.metrics.generation.set(version.generation)
            self.metrics.written.set(version.written)
            self.metrics.n_bytes.set(version.n_bytes)

    def login_page(self, refusal: RefusedError, url: str) -> str:
        """Return the page that asks for the key."""
        return self.pages.render("login.html", error=refusal.error, next=url)

    def stop(self) -> None:
        """Stop being ready: the server is stopping."""
        self.is_stopping = True

    async def run(self, task: Callable[[], T], *, lane: str = "quick") -> T:
        """Run a task on a thread of a lane, so that quick ones do not wait for slow ones."""
        return await self._lanes[lane].run(task)

    async def search(self, task: Callable[[], T], views: Views, *, slow: bool = False) -> T:
        """Run a search on a thread; if it needs an index that is not built yet, one such search builds it for all."""
        lane = "slow" if slow else "quick"
        for _ in range(MAX_WAITS):
            try:
                return await self.run(partial(_without_building, task), lane=lane)
            except NotBuiltError as missing:
                key = (views.version, missing.key)
            if key not in self._builds:
                return await self._building(key, task)
            await asyncio.shield(self._builds[key])
        return await self.run(task, lane="build")

    async def _building(self, key: Hashable, task: Callable[[], T]) -> T:
        """Run a search that builds an index; others wait until it is done."""
        done = self._builds[key] = asyncio.get_running_loop().create_future()
        try:
            return await self.run(task, lane="build")
        finally:
            del self._builds[key]
            done.set_result(None)

    async def store(self, content: bytes) -> str:
        """Decode and store an uploaded image; return its digest. Searches do not wait for it."""
        return await self.run(lambda: self.uploads.add(content), lane="decode")

    @contextmanager
    def uploading(self) -> Iterator[None]:
        """Count an upload, starting before its first byte is read, because its bytes are in memory."""
        if self._n_uploading >= self.limits.uploads:
            self.metrics.rejected.labels("upload").inc()
            raise RefusedError(503, "Too many uploads at the moment; try again shortly.", retry_after=1)
        self._n_uploading += 1
        try:
            yield
        finally:
            self._n_uploading -= 1

    def find_upload(self, digest: str) -> tuple[Pixels, File]:
        """Return the pixels of an uploaded image, and its file."""
        found = self.uploads.find(digest)
        if found is None:
            raise RefusedError(404, "This upload is no longer stored; send the image again.")
        return found

    def close(self) -> None:
        """Stop the threads: running tasks are finished, waiting ones are cancelled; and the decoder, at once."""
        for lane in self._lanes.values():
            lane.close()
        self.decoder.close()


def _without_building(task: Callable[[], T]) -> T:
    with only_built():
        return task()


class WorkerPool:
    """Threads with a short queue: when too many tasks run or wait, requests get 503 with Retry-After."""

    def __init__(self, workers: int, max_tasks: int, name: str, metrics: Metrics) -> None:
        self._workers, self._max_tasks, self._n_tasks = workers, max_tasks, 0
        self._queue, self._rejected = metrics.queue.labels(name), metrics.rejected.labels(name)
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._threads: list[Thread] = []

    async def run(self, task: Callable[[], T]) -> T:
        """Return the result of a task."""
        if self._n_tasks >= self._max_tasks:
            self._rejected.inc()
            raise RefusedError(503, "Too many searches at the moment; try again shortly.", retry_after=1)
        self._n_tasks += 1
        self._queue.inc()
        loop = asyncio.get_running_loop()
        future: Future[T] = Future()
        self._start()
        self._tasks.put((future, task))
        # Count it until the thread has finished, which may be long after the request timed out.
        future.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._finish))
        return await asyncio.wrap_future(future)

    def _start(self) -> None:
        """Start the threads; unlike those of an executor, they do not keep the process from exiting."""
        while len(self._threads) < self._workers:
            self._threads.append(Thread(target=_work, args=[self._tasks], name="rankloom-search", daemon=True))
            self._threads[-1].start()

    def _finish(self) -> None:
        self._n_tasks -= 1
        self._queue.dec()

    def close(self) -> None:
        """Cancel the waiting tasks and stop the threads."""
        with suppress(Empty):
            while True:
                task = self._tasks.get_nowait()
                if task is not None:
                    task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)


def _work(tasks: SimpleQueue[Task | None]) -> None:
    while (queued := tasks.get()) is not None:
        future, task = queued
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(task())
            except BaseException as error:
                future.set_exception(error)
        del queued, future, task  # do not hold on to a request while waiting for the next


def as_json(values: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response."""
    body = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return Response(body, status, {"Cache-Control": "no-cache", **(headers or {})}, media_type="application/json")


def as_page(page: str, status: int = 200) -> Response:
    """Return an HTML response."""
    return HTMLResponse(page.encode("utf-8", "backslashreplace"), status, {"Cache-Control": "no-cache"})
