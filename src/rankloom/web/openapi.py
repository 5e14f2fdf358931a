"""The OpenAPI schema: what FastAPI cannot know of the routes, and the body of `POST /search`."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from rankloom.searcher.request import AUTO
from rankloom.searcher.where import RANGES
from rankloom.web.json_schema import Schema
from rankloom.web.limits import Limits

if TYPE_CHECKING:
    from rankloom.web.site import Site
    from rankloom.web.views import Views

DEFAULT_K = 10
MAX_TEXT = 10_000  # characters of a query
MAX_ALLOWED = 100_000  # ids that a request with lists names
MAX_NAME = 1000  # characters of an id, a field or a method
Responses = dict[int | str, dict[str, Any]]
ERROR: Schema = {
    "type": "object",
    "required": ["ok", "error", "status"],
    "properties": {"ok": {"const": False}, "error": {"type": "string"}, "status": {"type": "integer"}}
    | {"request_id": {"type": "string"}},
}


def _error(description: str) -> Schema:
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


ERRORS: Responses = {
    400: _error("Invalid request, or an unknown or repeated query parameter."),
    401: _error("No key, or a wrong one."),
    404: _error("Not found."),
    422: _error("Invalid value of a parameter."),
    503: _error("Too many requests at the moment, or the search takes too long; try again."),
}
IMAGES: Responses = {**ERRORS, 200: {"content": {"image/jpeg": {}, "image/png": {}}}}
UPLOAD_ERRORS: Responses = {
    **ERRORS,
    403: _error("Sent from a page of another site."),
    408: _error("Received too slowly."),
    413: _error("Too many bytes or pixels."),
    415: _error("Neither an image nor a form."),
}
SEARCH_ERRORS: Responses = {
    **ERRORS,
    403: UPLOAD_ERRORS[403],
    408: UPLOAD_ERRORS[408],
    413: _error("Too many bytes."),
}
FILE: Schema = {"type": "string", "format": "binary"}
FORM: Schema = {"type": "object", "required": ["image"], "properties": {"image": FILE}}
UPLOAD_CONTENT = {"multipart/form-data": {"schema": FORM}, "image/*": {"schema": FILE}}
UPLOAD_BODY = {"requestBody": {"required": True, "content": UPLOAD_CONTENT}}


VALUE: Schema = {"type": ["string", "number", "boolean"]}
VALUES: Schema = {"type": "array", "items": VALUE}
NESTED: Schema = {"type": "object", "$ref": "#/components/schemas/Where"}
#: The conditions of a search; `rankloom.searcher.where` checks them against the fields of the documents.
WHERE: Schema = {
    "type": "object",
    "description": "All of these must hold: conditions on fields, which GET /version lists; not; or.",
    "properties": {"not": NESTED, "or": {"type": "array", "items": NESTED}},
    "additionalProperties": {
        "description": "A value, a list of alternatives, or operators; a list in a document needs one such element.",
        "anyOf": [
            VALUE,
            VALUES,
            {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": False,
                "properties": dict.fromkeys(("eq", "ne", *RANGES), VALUE)
                | {"any": VALUES, "in": VALUES, "exists": {"type": "boolean"}},
            },
        ],
    },
}


def body_schema(limits: Limits) -> Schema:
    """Return the JSON Schema of the body."""
    text: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
    name: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
    number: Schema = {"type": "number"}
    vector: Schema = {"type": "array", "minItems": 1, "items": number}
    properties: dict[str, Schema] = {
        "query": text | {"description": "A text to search for."},
        "queries": _list(text, limits.batch, 1) | {"description": "Several texts, answered in one batch."},
        "item": name | {"description": "The id of a document to search by."},
        "items": _list(name, limits.batch, 1) | {"description": "Several ids, answered in one batch."},
        "vectors": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [vector, _list(vector, limits.batch, 1)]},
            "description": "For rankers that compare vectors, by name: a vector for each query. "
            "With query or queries, the other rankers use the text.",
        },
        **_given_lists(name),
        "k": {"type": "integer", "minimum": 1, "maximum": limits.results}
        | {"default": DEFAULT_K, "description": "Number of hits."},
        "offset": {"type": "integer", "minimum": 0, "maximum": limits.results}
        | {"default": 0, "description": "How many of the best hits to skip."},
        "method": name | {"default": AUTO, "description": "A method, with options as in vote(neighbors_weight=0.5)."},
        "rankers": _list(name, 100, 1) | {"description": "Fuse only these rankers."},
        "weights": {"type": "object", "minProperties": 1, "additionalProperties": number}
        | {"description": "How much each ranker counts, by name, where the method can honor it."},
        "where": NESTED | {"description": "Only documents that satisfy conditions on their fields."},
        "group_by": name | {"description": "Return the best hit of each value of this field, the others inside."},
        "facets": _list(name, 20) | {"description": "Count the values of these fields in all documents listed."},
        "fields": _list(name, 100) | {"description": "Fields of the documents to return; none by default."},
        "exact": {"type": "boolean", "default": False}
        | {"description": "Whether to compare the query with all vectors, however many there are."},
        "highlight": {"type": "boolean", "default": False}
        | {"description": "Whether to return the passage of each text around the query's words, which are marked."},
        "explain": {"type": "boolean", "default": False}
        | {"description": "Whether to return the position by each ranker and the parts of the score of each hit."},
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _given_lists(name: Schema) -> dict[str, Schema]:
    """Return the JSON Schema of what comes with the lists of other engines, given that of a name."""
    return {
        "lists": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "array", "items": {"anyOf": [name, {"type": "array"}]}},
            "description": "The lists of a query by other engines, to be fused: by ranker, ids or [id, score], best "
            "first.",
        },
        "complete": _list(name, 100) | {"description": "Rankers whose given lists ended because there was no more."},
        "neighbors": {"type": "string", "enum": ["listed", "all"]}
        | {"description": "With lists: whether unlisted items may be returned; by default only with where or allowed."},
        "allowed": _list(name, MAX_ALLOWED) | {"description": "With lists: the ids of the only items to return."},
    }


def _list(items: Schema, max_items: int, min_items: int = 0) -> Schema:
    return {"type": "array", "minItems": min_items, "maxItems": max_items, "items": items}


def _object(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "required": [*required], "properties": properties, "additionalProperties": False}


HITS: Schema = {"type": "array", "items": {"$ref": "#/components/schemas/Hit"}}
HIT = _object(
    "id",
    "score",
    "position",
    id={"type": "string"},
    score={"type": "number"},
    position={"type": "integer", "minimum": 1},
    document={"type": "object"},
    ranks={"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
    parts={"type": "array", "items": {"type": "object"}},
    highlight={"type": "object"},
    group=HITS,
)
OK, METHOD = {"const": True}, {"type": "string"}
COUNTS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object"}}}
ANSWER = _object(
    "method", "hits", ok=OK, method=METHOD, hits=HITS, facets=COUNTS, facets_of={"type": "integer", "minimum": 0}
)
ANSWERS = _object("ok", "answers", ok=OK, answers={"type": "array", "items": ANSWER})


def complete_schema(generated: Schema, site: Site) -> Schema:
    """Return the OpenAPI schema with what FastAPI cannot know: errors, POST /search, names of methods and rankers."""
    schema = deepcopy(generated)
    own = {"Error": ERROR, "Where": WHERE, "Hit": HIT, "Answer": ANSWER, "Answers": ANSWERS}
    schema.setdefault("components", {})["schemas"] = own
    page = schema["paths"]["/search.json"]["get"]
    schema["paths"]["/search"] = {"get": _as_page_operation(page), "post": _search_operation(site)}
    for methods in schema["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                _set_choices(parameter, site.views)
    return schema


def _as_page_operation(operation: Schema) -> Schema:
    """Return the operation of a page from that of its JSON: it shares its path with POST /search."""
    page = {"description": "A page.", "content": {"text/html": {}}}
    return {
        **deepcopy(operation),
        "summary": f"{operation['summary']} As a page.",
        "operationId": f"{operation['operationId']}_page",
        "responses": {**operation["responses"], "200": page},
    }


def _search_operation(site: Site) -> Schema:
    schema = {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Answer", "Answers")]}
    description = "The answer; to queries or items, a list of answers in the same order."
    answer = {"description": description, "content": {"application/json": {"schema": schema}}}
    return {
        "summary": "Search by text, document or vectors; one query or a batch.",
        "operationId": "search",
        "requestBody": {"required": True, "content": {"application/json": {"schema": body_schema(site.limits)}}},
        "responses": {"200": answer, **{str(status): error for status, error in SEARCH_ERRORS.items()}},
    }


def _set_choices(parameter: Schema, views: Views) -> None:
    known = {"method": views.searcher.methods(external=False), "rankers": list(views.searcher.rankers)}
    names = known.get(parameter["name"])
    if names:
        choice = {"type": "string", "enum": names}
        repeated = parameter["name"] == "rankers"
        parameter["schema"] = {"type": "array", "items": choice, "minItems": 1} if repeated else choice
