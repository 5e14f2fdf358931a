"""The routes of the page and of the JSON API."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.dependencies.models import Dependant
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from rankloom.datasets.images import ImageError
from rankloom.errors import InputError, UnknownNameError
from rankloom.registry import split
from rankloom.version import __version__
from rankloom.web.library import MAX_RESULTS
from rankloom.web.limits import RefusedError
from rankloom.web.queries import Choice, ItemQuery, TextQuery
from rankloom.web.queries import Query as AnyQuery
from rankloom.web.site import Site, as_json, as_page
from rankloom.web.views import Values

log = logging.getLogger("rankloom.web")
MAX_INT = 2**31 - 1
MAX_PAGE_PARTS = 40  # common parts that a page lists
SLOW_CUTOFF = 50  # beyond it two graphs have tens of thousands of edges, and take long to write out
MAX_CUTOFF = 100  # unless the library's default is larger
REPEATABLE = {"rankers"}  # of the query parameters
FOREVER = "public, max-age=31536000, immutable"

Number = Annotated[int, Path(ge=0, le=MAX_INT, description="Number of an item.")]
Result = Annotated[int, Path(ge=0, le=MAX_INT, description="Number of the item that was found.")]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{24}$", description="As returned by POST /upload.json.")]
Text = Annotated[str, Query(max_length=1000, pattern=r"\S", description="Text to search for.")]


def _error(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


ERRORS: dict[int | str, dict[str, Any]] = {
    400: _error("Invalid request, or an unknown or repeated query parameter."),
    404: _error("Not found."),
    422: _error("Invalid value of a parameter."),
    503: _error("Too many requests at the moment, or the search takes too long; try again."),
}
IMAGES: dict[int | str, dict[str, Any]] = {**ERRORS, 200: {"content": {"image/jpeg": {}, "image/png": {}}}}
UPLOAD_ERRORS: dict[int | str, dict[str, Any]] = {
    **ERRORS,
    403: _error("Sent from a page of another site."),
    408: _error("Received too slowly."),
    413: _error("Too many bytes or pixels."),
    415: _error("Neither an image nor a form."),
}
UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["image"],
                    "properties": {"image": {"type": "string", "format": "binary"}},
                }
            },
            "image/*": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


async def _check_parameters(request: Request) -> None:
    """Raise for a query parameter that would be ignored: one that the route does not have, or a repeated one."""
    if not request.query_params:
        return
    known = _parameters(request.scope["route"].dependant)
    for name, count in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in known:
            raise UnknownNameError("query parameter", name[:100], known)
        if count > 1 and name not in REPEATABLE:
            raise InputError(f"The query parameter {name!r} is given {count} times; give it once.")


def _parameters(dependant: Dependant) -> set[str]:
    """Return the query parameters of a route, those of its dependencies included."""
    own = {field.alias for field in dependant.query_params}
    return own.union(*map(_parameters, dependant.dependencies))


router = APIRouter(dependencies=[Depends(_check_parameters)])


async def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


async def _choice(
    request: Request,
    method: Annotated[str | None, Query(max_length=100, description="Fusion method.")] = None,
    cutoff: Annotated[
        int | None,
        Query(ge=1, le=MAX_INT, description=f"How much of each list makes up a graph, for fg; at most {MAX_CUTOFF}."),
    ] = None,
    comparator: Annotated[Literal["wgu", "mcs"] | None, Query(description="Graph comparator, for fg.")] = None,
    rankers: Annotated[
        list[str] | None, Query(max_length=100, description="Rankers to fuse; repeated, or separated by commas.")
    ] = None,
    k: Annotated[int | None, Query(ge=1, le=MAX_RESULTS, description="Number of results.")] = None,
) -> Choice:
    given: dict[str, Any] = {"method": method, "cutoff": cutoff, "comparator": comparator, "k": k}
    changes = {name: value for name, value in given.items() if value is not None}
    library = (await _site(request)).library
    max_cutoff = max(MAX_CUTOFF, library.defaults.cutoff)
    if cutoff is not None and cutoff > max_cutoff:
        raise RefusedError(422, f"cutoff: Must be at most {max_cutoff}; got {cutoff}.")
    if rankers is not None:
        changes["rankers"] = _names(rankers, set(library.ranks))
    return library.choose(changes)


def _names(given: list[str], known: set[str]) -> tuple[str, ...]:
    """Return names that are repeated or separated by commas; a ranker's own name may contain commas."""
    return tuple(name for one in given for name in ([one] if one in known else split(one)) if name)


class Detail(NamedTuple):
    """How much of an explanation to return as JSON."""

    graphs: bool
    parts: int | None


