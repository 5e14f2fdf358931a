"""Serving a folder, by one process or by several that share the port and the mapped files.

The parent opens the port and starts the workers, each a new Python process that inherits the socket: connections that
wait to be accepted are never lost, whichever worker ends. The parent passes signals on and replaces workers that end.
A worker that loses its parent, told by its standard input, finishes its requests and ends.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from rankloom.errors import InputError, RankloomError
from rankloom.registry import load_plugin
from rankloom.web.access import Access
from rankloom.web.app import make_app
from rankloom.web.limits import Limits
from rankloom.web.metrics import FOLDER, forget_worker
from rankloom.web.reload import Reloader, identity_of, open_version
from rankloom.web.server import GRACE_SECONDS, run, starting
from rankloom.web.site import Site
from rankloom.web.telemetry import log_to_stderr
from rankloom.web.tour import Tour

log = logging.getLogger("rankloom.web")
TICK_SECONDS = 0.1
MIN_SECONDS = 5.0  # a worker that ends sooner is replaced only after a pause
PAUSE_SECONDS = 1.0
API_KEY = "RANKLOOM_API_KEY"
READY = b"R"  # what a worker writes once it answers requests
#: Processes on all cores would only get in each other's way if each used all of them.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from rankloom.web.workers import main; main(*map(json.loads, sys.argv[1:2] + sys.argv[3:]))"
)


@dataclass(frozen=True, slots=True)
class Job:
    """What to serve, and how; `watch` and `plugins` are as in `serve_folder`."""

    path: Path
    limits: Limits = field(default_factory=Limits)
    access: Access = field(default_factory=Access)
    watch: bool = False
    plugins: tuple[str, ...] = ()
    log_format: str = "text"

    def to_json(self) -> str:
        """Return the job as JSON without the key, since others can read the arguments of a process."""
        access = {"hosts": self.access.hosts, "origins": self.access.origins}
        return json.dumps({**asdict(self), "path": str(self.path), "access": access})

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Job:
        """Return the job that JSON describes."""
        given = {name: tuple(names) for name, names in values["access"].items()}
        access = Access(**given, api_key=os.environ.get(API_KEY, ""))
        path, limits, plugins = Path(values["path"]), Limits(**values["limits"]), tuple(values["plugins"])
        return cls(**{**values, "path": path, "limits": limits, "access": access, "plugins": plugins})


def serve_job(
    job: Job,
    sock: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
    opening: AbstractContextManager[None] | None = None,
) -> None:
    """Serve a folder in this process, which is opened in the context `opening`; SIGHUP opens its new version."""
    for plugin in job.plugins:
        load_plugin(plugin)
    log_to_stderr(job.log_format)
    identity = identity_of(job.path)
    with opening or nullcontext():
        searcher, version = open_version(job.path)
        tour = Tour(name=job.path.resolve().name)
        site = Site(searcher, job.limits, tour=tour, version=version, access=job.access)
        del searcher  # only the site holds on to it
    reloader = Reloader(job.path, site, identity, watch=job.watch)
    reloader.start()
    run(make_app(site), sock, limits=job.limits, ready=ready, on_hangup=reloader.wake, on_stop=site.stop)


def main(job: dict[str, Any], listening: int, started: int) -> None:
    """Serve as a worker; the numbers are file descriptors of the socket and of the pipe to report on."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the server runs: it opens the newest version anyway
    Thread(target=_end_with_parent, daemon=True).start()

    def ready() -> None:
        os.write(started, READY)
        os.close(started)

    try:
        serve_job(Job.of_json(job), socket.socket(fileno=listening), ready=ready)
    except RankloomError as error:
        sys.exit(f"Error: {error}")


def _end_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin: at exit, Python would wait for its lock
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def supervise(job: Job, sock: socket.socket, n: int, *, ready: Callable[[], None] = lambda: None) -> None:
    """Serve a folder by several processes until SIGTERM or SIGINT."""
    if os.name != "posix":
        raise InputError("Several workers need a system that passes sockets on to processes; serve with one.")
    _Supervisor(job, sock, n, ready).run()


class _Worker:
    """A process that serves."""

    def __init__(self, job: Job, sock: socket.socket, metrics: Path) -> None:
        self.is_ready, self.born = False, time.monotonic()
        self._started, writing = os.pipe()
        arguments = [job.to_json(), json.dumps(sys.path), str(sock.fileno()), str(writing)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, *arguments],
            stdin=subprocess.PIPE,
            pass_fds=(sock.fileno(), writing),
            env={**ONE_THREAD, **os.environ, API_KEY: job.access.api_key, FOLDER: str(metrics)},
            start_new_session=True,  # Ctrl+C is for the parent, which passes it on
        )
        os.close(writing)

    def wait_until_ready(self, seconds: float) -> bool:
        """Return True once it answers requests."""
        if not self.is_ready and select.select([self._started], [], [], seconds)[0]:
            self.is_ready = os.read(self._started, 1) == READY
        return self.is_ready

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    def close(self) -> None:
        """Release what belongs to a process that has ended."""
        os.close(self._started)
        assert self.process.stdin is not None
        self.process.stdin.close()


class _Supervisor:
    """The parent of the workers."""

    def __init__(self, job: Job, sock: socket.socket, n: int, ready: Callable[[], None]) -> None:
        self._job, self._sock, self._n, self._ready = job, sock, n, ready
        self._workers: list[_Worker] = []
        self._stopping, self._hangups, self._not_before = False, 0, 0.0
        self._metrics = TemporaryDirectory(prefix="rankloom-metrics-")  # where the workers count

    def run(self) -> None:
        """Keep the workers running until a signal says to stop."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGHUP, self._hang_up)
        try:
            with starting(self._sock):
                started = self._start_first()
            if started:
                self._ready()
            while not self._stopping:
                self._tick()
        finally:
            self._end()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _hang_up(self, *_: object) -> None:
        self._hangups += 1

    def _start_first(self) -> bool:
        """Start one worker and wait for it, so that an error is reported once; return False if asked to stop."""
        first = self._new_worker()
        self._workers.append(first)
        while not self._stopping and not first.wait_until_ready(TICK_SECONDS):
            if first.process.poll() is not None:
                raise SystemExit(1)  # it has said why
        return not self._stopping

    def _new_worker(self) -> _Worker:
        return _Worker(self._job, self._sock, Path(self._metrics.name))

    def _tick(self) -> None:
        time.sleep(TICK_SECONDS)
        if self._hangups:
            self._hangups = 0
            for worker in self._workers:
                worker.send(signal.SIGHUP)
        for worker in [worker for worker in self._workers if worker.process.poll() is not None]:
            self._bury(worker)
        while len(self._workers) < self._n and time.monotonic() >= self._not_before and not self._stopping:
            self._workers.append(self._new_worker())

    def _bury(self, worker: _Worker) -> None:
        log.error("Worker %d ended with %s; starting another.", worker.process.pid, worker.process.returncode)
        self._workers.remove(worker)
        worker.close()
        forget_worker(worker.process.pid, Path(self._metrics.name))
        if time.monotonic() - worker.born < MIN_SECONDS:
            self._not_before = time.monotonic() + PAUSE_SECONDS

    def _end(self) -> None:
        """Refuse new connections, and wait until the workers have finished their requests."""
        self._sock.close()
        for worker in self._workers:
            worker.send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS + MIN_SECONDS
        for worker in self._workers:
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.close()
        self._metrics.cleanup()
