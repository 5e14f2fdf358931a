"""Locks on files and folders: of writers, and those that tell what a killed process left from what is being written.

The system releases a lock when its process ends, however it ends. Windows and some network file systems lack such
locks; there, what has not changed for an hour counts as abandoned.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rankloom.errors import InputError, RankloomWarning

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ABANDONED_SECONDS = 3600
POLL_SECONDS, WARN_SECONDS = 0.05, 1.0  # while waiting for a lock


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder, on systems that have locks."""
    if fcntl is None:  # an open file could not be renamed either
        yield
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # another process has claimed and removed it
        yield
        return
    try:
        with suppress(OSError):  # the file system has no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def claimed(path: Path, *, is_new: bool = False) -> Iterator[bool]:
    """Yield True if a file or folder is abandoned, and hold its lock so that no other process claims it as well.

    Where there are no locks, one that this process has just made (`is_new`) counts as abandoned.
    """
    if fcntl is None:
        yield is_new or _is_old(path)
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # removed in the meantime, or not ours
        yield False
        return
    try:
        taken = _try_lock(descriptor)
        yield is_new or _is_old(path) if taken is None else taken
    finally:
        os.close(descriptor)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > ABANDONED_SECONDS
    except OSError:
        return False


def waiting(opened: Callable[[], int], path: Path, folder: Path, timeout: float) -> int:
    """Return the descriptor of a lock file, locked; warn after a second of waiting that others write to a folder.

    The file is opened again if another process has removed it. Where the file system has no locks, it is not locked.
    """
    start, warned = time.monotonic(), False
    while True:
        descriptor = opened()
        if _try_lock(descriptor) is not False and _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
        waited = time.monotonic() - start
        if waited >= timeout:
            raise InputError(
                f"Another process writes to {folder}, and did not end within {timeout:g} s; try again later, or wait "
                "longer with a larger timeout."
            )
        if waited >= WARN_SECONDS and not warned:
            warnings.warn(f"Waiting for another process that writes to {folder}.", RankloomWarning, stacklevel=2)
            warned = True
        time.sleep(min(POLL_SECONDS, timeout))


def _try_lock(descriptor: int) -> bool | None:
    """Return True if an open file is locked now, False if another process has locked it, None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return None
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Return True if an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