async def _detail(
    graphs: Annotated[bool, Query(description="Whether to return both graphs in full.")] = True,
    parts: Annotated[
        int | None, Query(ge=0, le=MAX_INT, description="How many common parts to return; all by default.")
    ] = None,
) -> Detail:
    return Detail(graphs, parts)


SiteOf = Annotated[Site, Depends(_site)]
ChoiceOf = Annotated[Choice, Depends(_choice)]
DetailOf = Annotated[Detail, Depends(_detail)]


def _page_and_json(path: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Route a path to a page, and with ``.json`` to its data, which alone is in the OpenAPI schema."""

    def add(route: Callable[..., Any]) -> Callable[..., Any]:
        router.add_api_route(f"{path}.json", route, summary=route.__doc__, operation_id=name, responses=ERRORS)
        router.add_api_route(path, route, include_in_schema=False)
        return route

    return add


def _is_json(request: Request) -> bool:
    return str(request.scope["path"]).endswith(".json")


def _respond(request: Request, site: Site, template: str, values: Values, **extra: Any) -> Response:
    values = {"ok": True, **values}
    if _is_json(request):
        return as_json(values)
    return as_page(site.pages.render(template, data=values, defaults=site.library.defaults, **extra))


@_page_and_json("/items", "items")
async def items(
    request: Request,
    site: SiteOf,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    label: Annotated[str | None, Query(max_length=300, description="Only items of this class.")] = None,
    find: Annotated[str | None, Query(max_length=300, description="Only items whose title contains this.")] = None,
) -> Response:
    """List the items, a page at a time."""
    values = await site.run(lambda: site.views.browse(page=page, label=label or None, find=find or None))
    return _respond(request, site, "browse.html", values)


router.add_api_route("/", items, include_in_schema=False)


@router.get("/item", include_in_schema=False)
async def item_by_id(
    request: Request, site: SiteOf, item_id: Annotated[str, Query(alias="id", max_length=1000)], choice: ChoiceOf
) -> Response:
    """Redirect from the id of an item to its page, with the same choice."""
    ids = site.library.collection.ids
    if item_id not in ids:
        raise RefusedError(404, f"There is no item with the id {item_id[:200]!r}.")
    rest = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != "id"])
    return RedirectResponse(f"/item/{ids.number(item_id)}" + (f"?{rest}" if rest else ""), 303)


async def _search(request: Request, site: Site, query: AnyQuery, choice: Choice) -> Response:
    def search() -> Response:
        return _respond(request, site, "results.html", site.views.search(query, choice))

    if isinstance(query, ItemQuery) and choice.method == "fg" and site.library.ready(choice):
        return search()  # quicker than handing it to a thread
    return await site.run(search, choice)


async def _explain(
    request: Request, site: Site, query: AnyQuery, number: int, choice: Choice, detail: Detail
) -> Response:
    site.check_item(number)
    is_json = _is_json(request)

    def explain() -> Response:
        compared = site.library.compare(query, number, choice)
        values = site.views.why(query, number, choice, compared, detail.parts if is_json else MAX_PAGE_PARTS)
        if detail.graphs and is_json:
            values["graphs"] = {"query": compared.query.to_dict(), "item": compared.item.to_dict()}
        drawings = () if is_json else site.views.drawings(query, number, compared)
        return _respond(request, site, "why.html", values, drawings=drawings)

    return await site.run(explain, Choice(choice.rankers, cutoff=choice.cutoff), slow=choice.cutoff > SLOW_CUTOFF)


@_page_and_json("/item/{number}", "search_by_item")
async def item(request: Request, site: SiteOf, number: Number, choice: ChoiceOf) -> Response:
    """Search by an item: the fused list, and the list of each ranker."""
    return await _search(request, site, ItemQuery(site.check_item(number)), choice)


@_page_and_json("/item/{number}/why/{found}", "explain_by_item")
async def item_why(
    request: Request, site: SiteOf, number: Number, found: Result, choice: ChoiceOf, detail: DetailOf
) -> Response:
    """Explain a result of a search by item: what the fusion graphs of both have in common."""
    return await _explain(request, site, ItemQuery(site.check_item(number)), found, choice, detail)


def _text_query(q: str) -> TextQuery:
    if not q.strip():
        raise RefusedError(422, "q: Enter some text to search for.")
    return TextQuery(" ".join(q.split()))


@_page_and_json("/search/why/{found}", "explain_by_text")
async def text_why(
    request: Request, site: SiteOf, found: Result, choice: ChoiceOf, q: Text, detail: DetailOf
) -> Response:
    """Explain a result of a search by text: what the fusion graphs of both have in common."""
    return await _explain(request, site, _text_query(q), found, choice, detail)


@_page_and_json("/search", "search_by_text")
async def text(request: Request, site: SiteOf, choice: ChoiceOf, q: Text) -> Response:
    """Search by text."""
    return await _search(request, site, _text_query(q), choice)


@router.post(
    "/upload.json", status_code=201, operation_id="upload_image", responses=UPLOAD_ERRORS, openapi_extra=UPLOAD_BODY
)
@router.post("/upload", include_in_schema=False)
async def upload(request: Request, site: SiteOf) -> Response:
    """Upload an image to search by; the response has the URL of the results."""
    if "images" not in site.library.accepts:
        raise InputError("This collection has no ranker that accepts images.")
    try:
        with site.uploading():
            content = await _content(request, site)
            digest = await site.store(content)
    except ClientDisconnect:
        return Response(status_code=400)  # which the client does not receive
    except ImageError as error:
        raise RefusedError(413 if "too large" in str(error) else 415, str(error)) from None
    url = f"/upload/{digest}"
    if _is_json(request):
        return as_json({"ok": True, "digest": digest, "url": url}, 201, {"Location": url})
    return RedirectResponse(url, 303)


async def _content(request: Request, site: Site) -> bytes:
    """Return the bytes of an uploaded image: the body of the request, or a file in a form; all in memory."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind.startswith("image/") or kind == "application/octet-stream":
        return await request.body()
    if kind != "multipart/form-data":
        raise RefusedError(415, f"Send an image (image/...), or a form with a file; got {kind or 'no type'!r}.")
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=10)
    parser.spool_max_size = site.limits.body_bytes + 1
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError, UnicodeError) as error:
        raise RefusedError(400, f"Invalid form: {getattr(error, 'message', error)}") from None
    try:
        file = form.get("image")
        if not isinstance(file, UploadFile):
            raise RefusedError(422, "image: The form has no file of that name.")
        return await file.read()
    finally:
        await form.close()


