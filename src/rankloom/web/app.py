"""The application: routes, errors of one shape, and the guard before them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from rankloom.errors import RankloomError
from rankloom.version import __version__
from rankloom.web.library import Library
from rankloom.web.limits import Limits, RefusedError, error_body
from rankloom.web.middleware import App, Guard
from rankloom.web.response_cache import Remembering
from rankloom.web.routes import router
from rankloom.web.site import Site, as_page

ABOUT = "Search a collection by fused rankings. Every page has a twin of the same data: its address with .json."
LONGEST = 1000  # letters of an error
ERROR = {
    "type": "object",
    "required": ["ok", "error", "status"],
    "properties": {"ok": {"const": False}, "error": {"type": "string"}, "status": {"type": "integer"}},
}


def make_app(library: Library, *, limits: Limits | None = None, names: Collection[str] = ()) -> App:
    """Return the application of a library, for any ASGI server.

    Parameters
    ----------
    limits : Limits, optional
    names : collection of str
        Host names to answer for, besides addresses and ``localhost``.
    """
    site = Site(library, limits or Limits())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        site.close()

    app = FastAPI(
        title="rankloom", version=__version__, description=ABOUT, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.state.site = site
    app.include_router(router)
    for kind in (RefusedError, RankloomError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _refuse)
    _describe(app, library)
    return Guard(Remembering(app), site.limits, names)


def _describe(app: FastAPI, library: Library) -> None:
    """Put into the description what FastAPI can't know: the one shape of errors, and the names there are."""
    schema = app.openapi()
    schema.setdefault("components", {})["schemas"] = {"Error": ERROR}
    known = {"method": library.methods(), "rankers": list(library.ranks)}
    for methods in schema["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if known.get(parameter["name"]):
                    _name_choices(parameter, known[parameter["name"]])


def _name_choices(parameter: dict[str, Any], names: list[str]) -> None:
    choice = {"type": "string", "enum": names}
    listed = parameter["name"] == "rankers"
    parameter["schema"] = {"type": "array", "items": choice, "minItems": 1} if listed else choice


async def _refuse(request: Request, error: Exception) -> Response:
    """Answer with a sentence: as a page where a browser asked for one, else in the one shape of errors."""
    refusal = _refusal(error)
    more = error.headers if isinstance(error, HTTPException) else None
    headers = {**refusal.headers(), **(more or {})}
    if request.scope["path"].endswith(".json") or "text/html" not in request.headers.get("accept", ""):
        body = error_body(refusal.status, refusal.error)
        return Response(body, refusal.status, headers, media_type="application/json")
    site: Site = request.app.state.site
    values = {**site.views.about(), "address": "/items", "status": refusal.status, "error": refusal.error}
    page = as_page(site.pages.render("error.html", data=values, standard=site.library.standard), refusal.status)
    page.headers.update(headers)
    return page


def _refusal(error: Exception) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, RequestValidationError):
        return RefusedError(422, " ".join(map(_sentence, error.errors())))
    if isinstance(error, HTTPException):
        return RefusedError(error.status_code, f"{error.detail}.")
    if isinstance(error, RankloomError):
        return RefusedError(400, _shortened(str(error)))
    return RefusedError(500, "Something went wrong here; the log of the server says what.")


def _shortened(error: str) -> str:
    """Return a sentence without the middle of what it repeats: names from outside can be of any length."""
    return error if len(error) <= LONGEST else f"{error[: LONGEST // 2]} … {error[-LONGEST // 2 :]}"


def _sentence(wrong: dict[str, Any]) -> str:
    """Return what is wrong with a parameter."""
    return f"{wrong['loc'][-1]}: {wrong['msg']}; got {str(wrong.get('input'))[:100]!r}."
