"""What is known of each request besides its answer: an id, how long it took, and a line in the log."""

from __future__ import annotations

import json
import logging
import re
import time
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from rankloom.errors import escape_controls
from rankloom.web.limits import REQUEST_ID
from rankloom.web.middleware import App, Message, Receive, Scope, Send
from rankloom.web.response_cache import ROUTE
from rankloom.web.site import Site

LOG_FORMATS = ("text", "json")
GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
OTHER = "other"  # the route of requests that have none

access_log = logging.getLogger("rankloom.access")


class Telemetry:
    """ASGI middleware that gives each request an id, counts and times it, and logs it."""

    def __init__(self, app: App, site: Site) -> None:
        self._app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        id = given if GIVEN_ID.fullmatch(given) else uuid4().hex.encode()
        status, route, started = 0, [OTHER], time.perf_counter()
        tokens = REQUEST_ID.set(id.decode()), ROUTE.set(route)

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", []), (b"x-request-id", id)]}
            await send(message)

        try:
            await self._app(scope, receive, tell)
        finally:
            seconds = time.perf_counter() - started
            self.site.metrics.seconds.labels(route[0], str(status)).observe(seconds)
            about = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": round(seconds, 6)}
            access_log.info("request", extra={"about": about})
            REQUEST_ID.reset(tokens[0])
            ROUTE.reset(tokens[1])


class TextFormatter(logging.Formatter):
    """Messages without the control characters of a request, such as those of its path."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a message, with the id of the request."""
        id = REQUEST_ID.get()
        return escape_controls(super().format(record)) + (f" [request {id}]" if id else "")


class JsonFormatter(logging.Formatter):
    """A JSON object for each message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a message as JSON."""
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "message": record.getMessage(),
            "request_id": REQUEST_ID.get() or None,
            **getattr(record, "about", {}),
        }
        if record.exc_info:
            values["exception"] = self.formatException(record.exc_info)
        return json.dumps(values)


def log_to_stderr(format: str) -> None:
    """Log warnings, and what becomes of new versions; as JSON also each request."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("rankloom.web").setLevel(logging.INFO)
    access_log.setLevel(logging.INFO if format == "json" else logging.WARNING)
