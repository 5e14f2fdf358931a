"""`POST /search`: searches as JSON, one or many in a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from rankloom.aggregate import METHODS
from rankloom.errors import UnknownNameError, brief
from rankloom.io.text_file import parse_json
from rankloom.ranks.arrays import Array
from rankloom.registry import Call, file_options
from rankloom.searcher import Answer, Hit
from rankloom.searcher.request import AUTO
from rankloom.web.json_schema import Schema, check
from rankloom.web.limits import Limits, RefusedError
from rankloom.web.openapi import DEFAULT_K, body_schema
from rankloom.web.queries import Values, is_slow
from rankloom.web.site import Site, as_json
from rankloom.web.views import Views

MAX_PARTS = 20  # of the explanation of a hit
MAX_EXPLAINED = 100  # hits of a request
MAX_BATCH_RESULTS = 10_000  # hits of a request, counting those that an offset skips
MAX_GROUPED = 1000  # hits of a query in groups
MAX_OPTION = 1000  # whole numbers in the options of a method: they may be rounds or sizes
MAX_CUTOFF = 100  # of a method: indexes grow with it
MAX_QUICK = 20  # queries or explained hits of a request that does not wait in the lane of slow ones
SMALL_BODY = 16_384  # bytes; larger ones are parsed on a thread
#: How a query can be given; vectors may also come with a text or texts.
QUERIES = ("query", "queries", "item", "items")
#: With the lists of other engines.
GIVEN = ("complete", "neighbors", "allowed")
#: What `Searcher.search` takes as it is given.
OPTIONS = ("rankers", "weights", "where", "group_by", "facets", "fields", "exact", *GIVEN)


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A checked request."""

    arguments: Values  #: of `Searcher.search`
    fields: Sequence[str] = ()  #: of the documents to return
    explain: bool = False
    highlight: bool = False

    @property
    def is_slow(self) -> bool:
        """Whether it takes much longer than a search for one query."""
        n = _n_queries(self.arguments) * (self.arguments["k"] if self.explain else 1)
        return n > MAX_QUICK or is_slow(self.arguments["method"])


def search_route(site: Site) -> Route:
    """Return the route, a plain one: FastAPI's own handling of a body takes longer than the search."""
    schema = body_schema(site.limits)

    async def search(request: Request) -> Response:
        if request.scope["query_string"]:
            raise UnknownNameError("query parameter", next(iter(request.query_params), "")[:100], ())
        try:
            content = await _content(request, site.limits.json_bytes)
        except ClientDisconnect:
            return Response(status_code=400)  # which the client does not receive
        if len(content) <= SMALL_BODY:
            parsed = parse(content, schema, site.limits)
        else:
            parsed = await site.run(lambda: parse(content, schema, site.limits))
        views = site.views

        def answer() -> Response:
            values = respond(views, parsed)
            for one in values.get("answers", [values]):
                site.metrics.count_search(one["method"])
            return as_json(values)

        return await site.search(answer, views, slow=parsed.is_slow)

    return Route("/search", search, methods=["POST"])


