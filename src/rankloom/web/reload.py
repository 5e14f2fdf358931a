"""Serving a new version of a folder without dropping a request."""

from __future__ import annotations

import json
import logging
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from rankloom.errors import InputError, RankloomError
from rankloom.io.folder import META, parsed_head, read_meta
from rankloom.searcher import Searcher
from rankloom.searcher.storage import KIND
from rankloom.web.site import Site, Version

log = logging.getLogger("rankloom.web")
POLL_SECONDS = 1.0

#: What changes when the folder is replaced: device, inode, time and size of its meta.json.
Identity = tuple[int, int, int, int]


def open_version(path: Path) -> tuple[Searcher, Version]:
    """Return the searcher in a folder, and which version of it this is."""
    while True:  # repeat if another version took its place in the meantime
        meta = read_meta(path)
        _check_encoders(path, meta)
        searcher = Searcher.open(path)
        if read_meta(path) == meta:
            head = parsed_head(path, meta, KIND)
            n_bytes = len(meta) + sum(int(about["bytes"]) for about in head.files.values())
            return searcher, Version(sha256(meta).hexdigest()[:16], head.generation, _written(path), n_bytes)


def _written(path: Path) -> float:
    identity = identity_of(path)
    return 0.0 if identity is None else identity[2] / 1e9


def _check_encoders(path: Path, meta: bytes) -> None:
    """Raise InputError if a ranker was given as a function, which a server cannot know."""
    try:
        functions = [about["name"] for about in json.loads(meta)["rankers"] if about["spelling"] is None]
    except (ValueError, KeyError, TypeError):  # opening it says what is wrong
        return
    if functions:
        raise InputError(
            f"The ranker {functions[0]!r} of {path} was given as a function, which is not stored. Serve the searcher "
            "from Python with rankloom.web.serve, or register the ranker in a plug-in and build again by its name."
        )


class Reloader:
    """A thread that opens new versions of a folder, warms them up and gives them to a site.

    It looks for one every second if it watches, and whenever it is woken up. `identity` is that of the folder before
    the served version was opened.
    """

    def __init__(self, path: Path, site: Site, identity: Identity | None, *, watch: bool) -> None:
        self._path, self._site, self._watch = path, site, watch
        self._identity = identity
        self._calls: SimpleQueue[None] = SimpleQueue()

    def start(self) -> None:
        """Start the thread; it does not keep the process from exiting."""
        Thread(target=self._run, name="rankloom-reload", daemon=True).start()

    def wake(self) -> None:
        """Open the folder again now, whether it changed or not; may be called in a signal handler."""
        self._calls.put(None)

    def _run(self) -> None:
        while True:
            called = self._wait()
            identity = identity_of(self._path)
            if called or identity not in (None, self._identity):
                self._identity = identity
                self._reload()

    def _wait(self) -> bool:
        """Return True if it was woken up, False if the time has passed."""
        try:
            self._calls.get(timeout=POLL_SECONDS if self._watch else None)
        except Empty:
            return False
        return True

    def _reload(self) -> None:
        try:
            searcher, version = open_version(self._path)
            self._site.replace(searcher, version)
        except RankloomError as error:
            self._site.metrics.reload_failures.inc()
            log.error("Cannot open the new version of %s, still serving the old one: %s", self._path, error)
        except Exception:  # whatever it is, the old version is still good
            self._site.metrics.reload_failures.inc()
            log.exception("Cannot open the new version of %s, still serving the old one", self._path)
        else:
            log.info("Serving version %s of %s: %d documents.", version.digest, self._path, len(searcher))


def identity_of(path: Path) -> Identity | None:
    """Return the identity of the folder; None while there is none."""
    try:
        stat = (path / META).stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size
