"""The server: uvicorn on a socket of ours, with limits for clients that are slow, broken or too many."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rankloom.errors import InputError
from rankloom.web.limits import Limits, error_body
from rankloom.web.middleware import App

GRACE = 20  # seconds that what is under way may take when the server ends
IDLE = 15  # seconds that a connection without a request stays open


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes any that is free."""
    if not host.strip():
        raise InputError("An empty --host would let everyone in; give 127.0.0.1, or 0.0.0.0 if that is meant.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)
    except (OSError, OverflowError, TypeError, ValueError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"Cannot listen on port {port} of {_shown(host)}: {reason}. Choose another with --port, or 0 for any."
        ) from None
    return listening


def _shown(host: str) -> str:
    return host if host.isprintable() else repr(host)


def address(listening: socket.socket) -> str:
    """Return the address of a server for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"


def run(app: App, listening: socket.socket, *, limits: Limits, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until SIGTERM or SIGINT; what is under way is finished.

    Parameters
    ----------
    ready : callable
        Called when requests are answered.
    """
    config = uvicorn.Config(
        app,
        http=protocol(limits),
        ws="none",
        loop="asyncio",  # uvloop lets some connections wait for seconds where all are busy
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
    )
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # a broken form is the client's business
    gc.collect()
    gc.freeze()  # what is there now stays for good: looking through it again and again would hold up requests
    Server(config, ready).run(sockets=[listening])


class Server(uvicorn.Server):
    """A server whose end by a signal is an end like any other: the process goes on and returns 0."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that end a process for as long as the server runs."""
        try:
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread, which alone gets signals
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def protocol(limits: Limits) -> type[asyncio.Protocol]:
    """Return the protocol with limits."""
    return type("Patient", (Patient,), {"limits": limits})


class Patient(HttpToolsProtocol):
    """HTTP/1.1 that gives up clients whose headers take too long or that do not read, and refuses too many of them."""

    limits = Limits()
    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _waiting = 0  # bytes of headers that are not whole yet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # writing is paused while anything waits to be read
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "Too many connections at a time; try again in a moment.")
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came in."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()  # the headers are whole: from here on the time limit of requests holds
            return
        self._waiting += len(data)
        if self._waiting > self.limits.header_bytes:
            self._refuse(431, f"The headers of a request may have {self.limits.header_bytes} bytes at most.")
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        self._read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not take all of an answer; `close` would wait for it without end."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.limits.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: everything was taken."""
        self._read()
        super().resume_writing()

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(400, msg)

    def _wait(self) -> None:
        late = (408, f"The headers of the request did not come within {self.limits.header_seconds:g} seconds.")
        self._timer = self.loop.call_later(self.limits.header_seconds, self._refuse, *late)

    def _stop(self) -> None:
        self._waiting = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, error: str) -> None:
        if not self.transport.is_closing():
            self.transport.write(_raw(status, error))
            self.transport.close()


def _raw(status: int, error: str) -> bytes:
    """Return an answer that is written past the application."""
    body = error_body(status, error)
    head = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body