@router.get("/upload/{digest}.image", operation_id="uploaded_image", responses=IMAGES, response_class=Response)
async def uploaded_image(site: SiteOf, digest: Digest) -> Response:
    """Return an uploaded image."""
    content, kind = site.find_upload(digest)[1]
    return Response(content, media_type=kind, headers={"Cache-Control": "private, max-age=3600"})


@_page_and_json("/upload/{digest}", "search_by_image")
async def uploaded(request: Request, site: SiteOf, digest: Digest, choice: ChoiceOf) -> Response:
    """Search by an uploaded image."""
    return await _search(request, site, site.find_upload(digest)[0], choice)


@_page_and_json("/upload/{digest}/why/{found}", "explain_by_image")
async def uploaded_why(
    request: Request, site: SiteOf, digest: Digest, found: Result, choice: ChoiceOf, detail: DetailOf
) -> Response:
    """Explain a result of a search by image: what the fusion graphs of both have in common."""
    return await _explain(request, site, site.find_upload(digest)[0], found, choice, detail)


@router.get("/image/{number}", operation_id="image", responses=IMAGES, response_class=Response)
async def image(
    site: SiteOf,
    number: Number,
    v: Annotated[str | None, Query(max_length=40, description="Version of the collection.")] = None,
) -> Response:
    """Return the image of an item, reduced in size."""
    site.check_item(number)
    if not site.gallery:
        raise RefusedError(404, "The items of this collection have no images.")
    try:
        content, kind = await site.run(lambda: site.gallery.file(number))
    except ImageError as error:
        log.warning("The image of item %d: %s", number, error)  # clients must not see its path
        raise RefusedError(404, f"The image of item {number} can no longer be read.") from None
    caching = FOREVER if v == site.library.version else "no-cache"
    return Response(content, media_type=kind, headers={"Cache-Control": caching})


@router.get("/static/{name}", include_in_schema=False)
async def static(site: SiteOf, name: str) -> Response:
    """Return a static file."""
    if name not in site.pages.files:
        raise RefusedError(404, "There is no such file.")
    content, kind = site.pages.files[name]
    return Response(content, media_type=kind, headers={"Cache-Control": FOREVER})


@router.get("/api", include_in_schema=False)
async def api(request: Request, site: SiteOf) -> Response:
    """Document the JSON API."""
    operations = [
        {"method": method.upper(), "path": path, **about}
        for path, methods in request.app.openapi()["paths"].items()
        for method, about in methods.items()
    ]
    values = {**site.views.about(), "url": "/api", "operations": operations, "limits": site.limits}
    return as_page(site.pages.render("api.html", data=values, defaults=site.library.defaults))


@router.get("/health", operation_id="health", responses={400: ERRORS[400]})
async def health(site: SiteOf) -> Response:
    """Return whether the server is up, and what it serves."""
    return as_json({"ok": True, "version": __version__, **site.views.about()})