async def _content(request: Request, max_bytes: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        chunks.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            raise RefusedError(413, f"The body of a search may have {max_bytes} bytes at most.")
    return b"".join(chunks)


def parse(content: bytes, schema: Schema, limits: Limits) -> Search:
    """Return the search that a body asks for.

    Examples
    --------
    >>> limits = Limits()
    >>> parse(b'{"query": "cat", "k": 3}', body_schema(limits), limits).arguments
    {'query': 'cat', 'k': 3, 'offset': 0, 'method': 'auto'}
    """
    body = _json(content)
    vectors, lists = body.pop("vectors", None), body.pop("lists", None)
    check(body, schema, "body")
    arguments: Values = {**_query(body, vectors, lists), "k": body.get("k", DEFAULT_K), "offset": body.get("offset", 0)}
    arguments["method"] = _method(body.get("method", AUTO))
    arguments |= {name: body[name] for name in OPTIONS if name in body}
    _check_size(arguments, body.get("explain", False), limits)
    return Search(arguments, body.get("fields", ()), body.get("explain", False), body.get("highlight", False))


def _json(content: bytes) -> Values:
    try:
        body = parse_json(content, parse_constant=_refuse_constant)
    except ValueError as error:  # UnicodeDecodeError and InputError are, too
        raise RefusedError(400, f"The body must be JSON: {str(error)[:200].removesuffix('.')}.") from None
    if not isinstance(body, dict):
        raise RefusedError(422, f"The body must be a JSON object; got {brief(body)[:100]}.")
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _query(body: Values, vectors: object, lists: object) -> Values:
    """Return the query as `Searcher.search` takes it."""
    names = [name for name in QUERIES if name in body]
    if len(names) > 1 or (vectors is not None and names and names[0].startswith("item")):
        raise RefusedError(422, "Give one of query, queries, item and items; vectors alone, or with query or queries.")
    if not names and vectors is None and lists is None:
        raise RefusedError(422, f"Give something to search for: {', '.join(QUERIES)}, vectors or lists.")
    if lists is not None and not isinstance(lists, dict):
        raise RefusedError(422, f"lists: must be an object of lists by ranker; got {brief(lists)[:100]}.")
    if lists is not None and (names not in ([], ["query"]) or vectors is not None):
        raise RefusedError(422, "lists: are of one query; give them alone, or with query.")
    query: Values = {} if lists is None else {"lists": lists}
    for name in names:
        query["item" if name.startswith("item") else "query"] = _encodable(name, body[name])
    if vectors is None:
        return query
    if not isinstance(vectors, dict) or not vectors:
        raise RefusedError(422, f"vectors: must be an object of vectors by ranker; got {brief(vectors)[:100]}.")
    return {**query, "vectors": {name: _array(name, value) for name, value in vectors.items()}}


def _encodable(name: str, value: str | list[str]) -> str | list[str]:
    """Return texts; raise for a lone surrogate."""
    try:
        "".join(value).encode()
    except UnicodeEncodeError:
        raise RefusedError(422, f"{name}: must be text; got a surrogate without its pair.") from None
    return value


def _array(name: str, value: object) -> Array:
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.dtype.kind not in "iuf" or array.ndim not in (1, 2) or not array.size or not np.isfinite(array).all():
        raise RefusedError(422, f"vectors: {name[:100]} must be a list of numbers, or such lists of equal length.")
    return array


def _method(spelled: str) -> str | Call:
    """Return a method whose options are harmless: no paths, and no huge numbers. The search checks the rest."""
    if spelled == AUTO:
        return AUTO
    call = Call.parse(spelled)
    files = file_options(METHODS[call.name])
    for name, value in call.options:
        limit = MAX_CUTOFF if name == "cutoff" else MAX_OPTION
        if name in files or (isinstance(value, int) and abs(value) > limit):
            raise RefusedError(422, f"method: {name} must be a number up to {limit}; got {brief(value)[:100]}.")
    return call


def _check_size(arguments: Values, explain: bool, limits: Limits) -> None:
    k, deepest = arguments["k"], arguments["k"] + arguments["offset"]
    if deepest > limits.results:
        raise RefusedError(422, f"k + offset: must be at most {limits.results}; got {deepest}.")
    if "group_by" in arguments:
        deepest = MAX_GROUPED  # all that is found is returned, in groups
    n = _n_queries(arguments)
    if n > limits.batch:
        raise RefusedError(422, f"vectors: must be of at most {limits.batch} queries; got {n}.")
    if n * deepest > MAX_BATCH_RESULTS or (explain and n * k > MAX_EXPLAINED):
        limit = MAX_EXPLAINED if explain else MAX_BATCH_RESULTS
        raise RefusedError(422, f"A request may ask for {limit} hits in all{' to explain' if explain else ''}.")


def _n_queries(arguments: Values) -> int:
    query = arguments.get("item", arguments.get("query"))
    if "lists" in arguments:
        return 1
    if query is None:
        vectors = next(iter(arguments["vectors"].values()))
        return len(vectors) if vectors.ndim == 2 else 1
    return len(query) if isinstance(query, list) else 1


def respond(views: Views, search: Search) -> Values:
    """Return the answer to a search, or the answers to a batch."""
    item = search.arguments.get("item", ())
    for id in [item] if isinstance(item, str) else item:
        if id not in views.searcher:
            raise RefusedError(404, f"There is no document with the id {id[:200]!r}.")
    found: Answer | list[Answer] = views.searcher.search(**search.arguments)
    if isinstance(found, Answer):
        return {"ok": True, **_answer(views, search, found)}
    return {"ok": True, "answers": [_answer(views, search, answer) for answer in found]}


def _answer(views: Views, search: Search, answer: Answer) -> Values:
    values: Values = {"method": answer.method, "hits": [_hit(views, search, answer, hit) for hit in answer]}
    if answer.facets:
        shown = {
            field: [{"value": value, "count": count} for value, count in counts.items()]
            for field, counts in answer.facets.items()
        }
        values |= {"facets": shown, "facets_of": answer.facets.of}
    return values


def _hit(views: Views, search: Search, answer: Answer, hit: Hit) -> Values:
    values: Values = {"id": hit.id, "score": hit.score, "position": hit.position}
    if search.fields:
        values["document"] = {} if hit.number is None else views.document(hit.number, search.fields)
    if search.highlight:
        text, marks = answer.highlight(hit)
        values["highlight"] = {"text": text, "marks": marks}
    if search.explain:
        values["ranks"] = dict(hit.ranks)
        parts = answer.explain(hit.id).parts[:MAX_PARTS]
        values["parts"] = [{name: getattr(part, name) for name in ("kind", "label", "contribution")} for part in parts]
    if "group_by" in search.arguments:
        inside = replace(search, explain=False, arguments={})
        values["group"] = [_hit(views, inside, answer, other) for other in hit.group]
    return values
