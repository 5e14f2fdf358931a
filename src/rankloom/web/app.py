"""The ASGI application: routes, error handling and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from rankloom.errors import RankloomError, brief
from rankloom.io.version import __version__
from rankloom.web.limits import INTERNAL_ERROR, RefusedError, error_body
from rankloom.web.middleware import App, SecurityMiddleware, wants_page
from rankloom.web.response_cache import ResponseCache
from rankloom.web.routes import SEARCH_ERRORS, router
from rankloom.web.search_api import ANSWER, ANSWERS, body_schema, search_route
from rankloom.web.site import Site, as_page
from rankloom.web.views import Views

ABOUT = "Search a collection by fused rankings. Every page is also available as JSON: append .json to its path."
MAX_ERROR_LENGTH = 1000  # characters
ERROR = {
    "type": "object",
    "required": ["ok", "error", "status"],
    "properties": {"ok": {"const": False}, "error": {"type": "string"}, "status": {"type": "integer"}},
}


def make_app(site: Site, allowed_hosts: Collection[str] = ()) -> App:
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
    app.openapi = lambda: _complete_schema(generated(), site)  # type: ignore[method-assign]
    return SecurityMiddleware(ResponseCache(app, lambda: site.views.version), site.limits, allowed_hosts)


def _complete_schema(generated: dict[str, Any], site: Site) -> dict[str, Any]:
    """Return the OpenAPI schema with what FastAPI cannot know: errors, POST /search, names of methods and rankers."""
    schema = deepcopy(generated)
    schema.setdefault("components", {})["schemas"] = {"Error": ERROR, "Answer": ANSWER, "Answers": ANSWERS}
    page = schema["paths"]["/search.json"]["get"]
    schema["paths"]["/search"] = {"get": _as_page_operation(page), "post": _search_operation(site)}
    for methods in schema["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                _set_choices(parameter, site.views)
    return schema


def _as_page_operation(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the operation of a page from that of its JSON: it shares its path with POST /search."""
    found = {"description": "A page.", "content": {"text/html": {}}}
    return {
        **deepcopy(operation),
        "summary": f"{operation['summary']} As a page.",
        "operationId": f"{operation['operationId']}_page",
        "responses": {**operation["responses"], "200": found},
    }


def _search_operation(site: Site) -> dict[str, Any]:
    known = ("Answer", "Answers")
    answer = {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in known]}
    found = {"description": "The answer; to queries or items, a list of answers in the same order."}
    return {
        "summary": "Search by text, document or vectors; one query or a batch.",
        "operationId": "search",
        "requestBody": {"required": True, "content": {"application/json": {"schema": body_schema(site.limits)}}},
        "responses": {
            "200": {**found, "content": {"application/json": {"schema": answer}}},
            **{str(status): one for status, one in SEARCH_ERRORS.items()},
        },
    }


def _set_choices(parameter: dict[str, Any], views: Views) -> None:
    known = {"method": views.searcher.methods(external=False), "rankers": list(views.searcher.rankers)}
    names = known.get(parameter["name"])
    if names:
        choice = {"type": "string", "enum": names}
        repeated = parameter["name"] == "rankers"
        parameter["schema"] = {"type": "array", "items": choice, "minItems": 1} if repeated else choice


async def _error_response(request: Request, error: Exception) -> Response:
    """Return an error as a page if a browser requested one, else as JSON."""
    refusal = _as_refusal(error)
    extra = error.headers if isinstance(error, HTTPException) else None
    headers = {**refusal.headers(), **(extra or {})}
    if not wants_page(request.scope):
        body = error_body(refusal.status, refusal.error)
        return Response(body, refusal.status, headers, media_type="application/json")
    site: Site = request.app.state.site
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
        return RefusedError(error.status_code, f"{error.detail}.")
    if isinstance(error, RankloomError):
        return RefusedError(400, _shortened(str(error)))
    return RefusedError(500, INTERNAL_ERROR)


def _shortened(error: str) -> str:
    """Return a message without its middle if it is too long: it may repeat what the client sent."""
    half = MAX_ERROR_LENGTH // 2
    return error if len(error) <= MAX_ERROR_LENGTH else f"{error[:half]} … {error[-half:]}"


def _invalid(error: dict[str, Any]) -> str:
    """Return what is wrong with a parameter, in a sentence."""
    return f"{error['loc'][-1]}: {error['msg']}; got {brief(str(error.get('input'))[:100])}."
