"""Locks on temporary files and folders: they distinguish what a killed process left from what a running one writes.

The system releases a lock when its process ends, however it ends. Windows and some network file systems lack such
locks; there, what has not changed for an hour counts as abandoned.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ABANDONED_SECONDS = 3600


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
        yield _lock_now(descriptor, path, is_new)
    finally:
        os.close(descriptor)


def _lock_now(descriptor: int, path: Path, is_new: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return is_new or _is_old(path)
    return True


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > ABANDONED_SECONDS
    except OSError:
        return False
