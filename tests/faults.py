"""Things that go wrong on purpose: errors as text, and a disk that is full."""

import errno
import io
import os
from pathlib import Path

import pytest

from rankloom.errors import InputError


def error_of(read, *args, **options):
    """Return the message of the InputError that a call must raise."""
    with pytest.raises(InputError) as caught:
        read(*args, **options)
    return str(caught.value)


def fill_disk(monkeypatch, n_bytes):
    """Let files that are opened for writing have room for so many bytes only."""

    class Full(io.FileIO):
        def write(self, data):
            if self.tell() + len(data) > n_bytes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(data)

    opened = Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, mode="r", *more, **options: (
            io.BufferedWriter(Full(path, "wb")) if mode == "wb" else opened(path, mode, *more, **options)
        ),
    )
