"""Decoding of uploads in a child process, which can be killed: a crafted image may take hours or crash the decoder.

Bytes go to the child and pixels come back over pipes, in records of fixed layout. What the child sends is checked like
any other input. It is started by `subprocess`: `multiprocessing` would import the main module of the program again,
which a script that calls `serve` may not expect.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import Struct
from threading import Event, Lock, Timer
from typing import IO

import numpy as np

from rankloom.datasets.images import ImageError, Pixels, decode

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")  # those that browsers and cameras write
MAX_SIDE = 512  # pixels; larger images are reduced to it
START_SECONDS = 60  # to start the child, which imports NumPy and Pillow
READY = b"R"  # the first byte that the child sends
REQUEST = Struct("<QQd")  # bytes of the image, maximum number of pixels, seconds
REPLY = Struct("<II")  # height and width; or 0 and the length of an error message
ALARM = -getattr(signal, "SIGALRM", 1)  # exit code of a child that ended itself; Windows has no such signal
CHILD = "import sys; sys.path[:] = sys.argv[1:]; from rankloom.web.decoder import main; main()"


class Decoder:
    """Decodes images in a child process, one at a time; the child starts with the first image.

    An image with too many pixels is rejected before it is decompressed. If one takes too long, the child is killed, and
    the next image gets a new one.
    """

    def __init__(self, max_pixels: int = 25_000_000, seconds: float = 5.0) -> None:
        self._max_pixels, self._seconds = max_pixels, seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._stop: weakref.finalize[[subprocess.Popen[bytes]], Decoder] | None = None
        self._lock = Lock()

    def decode(self, content: bytes) -> Pixels:
        """Return the pixels of an image, reduced to `MAX_SIDE`; raise `ImageError` if it cannot be decoded in time."""
        with self._lock:
            child, expired = self._started(), Event()
            try:
                with _killed_after(self._seconds, child, expired):
                    _send(child, REQUEST.pack(len(content), self._max_pixels, self._seconds) + content)
                    return _receive(child)
            except (OSError, EOFError):
                self.close()
                raise self._failure(expired.is_set() or child.returncode == ALARM) from None
            finally:
                if expired.is_set():
                    self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the child, started again if it has ended, and ready for an image."""
        if self._child is None or self._child.poll() is not None:
            self.close()
            child = self._child = subprocess.Popen(
                [sys.executable, "-c", CHILD, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl+C is for the server, which finishes pending uploads
            )
            self._stop = weakref.finalize(self, _kill, child)
            with _killed_after(START_SECONDS, child, Event()):
                _exactly(child.stdout, len(READY))
        return self._child

    def _failure(self, too_slow: bool) -> ImageError:
        if too_slow:
            return ImageError(f"The image is too large to decode within {self._seconds:g} seconds; shrink it first.")
        return ImageError("The image cannot be read: the decoder crashed; save it in another format.")

    def close(self) -> None:
        """Kill the child, if there is one."""
        if self._stop is not None:
            self._stop()


@contextmanager
def _killed_after(seconds: float, child: subprocess.Popen[bytes], expired: Event) -> Iterator[None]:
    """Kill the child, and set `expired`, unless the block ends in time."""

    def expire() -> None:
        expired.set()
        child.kill()

    timer = Timer(seconds, expire)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _kill(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):  # it may have been killed before it read everything
            pipe.close()  # type: ignore[union-attr]


def _send(child: subprocess.Popen[bytes], message: bytes) -> None:
    assert child.stdin is not None
    child.stdin.write(message)
    child.stdin.flush()


def _receive(child: subprocess.Popen[bytes]) -> Pixels:
    height, width = REPLY.unpack(_exactly(child.stdout, REPLY.size))
    if height == 0:
        raise ImageError(_exactly(child.stdout, min(width, 10_000)).decode("utf-8", "replace"))
    if not (0 < height <= MAX_SIDE and 0 < width <= MAX_SIDE):
        raise EOFError
    return np.frombuffer(_exactly(child.stdout, height * width * 3), np.uint8).reshape(height, width, 3)


def _exactly(stream: IO[bytes] | None, size: int) -> bytes:
    assert stream is not None
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def main() -> None:
    """Decode images until standard input ends: the child process."""
    if hasattr(os, "nice"):
        os.nice(10)  # searches come first
    from PIL import Image

    Image.init()  # load all formats now, so that the first image does not pay for it
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    with suppress(EOFError, BrokenPipeError):  # the server has ended
        replies.write(READY)
        replies.flush()
        while True:
            size, max_pixels, seconds = REQUEST.unpack(_exactly(requests, REQUEST.size))
            content = _exactly(requests, size)
            _end_after(seconds)
            replies.write(_reply(content, max_pixels))
            replies.flush()
            _end_after(0)


def _end_after(seconds: float) -> None:
    """End this process after a while, on systems with timers, even if the server was killed; 0 cancels that."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the signal is not handled, so it ends the process


def _reply(content: bytes, max_pixels: int) -> bytes:
    try:
        pixels = decode(content, max_pixels=max_pixels, longest_side=MAX_SIDE, formats=FORMATS)
    except ImageError as error:
        message = str(error).encode()[:10_000]
        return REPLY.pack(0, len(message)) + message
    return REPLY.pack(*pixels.shape[:2]) + pixels.tobytes()
