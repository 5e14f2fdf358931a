"""The routes of the page and of the JSON API."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.dependencies.models import Dependant
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from rankloom.datasets.images import ImageError
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.version import __version__
from rankloom.registry import split
from rankloom.searcher.lru import NotBuiltError, only_built
from rankloom.web.access import COOKIE
from rankloom.web.limits import RefusedError
from rankloom.web.openapi import ERRORS, IMAGES, UPLOAD_BODY, UPLOAD_ERRORS
from rankloom.web.queries import Choice, Values, is_slow
from rankloom.web.queries import Query as PageQuery
from rankloom.web.site import Site, as_json, as_page
from rankloom.web.uploads import uploaded_image_bytes
from rankloom.web.views import Views
from rankloom.web.why import Why

log = logging.getLogger("rankloom.web")
MAX_INT = 2**31 - 1
LOCAL_URL = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)  # a path on this server
MAX_RESULTS = 100  # of a page
MAX_PAGE_PARTS = 40  # common parts that a page lists
SLOW_CUTOFF = 50  # beyond it two graphs have tens of thousands of edges, and take long to write out
MAX_CUTOFF = 100  # unless the library's default is larger
REPEATABLE = {"rankers"}  # of the query parameters
Route = Callable[..., Awaitable[Response]]
FOREVER = "public, max-age=31536000, immutable"

Number = Annotated[int, Path(ge=0, le=MAX_INT, description="Number of an item.")]
Result = Annotated[int, Path(ge=0, le=MAX_INT, description="Number of the item that was found.")]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{24}$", description="As returned by POST /upload.json.")]
Text = Annotated[str, Query(max_length=1000, description="Text to search for; not blank.")]


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


async def _views(site: Annotated[Site, Depends(_site)]) -> Views:
    return site.views


async def _choice(
    views: Annotated[Views, Depends(_views)],
    method: Annotated[str | None, Query(max_length=100, description="Fusion method.")] = None,
    cutoff: Annotated[
        int | None,
        Query(ge=1, le=MAX_INT, description=f"How much of each list makes up a fusion graph; {MAX_CUTOFF} at most."),
    ] = None,
    comparator: Annotated[Literal["wgu", "mcs"] | None, Query(description="How fusion graphs are compared.")] = None,
    rankers: Annotated[
        list[str] | None, Query(max_length=100, description="Rankers to fuse; repeated, or separated by commas.")
    ] = None,
    k: Annotated[int | None, Query(ge=1, le=MAX_RESULTS, description="Number of results.")] = None,
) -> Choice:
    options: Values = {"method": method, "cutoff": cutoff, "comparator": comparator, "k": k}
    changes = {name: value for name, value in options.items() if value is not None}
    max_cutoff = max(MAX_CUTOFF, views.defaults.cutoff)
    if cutoff is not None and cutoff > max_cutoff:
        raise RefusedError(422, f"cutoff: Must be at most {max_cutoff}; got {cutoff}.")
    if rankers is not None:
        changes["rankers"] = _names(rankers, set(views.searcher.rankers))
    return views.choose(changes)


def _names(given: list[str], known: set[str]) -> tuple[str, ...]:
    """Return names that are repeated or separated by commas; a ranker's own name may contain commas."""
    return tuple(name for text in given for name in ([text] if text in known else split(text)) if name)


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
ViewsOf = Annotated[Views, Depends(_views)]
ChoiceOf = Annotated[Choice, Depends(_choice)]
DetailOf = Annotated[Detail, Depends(_detail)]


def _page_and_json(path: str, name: str) -> Callable[[Route], Route]:
    """Route a path to a page, and with ``.json`` to its data, which alone is in the OpenAPI schema."""

    def add(route: Route) -> Route:
        router.add_api_route(f"{path}.json", route, summary=route.__doc__, operation_id=name, responses=ERRORS)
        router.add_api_route(path, route, include_in_schema=False)
        return route

    return add


def _is_json(request: Request) -> bool:
    return str(request.scope["path"]).endswith(".json")


def _respond(request: Request, views: Views, template: str, values: Values, **extra: object) -> Response:
    values = {"ok": True, **values}
    if _is_json(request):
        return as_json(values)
    pages = request.app.state.site.pages
    return as_page(pages.render(template, data=values, defaults=views.defaults, **extra))


@_page_and_json("/items", "items")
async def items(
    request: Request,
    site: SiteOf,
    views: ViewsOf,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    label: Annotated[str | None, Query(max_length=300, description="Only items of this class.")] = None,
    find: Annotated[str | None, Query(max_length=300, description="Only items whose title contains this.")] = None,
) -> Response:
    """List the items, a page at a time."""
    values = await site.run(lambda: views.browse(page=page, label=label or None, find=find or None))
    return _respond(request, views, "browse.html", values)


router.add_api_route("/", items, include_in_schema=False)


