"""The server: uvicorn on our own socket, with limits on slow, broken or too many clients."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from threading import Event, Thread

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rankloom.errors import InputError
from rankloom.web.limits import Limits, error_body
from rankloom.web.middleware import App

GRACE_SECONDS = 20  # for pending requests when the server stops
IDLE_SECONDS = 15  # a connection without a request is then closed
TICK_SECONDS, MAX_READ = 0.2, 65_536  # of a client that must wait
BACKLOG = 1024  # connections that wait to be accepted
LINGER_SECONDS = 1  # the same when the server stops: a request may be on its way


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    if not host.strip():
        raise InputError(
            "An empty host would accept connections from anywhere; give 127.0.0.1, or 0.0.0.0 if intended."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    # A server can restart immediately; on Windows it always can, and SO_REUSEADDR would let others take the port.
    sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
    try:
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except (OSError, OverflowError, TypeError, ValueError) as error:
        sock.close()
        reason = getattr(error, "strerror", None) or error
        shown = host if host.isprintable() else repr(host)
        raise InputError(
            f"Cannot listen on port {port} of {shown}: {reason}. Choose another port, or 0 for any free one."
        ) from None
    return sock


def url_of(sock: socket.socket) -> str:
    """Return the URL of a server for a browser on this machine."""
    host, port = sock.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"


@contextmanager
def starting(sock: socket.socket) -> Iterator[None]:
    """Answer every request with 503 until what is to be served is open."""
    stopped = Event()
    thread = Thread(target=_refuse_all, args=(sock, stopped), name="rankloom-starting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _refuse_all(sock: socket.socket, stopped: Event) -> None:
    sock.settimeout(TICK_SECONDS)
    while not stopped.is_set():
        with suppress(OSError):  # a timeout, or a client that is gone
            client = sock.accept()[0]
            with client:
                client.settimeout(TICK_SECONDS)
                received = b""
                while b"\r\n\r\n" not in received and len(received) < MAX_READ and not stopped.is_set():
                    if not (data := client.recv(MAX_READ)):
                        break
                    received += data
                client.sendall(_raw_response(503, "The server is starting; try again in a moment."))
                client.shutdown(socket.SHUT_WR)
                client.recv(MAX_READ)  # what is not read would reset the connection


def run(
    app: App,
    sock: socket.socket,
    *,
    limits: Limits,
    ready: Callable[[], None] = lambda: None,
    on_hangup: Callable[[], None] | None = None,
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT, and call `ready` once requests are answered; pending ones are finished first."""
    limited = type("LimitedProtocol", (LimitedProtocol,), {"limits": limits})  # uvicorn makes one per connection
    config = uvicorn.Config(
        app,
        http=limited,
        ws="none",
        loop="asyncio",  # under full load uvloop lets some connections wait for seconds
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=1,  # accept one connection at a time, and leave the next one to a worker that is less busy
    )
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # a broken form is the client's fault
    gc.collect()
    gc.freeze()  # long-lived objects: scanning them in every collection would hold up requests
    Server(config, limited, ready, on_hangup, on_stop).run(sockets=[sock])


class Server(uvicorn.Server):
    """A server that answers every request sent before it stops, and exits with 0 on a signal.

    uvicorn's own resets connections that wait to be accepted or whose request has not been read, and raises the signal
    again.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        limited: type[LimitedProtocol],
        ready: Callable[[], None],
        on_hangup: Callable[[], None] | None = None,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._limited, self._ready, self._on_hangup, self._on_stop = limited, ready, on_hangup, on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept requests."""
        await super().startup(sockets)
        for sock in sockets or ():
            sock.listen(BACKLOG)  # asyncio has set it to its own
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new connections, answer the requests of those that are open, and close them."""
        self._limited.stopping = True
        self._on_stop()
        waiting = [connection for sock in sockets or () for connection in _accepted(sock)]
        for server in self.servers:
            server.close()  # at once: what connects from now on is refused, not reset
        loop = asyncio.get_running_loop()
        new_protocol = partial(self._limited, self.config, self.server_state, self.lifespan.state)
        for connection in waiting:
            with suppress(OSError):  # the client is gone
                await loop.connect_accepted_socket(new_protocol, connection)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM, and SIGHUP if something is to be done then, while the server runs."""
        handlers: dict[int, Callable[..., None]] = dict.fromkeys((signal.SIGINT, signal.SIGTERM), self.handle_exit)
        on_hangup = self._on_hangup
        if on_hangup is not None and hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = lambda *_: on_hangup()
        try:
            before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        except ValueError:  # only the main thread can handle signals
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _accepted(sock: socket.socket) -> Iterator[socket.socket]:
    """Yield the connections that wait to be accepted."""
    with suppress(OSError):  # there are no more
        while True:
            connection = sock.accept()[0]
            connection.setblocking(False)
            yield connection


class LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 that drops clients with slow headers or that do not read, and refuses too many connections."""

    limits = Limits()
    stopping = False  # of the server
    _header_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0  # received so far, while the headers are incomplete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # pause writing while the client has anything left to read
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "Too many connections; try again in a moment.")
            return
        self._start_header_timer()
        if self.stopping:
            self.shutdown()

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_header_timer()  # the headers are complete: now the time limit of requests applies
            return
        self._header_bytes += len(data)
        if self._header_bytes > self.limits.header_bytes:
            self._refuse(431, f"The headers of a request may have at most {self.limits.header_bytes} bytes.")
        elif self._header_timer is None:
            self._start_header_timer()

    def on_headers_complete(self) -> None:
        """Start to answer a request; it is the last of its connection if the server stops."""
        super().on_headers_complete()
        if self.stopping and self.cycle is not None:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.stopping:
            self.shutdown()

    def shutdown(self) -> None:
        """Close the connection once its request is answered, or after a while if it has none."""
        if self._is_idle():
            self.loop.call_later(LINGER_SECONDS, self._close_if_idle)
        elif self.cycle is not None and not self.cycle.response_started:  # otherwise its headers have already been sent
            self.cycle.keep_alive = False

    def _is_idle(self) -> bool:
        return not self._header_bytes and (self.cycle is None or self.cycle.response_complete)

    def _close_if_idle(self) -> None:
        if self._is_idle():
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_header_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Abort after a while if the client does not read; `close` would wait for it forever."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.limits.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Continue once the client has read everything."""
        self._stop_write_timer()
        super().resume_writing()

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, msg)

    def _start_header_timer(self) -> None:
        late = (408, f"The headers of the request did not arrive within {self.limits.header_seconds:g} seconds.")
        self._header_timer = self.loop.call_later(self.limits.header_seconds, self._refuse, *late)

    def _stop_header_timer(self) -> None:
        self._header_bytes = 0
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _refuse(self, status: int, error: str) -> None:
        if not self.transport.is_closing():
            self.transport.write(_raw_response(status, error))
            self.transport.close()


def _raw_response(status: int, error: str) -> bytes:
    """Return the bytes of a response that bypasses the application."""
    body = error_body(status, error)
    head = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
        *(["Retry-After: 1"] if status == 503 else []),
    ]
    return "\r\n".join([*head, "", ""]).encode() + body
