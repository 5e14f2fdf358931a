"""The addresses of the page and of its JSON twins."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from rankloom.datasets.images import ImageError
from rankloom.errors import InputError
from rankloom.registry import split
from rankloom.version import __version__
from rankloom.web import queries
from rankloom.web.library import MAX_ANSWERS
from rankloom.web.limits import RefusedError
from rankloom.web.queries import Choice
from rankloom.web.site import Site, as_json, as_page
from rankloom.web.views import Values

log = logging.getLogger("rankloom.web")
router = APIRouter()
LARGEST = 2**31 - 1
PAGE_PARTS = 40  # parts in common that a page lists
HEAVY = 50  # beyond this L two graphs have tens of thousands of edges, and take long to write down
MAX_CUTOFF = 100  # unless the library was made with more
FOREVER = "public, max-age=31536000, immutable"

Number = Annotated[int, Path(ge=0, le=LARGEST, description="Number of an item.")]
Found = Annotated[int, Path(ge=0, le=LARGEST, description="Number of the item that was found.")]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{24}$", description="As POST /picture.json returned it.")]
Asked = Annotated[str, Query(max_length=1000, pattern=r"\S", description="Words to search for.")]
Parts = Annotated[int | None, Query(ge=0, le=LARGEST, description="How many parts in common to give; all by default.")]
Graphs = Annotated[bool, Query(description="Whether to give both graphs in full.")]


def _error(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


ERRORS: dict[int | str, dict[str, Any]] = {
    400: _error("Something asked for can't be."),
    404: _error("There is no such thing."),
    422: _error("A parameter is not of its kind."),
    503: _error("Too much at a time, or it takes too long; try again."),
}
PICTURES: dict[int | str, dict[str, Any]] = {**ERRORS, 200: {"content": {"image/jpeg": {}, "image/png": {}}}}
UPLOAD_ERRORS: dict[int | str, dict[str, Any]] = {
    **ERRORS,
    403: _error("Sent from a page of another site."),
    408: _error("It came in too slowly."),
    413: _error("Too many bytes or pixels."),
    415: _error("Neither a picture nor a form."),
}
UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["picture"],
                    "properties": {"picture": {"type": "string", "format": "binary"}},
                }
            },
            "image/*": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


async def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


async def _choice(
    request: Request,
    method: Annotated[str | None, Query(max_length=100, description="Method of fusion.")] = None,
    cutoff: Annotated[
        int | None, Query(ge=1, le=LARGEST, description=f"The paper's L, for fg; {MAX_CUTOFF} at most.")
    ] = None,
    comparator: Annotated[Literal["wgu", "mcs"] | None, Query(description="Of graphs, for fg.")] = None,
    rankers: Annotated[
        list[str] | None, Query(max_length=100, description="Rankers to fuse; repeated, or joined by commas.")
    ] = None,
    k: Annotated[int | None, Query(ge=1, le=MAX_ANSWERS, description="How many answers.")] = None,
) -> Choice:
    given: dict[str, Any] = {"method": method, "cutoff": cutoff, "comparator": comparator, "k": k}
    asked = {name: value for name, value in given.items() if value is not None}
    library = (await _site(request)).library
    most = max(MAX_CUTOFF, library.standard.cutoff)
    if cutoff is not None and cutoff > most:
        raise RefusedError(422, f"cutoff: It can be {most} at most; got {cutoff}.")
    if rankers is not None:
        asked["rankers"] = _names(rankers, set(library.ranks))
    return library.choose(asked)


def _names(given: list[str], known: set[str]) -> tuple[str, ...]:
    """Return names that are repeated or joined by commas; a ranker's own name may have commas in it."""
    return tuple(name for one in given for name in ([one] if one in known else split(one)) if name)


Here = Annotated[Site, Depends(_site)]
Chosen = Annotated[Choice, Depends(_choice)]