@router.get("/item", include_in_schema=False)
async def item_by_id(
    request: Request, views: ViewsOf, item_id: Annotated[str, Query(alias="id", max_length=1000)], choice: ChoiceOf
) -> Response:
    """Redirect from the id of an item to its page, with the same choice."""
    ids = views.ids
    if item_id not in ids:
        raise RefusedError(404, f"There is no item with the id {item_id[:200]!r}.")
    rest = [pair for pair in request.query_params.multi_items() if pair[0] != "id"]
    return RedirectResponse(f"/item/{ids.number(item_id)}" + (f"?{urlencode(rest)}" if rest else ""), 303)


async def _search(request: Request, views: Views, query: PageQuery, choice: Choice) -> Response:
    site: Site = request.app.state.site

    def search() -> Response:
        values = views.search(query, choice)
        site.metrics.count_search(values["method"])
        return _respond(request, views, "results.html", values)

    if query.kind == "item" and not is_slow(choice.method):
        with suppress(NotBuiltError), only_built():
            return search()  # quicker than handing it to a thread
    return await site.search(search, views, slow=is_slow(choice.method))


async def _explain(
    request: Request, views: Views, query: PageQuery, number: int, choice: Choice, detail: Detail
) -> Response:
    views.check_item(number)
    site: Site = request.app.state.site
    is_json = _is_json(request)

    def explain() -> Response:
        why = Why(views, query, number, choice)
        values = why.values(detail.parts if is_json else MAX_PAGE_PARTS)
        if detail.graphs and is_json:
            values["graphs"] = why.graphs()
        return _respond(request, views, "why.html", values, drawings=() if is_json else why.drawings())

    return await site.search(explain, views, slow=choice.cutoff > SLOW_CUTOFF or is_slow(choice.method))


@_page_and_json("/item/{number}", "search_by_item")
async def item(request: Request, views: ViewsOf, number: Number, choice: ChoiceOf) -> Response:
    """Search by an item: the fused list, and the list of each ranker."""
    return await _search(request, views, views.item_query(views.check_item(number)), choice)


@_page_and_json("/item/{number}/why/{found}", "explain_by_item")
async def item_why(
    request: Request, views: ViewsOf, number: Number, found: Result, choice: ChoiceOf, detail: DetailOf
) -> Response:
    """Explain a result of a search by item: parts of its score, and the common part of both fusion graphs."""
    return await _explain(request, views, views.item_query(views.check_item(number)), found, choice, detail)


@_page_and_json("/item/{number}/document", "read_document")
async def read_document(request: Request, views: ViewsOf, number: Number) -> Response:
    """Read a document in full."""
    return _respond(request, views, "document.html", views.read(views.check_item(number)))


def _text_query(views: Views, q: str) -> PageQuery:
    if not q.strip():
        raise RefusedError(422, "q: Enter some text to search for.")
    return views.text_query(" ".join(q.split()))


@_page_and_json("/search/why/{found}", "explain_by_text")
async def text_why(
    request: Request, views: ViewsOf, found: Result, choice: ChoiceOf, q: Text, detail: DetailOf
) -> Response:
    """Explain a result of a search by text: parts of its score, and the common part of both fusion graphs."""
    return await _explain(request, views, _text_query(views, q), found, choice, detail)


@_page_and_json("/search", "search_by_text")
async def text(request: Request, views: ViewsOf, choice: ChoiceOf, q: Text) -> Response:
    """Search by text; a page without any is the first page."""
    if not (q.strip() or _is_json(request)):
        return RedirectResponse("/", 303)
    return await _search(request, views, _text_query(views, q), choice)


@router.post(
    "/upload.json", status_code=201, operation_id="upload_image", responses=UPLOAD_ERRORS, openapi_extra=UPLOAD_BODY
)
@router.post("/upload", include_in_schema=False)
async def upload(request: Request, site: SiteOf) -> Response:
    """Upload an image to search by; the response has the URL of the results."""
    if "images" not in site.views.accepts:
        raise InputError("This collection has no ranker that accepts images.")
    try:
        with site.uploading():
            digest = await site.store(await uploaded_image_bytes(request, site.limits.body_bytes))
    except ClientDisconnect:
        return Response(status_code=400)  # which the client does not receive
    except ImageError as error:
        raise RefusedError(413 if "too large" in str(error) else 415, str(error)) from None
    url = f"/upload/{digest}"
    if _is_json(request):
        return as_json({"ok": True, "digest": digest, "url": url}, 201, {"Location": url})
    return RedirectResponse(url, 303)


@router.get("/upload/{digest}.image", operation_id="uploaded_image", responses=IMAGES, response_class=Response)
async def uploaded_image(site: SiteOf, digest: Digest) -> Response:
    """Return an uploaded image."""
    content, kind = site.find_upload(digest)[1]
    return Response(content, media_type=kind, headers={"Cache-Control": "private, max-age=3600"})


async def _image_query(site: Site, views: Views, digest: str) -> PageQuery:
    image = site.find_upload(digest)[0]
    return await site.run(lambda: views.image_query(digest, image))  # the first one looks at some images


