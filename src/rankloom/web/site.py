"""Everything that the routes share: the views, the pages, uploads, and threads that search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from starlette.responses import HTMLResponse, Response

from rankloom.web.library import Library
from rankloom.web.limits import Limits, RefusedError
from rankloom.web.pages import Pages
from rankloom.web.queries import Choice, Picture
from rankloom.web.uploads import File, Gallery, Uploads
from rankloom.web.views import Views

T = TypeVar("T")
#: What a thread is to do, and whom it tells.
Task = tuple[Future[Any], Callable[[], Any]]

WORKERS = 2  # threads that search: kernels are quick, and the rest holds the interpreter's lock anyway
SLOW_WAITING = 4  # what first needs an index or a whole collection fused waits apart, so that searches go on


class Site:
    """A library on the web.

    Parameters
    ----------
    library : Library
    limits : Limits
    """

    def __init__(self, library: Library, limits: Limits) -> None:
        self.library, self.limits = library, limits
        self.views, self.pages = Views(library), Pages()
        self.gallery = Gallery(library.collection)
        self.uploads = Uploads(most_pixels=limits.pixels)
        self._quick = Lane(WORKERS, limits.searches)
        self._slow = Lane(1, SLOW_WAITING)
        self._uploading = 0

    async def work(self, do: Callable[[], T], choice: Choice | None = None, *, heavy: bool = False) -> T:
        """Do something on a thread; what takes long, or needs what a choice has not made yet, has one of its own."""
        lane = self._slow if heavy or not (choice is None or self.library.ready(choice)) else self._quick
        return await lane.run(do)

    @contextmanager
    def uploading(self) -> Iterator[None]:
        """Count a picture that comes in, from before its first byte is read: its bytes are in memory."""
        if self._uploading >= self.limits.uploads:
            raise RefusedError(503, "Too many pictures come in at a time; try again in a moment.", retry_after=1)
        self._uploading += 1
        try:
            yield
        finally:
            self._uploading -= 1

    def item(self, number: int) -> int:
        """Return the number of an item that there is."""
        if number >= len(self.library):
            raise RefusedError(404, f"There is no item {number}; they are numbered 0 to {len(self.library) - 1}.")
        return number

    def sent(self, digest: str) -> tuple[Picture, File]:
        """Return a picture that was sent before, and its file."""
        found = self.uploads.find(digest)
        if found is None:
            raise RefusedError(404, "This picture is not here any more: they are kept for a while. Send it again.")
        return found

    def close(self) -> None:
        """End the threads; what is under way is finished, what waits is not begun."""
        self._quick.close()
        self._slow.close()


class Lane:
    """Threads with a short queue: where it is full, a request is told to come again.

    Parameters
    ----------
    workers : int
    most : int
        How many may be worked on or wait.
    """

    def __init__(self, workers: int, most: int) -> None:
        self._workers, self._most, self._inside = workers, most, 0
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._threads: list[Thread] = []

    async def run(self, do: Callable[[], T]) -> T:
        """Return what `do` returns."""
        if self._inside >= self._most:
            raise RefusedError(503, "Too many searches at a time; try again in a moment.", retry_after=1)
        self._inside += 1
        loop = asyncio.get_running_loop()
        future: Future[T] = Future()
        self._begin()
        self._tasks.put((future, do))
        # Counted until the thread is done with it, which a request that ran out of time does not wait for.
        future.add_done_callback(lambda _: _later(loop, self._leave))
        return await asyncio.wrap_future(future)

    def _begin(self) -> None:
        """Start the threads; unlike those of an executor they don't hold up the end of the process."""
        while len(self._threads) < self._workers:
            self._threads.append(Thread(target=_work, args=[self._tasks], name="rankloom-search", daemon=True))
            self._threads[-1].start()

    def _leave(self) -> None:
        self._inside -= 1

    def close(self) -> None:
        """Begin nothing more."""
        with suppress(Empty):
            while True:
                task = self._tasks.get_nowait()
                if task is not None:
                    task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)


def _work(tasks: SimpleQueue[Task | None]) -> None:
    while (task := tasks.get()) is not None:
        future, do = task
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(do())
            except BaseException as error:
                future.set_exception(error)
        del task, future, do  # nothing of a request is kept while waiting for the next


def _later(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def as_json(values: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return plain values as JSON."""
    body = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return Response(body, status, {"Cache-Control": "no-cache", **(headers or {})}, media_type="application/json")


def as_page(page: str, status: int = 200) -> Response:
    """Return a page."""
    return HTMLResponse(page.encode("utf-8", "backslashreplace"), status, {"Cache-Control": "no-cache"})
