"""The ASGI application: routes, error handling and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from rankloom.errors import RankloomError, brief
from rankloom.io.version import __version__
from rankloom.web.limits import INTERNAL_ERROR, RefusedError, error_body
from rankloom.web.middleware import App, SecurityMiddleware, wants_page
from rankloom.web.openapi import complete_schema
from rankloom.web.response_cache import ResponseCache
from rankloom.web.routes import router
from rankloom.web.search_api import search_route
from rankloom.web.site import Site, as_page
from rankloom.web.telemetry import Telemetry

ABOUT = "Search a collection by fused rankings. Every page is also available as JSON: append .json to its path."
SENT = ("Authorization", "Content-Type", "X-API-Key", "X-Request-ID")  # headers, by pages of other sites
ANSWERED = ("X-Request-ID", "Retry-After")  # headers that these may read
MAX_ERROR_LENGTH = 1000  # characters


def make_app(site: Site) -> Telemetry:
    """Return the ASGI application of a site."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        site.close()

    app = FastAPI(
        title="rankloom", version=__version__, description=ABOUT, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.state.site = site
    app.router.routes.insert(0, search_route(site))
    app.router.routes.extend(router.routes)  # as they are: including them would build each a second time
    for kind in (RefusedError, RankloomError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _error_response)
    generated = cache(app.openapi)  # when first asked for: it takes a while
    app.openapi = lambda: complete_schema(generated(), site)  # type: ignore[method-assign]
    cached = ResponseCache(app, lambda: site.views.version, site.limits.share("responses"))
    checked: App = SecurityMiddleware(cached, site.limits, site.access, site.login_page)
    if site.access.origins:
        checked = CORSMiddleware(checked, site.access.origins, ("GET", "POST"), SENT, expose_headers=ANSWERED)
    return Telemetry(checked, site)


async def _error_response(request: Request, error: Exception) -> Response:
    """Return an error as a page if a browser requested one, else as JSON."""
    refusal = _as_refusal(error)
    extra = error.headers if isinstance(error, HTTPException) else None
    headers = {**refusal.headers(), **(extra or {})}
    site: Site = request.app.state.site
    if not wants_page(request.scope) or not site.access.admits(request.scope["headers"]):  # a page names the collection
        body = error_body(refusal.status, refusal.error)
        return Response(body, refusal.status, headers, media_type="application/json")
    views = site.views
    values = {**views.about(), "url": "/items", "status": refusal.status, "error": refusal.error}
    page = as_page(site.pages.render("error.html", data=values, defaults=views.defaults), refusal.status)
    page.headers.update(headers)
    return page


def _as_refusal(error: Exception) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, RequestValidationError):
        return RefusedError(422, " ".join(map(_invalid, error.errors())))
    if isinstance(error, HTTPException):
        return RefusedError(error.status_code, f"{error.detail.rstrip('.')}.")
    if isinstance(error, RankloomError):
        text, half = str(error), MAX_ERROR_LENGTH // 2  # it may repeat what the client sent
        return RefusedError(400, text if len(text) <= 2 * half else f"{text[:half]} … {text[-half:]}")
    return RefusedError(500, INTERNAL_ERROR)


def _invalid(error: dict[str, Any]) -> str:
    """Return what is wrong with a parameter, in a sentence."""
    return f"{error['loc'][-1]}: {error['msg']}; got {brief(str(error.get('input'))[:100])}."