@_page_and_json("/upload/{digest}", "search_by_image")
async def uploaded(request: Request, site: SiteOf, views: ViewsOf, digest: Digest, choice: ChoiceOf) -> Response:
    """Search by an uploaded image."""
    return await _search(request, views, await _image_query(site, views, digest), choice)


@_page_and_json("/upload/{digest}/why/{found}", "explain_by_image")
async def uploaded_why(
    request: Request, site: SiteOf, views: ViewsOf, digest: Digest, found: Result, choice: ChoiceOf, detail: DetailOf
) -> Response:
    """Explain a result of a search by image: parts of its score, and the common part of both fusion graphs."""
    return await _explain(request, views, await _image_query(site, views, digest), found, choice, detail)


@router.get("/image/{number}", operation_id="image", responses=IMAGES, response_class=Response)
async def image(
    site: SiteOf,
    views: ViewsOf,
    number: Number,
    v: Annotated[str | None, Query(max_length=40, description="Version of the image.")] = None,
) -> Response:
    """Return the image of an item, reduced in size."""
    views.check_item(number)
    version = views.gallery.version(number)
    if version is None:
        raise RefusedError(404, f"Item {number} has no image.")
    try:
        content, kind = await site.run(lambda: views.gallery.file(number))
    except ImageError as error:
        log.warning("The image of item %d: %s", number, error)  # clients must not see its path
        raise RefusedError(404, f"The image of item {number} can no longer be read.") from None
    return Response(content, media_type=kind, headers={"Cache-Control": FOREVER if v == version else "no-cache"})


@router.get("/static/{name}", include_in_schema=False)
async def static(site: SiteOf, name: str) -> Response:
    """Return a static file."""
    if name not in site.pages.files:
        raise RefusedError(404, "There is no such file.")
    content, kind = site.pages.files[name]
    return Response(content, media_type=kind, headers={"Cache-Control": FOREVER})


@router.get("/documents/{item_id:path}", operation_id="document", responses=ERRORS)
async def document(
    views: ViewsOf, item_id: Annotated[str, Path(max_length=1000, description="Id of a document.")]
) -> Response:
    """Return a document with all its fields, and its number."""
    ids = views.ids
    if item_id not in ids:
        raise RefusedError(404, f"There is no document with the id {item_id[:200]!r}.")
    number = ids.number(item_id)
    return as_json({"ok": True, "number": number, "document": views.document(number)})


@router.get("/api", include_in_schema=False)
async def api(request: Request, site: SiteOf, views: ViewsOf) -> Response:
    """Document the JSON API."""
    operations = [
        {"method": method.upper(), "path": path, **about}
        for path, methods in request.app.openapi()["paths"].items()
        for method, about in methods.items()
    ]
    values = {**views.about(), "url": "/api", "operations": operations, "limits": site.limits}
    return as_page(site.pages.render("api.html", data=values, defaults=views.defaults))


@router.post("/login", include_in_schema=False)
async def login(request: Request, site: SiteOf) -> Response:
    """Take the key from the page that asks for it, once: a cookie stands for it from then on."""
    form = await request.form(max_files=0, max_fields=2)
    key, url = (str(form.get(name, "")) for name in ("key", "next"))
    url = url if LOCAL_URL.fullmatch(url) else "/"
    if not site.access.api_key or not site.access.fits(key.encode("utf-8", "replace")):
        return as_page(site.login_page(RefusedError(401, "Wrong key."), url), 401)
    response = RedirectResponse(url, 303)
    is_secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, site.access.cookie, httponly=True, samesite="strict", secure=is_secure)
    return response


@router.get("/ready", operation_id="ready", responses=ERRORS)
async def ready(site: SiteOf) -> Response:
    """Return whether requests should be sent here: not while the server starts or stops."""
    if site.is_stopping:
        raise RefusedError(503, "The server is stopping.", retry_after=5)
    return as_json({"ok": True})


@router.get("/metrics", include_in_schema=False)
async def metrics(site: SiteOf) -> Response:
    """Return what all workers have counted, for Prometheus."""
    return Response(site.metrics.scrape(), headers={"Cache-Control": "no-store"}, media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/health", operation_id="health", responses={400: ERRORS[400]})
async def health(request: Request, site: SiteOf, views: ViewsOf) -> Response:
    """Return whether the server is up, and to who may know it, what it serves."""
    about = views.about() if site.access.admits(request.scope["headers"]) else {}
    return as_json({"ok": True, "version": __version__, **about})


@router.get("/version", operation_id="version", responses={400: ERRORS[400]})
async def version(views: ViewsOf) -> Response:
    """Return the version of the program, a digest of the meta.json it serves, and the fields that `where` can name."""
    known = {"serving": views.digest, "n_items": len(views), "fields": views.searcher.field_types}
    return as_json({"ok": True, "version": __version__, **known})