def _twin(path: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a route two addresses: of the page, and with ``.json`` of its data, which the description names."""

    def add(route: Callable[..., Any]) -> Callable[..., Any]:
        router.add_api_route(f"{path}.json", route, summary=route.__doc__, operation_id=name, responses=ERRORS)
        router.add_api_route(path, route, include_in_schema=False)
        return route

    return add


def _is_twin(request: Request) -> bool:
    return str(request.scope["path"]).endswith(".json")


def _answer(request: Request, site: Site, template: str, values: Values, **more: Any) -> Response:
    values = {"ok": True, **values}
    if _is_twin(request):
        return as_json(values)
    return as_page(site.pages.render(template, data=values, standard=site.library.standard, **more))


@_twin("/items", "items")
async def items(
    request: Request,
    site: Here,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    label: Annotated[str | None, Query(max_length=300, description="Only items of this class.")] = None,
    find: Annotated[str | None, Query(max_length=300, description="Only items whose name has this in it.")] = None,
) -> Response:
    """A page of the items, of all or of a class."""
    values = await site.work(lambda: site.views.browse(page=page, label=label or None, find=find or None))
    return _answer(request, site, "browse.html", values)


router.add_api_route("/", items, include_in_schema=False)


@router.get("/item", include_in_schema=False)
async def item_by_name(request: Request, site: Here, name: Annotated[str, Query(max_length=1000)]) -> Response:
    """Lead from the name of an item to its page."""
    ids = site.library.collection.ids
    if name not in ids:
        raise RefusedError(404, f"There is no item called {name[:200]!r}.")
    rest = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != "name"])
    return RedirectResponse(f"/item/{ids.number(name)}" + (f"?{rest}" if rest else ""), 303)


async def _searched(request: Request, site: Site, query: queries.Query, choice: Choice) -> Response:
    def search() -> Response:
        return _answer(request, site, "results.html", site.views.search(query, choice))

    if isinstance(query, queries.Item) and choice.method == "fg" and site.library.ready(choice):
        return search()  # it takes so little that handing it to a thread would cost more
    return await site.work(search, choice)


async def _explained(
    request: Request, site: Site, query: queries.Query, number: int, choice: Choice, *, graphs: bool, parts: int | None
) -> Response:
    site.item(number)
    twin = _is_twin(request)

    def explain() -> Response:
        compared = site.library.compare(query, number, choice)
        values = site.views.why(query, number, choice, compared, parts if twin else PAGE_PARTS)
        if graphs and twin:
            values["graphs"] = {"query": compared.query.to_dict(), "item": compared.item.to_dict()}
        drawn = () if twin else site.views.drawings(query, number, compared)
        return _answer(request, site, "why.html", values, drawings=drawn)

    return await site.work(explain, Choice(choice.rankers, cutoff=choice.cutoff), heavy=choice.cutoff > HEAVY)


@_twin("/item/{number}", "search_by_item")
async def item(request: Request, site: Here, number: Number, choice: Chosen) -> Response:
    """What is like an item: the fused list beside each ranker's own."""
    return await _searched(request, site, queries.Item(site.item(number)), choice)


@_twin("/item/{number}/why/{found}", "explain_by_item")
async def item_why(
    request: Request,
    site: Here,
    number: Number,
    found: Found,
    choice: Chosen,
    graphs: Graphs = True,
    parts: Parts = None,
) -> Response:
    """What the fusion graphs of two items have in common."""
    return await _explained(request, site, queries.Item(site.item(number)), found, choice, graphs=graphs, parts=parts)


def _words(q: str) -> queries.Words:
    if not q.strip():
        raise RefusedError(422, "q: Give some words to search for.")
    return queries.Words(" ".join(q.split()))


@_twin("/search/why/{found}", "explain_by_words")
async def words_why(
    request: Request, site: Here, found: Found, choice: Chosen, q: Asked, graphs: Graphs = True, parts: Parts = None
) -> Response:
    """What the fusion graphs of words and of an item have in common."""
    return await _explained(request, site, _words(q), found, choice, graphs=graphs, parts=parts)


@_twin("/search", "search_by_words")
async def words(request: Request, site: Here, choice: Chosen, q: Asked) -> Response:
    """What fits words from outside the collection."""
    return await _searched(request, site, _words(q), choice)


@router.post(
    "/picture.json", status_code=201, operation_id="send_picture", responses=UPLOAD_ERRORS, openapi_extra=UPLOAD
)
@router.post("/picture", include_in_schema=False)
async def send_picture(request: Request, site: Here) -> Response:
    """Take a picture to search by; the answer says where its results are."""
    if "images" not in site.library.takes:
        raise InputError("This collection has no ranker that takes pictures.")
    try:
        with site.uploading():
            content = await _content(request, site)
            digest = await site.work(lambda: site.uploads.add(content))
    except ClientDisconnect:
        return Response(status_code=400)  # that nobody gets
    except ImageError as error:
        raise RefusedError(413 if "too large" in str(error) else 415, str(error)) from None
    address = f"/picture/{digest}"
    if _is_twin(request):
        return as_json({"ok": True, "picture": digest, "address": address}, 201, {"Location": address})
    return RedirectResponse(address, 303)


async def _content(request: Request, site: Site) -> bytes:
    """Return the bytes of the picture in a request: its body, or a file of a form; all in memory."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind.startswith("image/") or kind == "application/octet-stream":
        return await request.body()
    if kind != "multipart/form-data":
        raise RefusedError(415, f"Send a picture (image/...), or a form with a file; got {kind or 'no type'!r}.")
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=10)
    parser.spool_max_size = site.limits.body_bytes + 1
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError, UnicodeError) as error:
        raise RefusedError(400, f"The form can't be read: {getattr(error, 'message', error)}") from None
    try:
        picture = form.get("picture")
        if not isinstance(picture, UploadFile):
            raise RefusedError(422, "picture: The form has no file of that name.")
        return await picture.read()
    finally:
        await form.close()


@router.get("/picture/{digest}.image", operation_id="sent_picture", responses=PICTURES, response_class=Response)
async def sent_picture(site: Here, digest: Digest) -> Response:
    """A picture that was sent."""
    found = site.sent(digest)
    return Response(found[1][0], media_type=found[1][1], headers={"Cache-Control": "private, max-age=3600"})


@_twin("/picture/{digest}", "search_by_picture")
async def picture(request: Request, site: Here, digest: Digest, choice: Chosen) -> Response:
    """What is like a picture that was sent."""
    return await _searched(request, site, site.sent(digest)[0], choice)


@_twin("/picture/{digest}/why/{found}", "explain_by_picture")
async def picture_why(
    request: Request,
    site: Here,
    digest: Digest,
    found: Found,
    choice: Chosen,
    graphs: Graphs = True,
    parts: Parts = None,
) -> Response:
    """What graphs of a picture and an item have in common."""
    return await _explained(request, site, site.sent(digest)[0], found, choice, graphs=graphs, parts=parts)


@router.get("/image/{number}", operation_id="image", responses=PICTURES, response_class=Response)
async def image(
    site: Here, number: Number, v: Annotated[str | None, Query(max_length=40, description="Of the collection.")] = None
) -> Response:
    """The picture of an item, reduced."""
    site.item(number)
    if not site.gallery:
        raise RefusedError(404, "The items of this collection have no pictures.")
    try:
        content, kind = await site.work(lambda: site.gallery.file(number))
    except ImageError as error:
        log.warning("The picture of item %d: %s", number, error)  # where it is on disk is nothing for clients
        raise RefusedError(404, f"The picture of item {number} can't be read any more.") from None
    caching = FOREVER if v == site.library.version else "no-cache"
    return Response(content, media_type=kind, headers={"Cache-Control": caching})


@router.get("/static/{name}", include_in_schema=False)
async def static(site: Here, name: str) -> Response:
    """Send a file of the pages."""
    if name not in site.pages.files:
        raise RefusedError(404, "There is no such file.")
    content, kind = site.pages.files[name]
    return Response(content, media_type=kind, headers={"Cache-Control": FOREVER})


@router.get("/api", include_in_schema=False)
async def api(request: Request, site: Here) -> Response:
    """Describe the JSON twins."""
    described = [
        {"method": method.upper(), "path": path, **about}
        for path, methods in request.app.openapi()["paths"].items()
        for method, about in methods.items()
    ]
    values = {**site.views.about(), "address": "/api", "operations": described, "limits": site.limits}
    return as_page(site.pages.render("api.html", data=values, standard=site.library.standard))


@router.get("/health", operation_id="health")
async def health(site: Here) -> Response:
    """Whether the server is up, and what it serves."""
    return as_json({"ok": True, "version": __version__, **site.views.about()})
