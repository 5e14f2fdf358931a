"""A searcher as tools of the Model Context Protocol: a model searches, reads and explains its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from rankloom.errors import RankloomError
from rankloom.io.version import __version__
from rankloom.searcher import Answer
from rankloom.searcher.answer import cut
from rankloom.searcher.read_only import ReadOnlySearcher
from rankloom.searcher.store import Document, read_document
from rankloom.web.access import Access
from rankloom.web.limits import Limits
from rankloom.web.middleware import SecurityMiddleware

MAX_RESULTS = 100
MAX_SNIPPET = 500  # characters of a document among results
MAX_TEXT = 20_000  # characters of a field of a document
MAX_REASONS = 10
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Id = Annotated[str, Field(description="The id of a document, as search returns it.")]
K = Annotated[int, Field(ge=1, le=MAX_RESULTS, description="How many documents to return.")]
Where = Annotated[
    dict[str, Any] | None,
    Field(
        description='Only documents whose fields satisfy this: {"lang": "en"}, {"year": {"gte": 1990, "lt": 2000}}, '
        '{"tags": {"in": ["a", "b"]}}, {"year": {"exists": true}}, {"not": {...}}, {"or": [{...}, {...}]}; several '
        "fields must all hold."
    ),
]


class Found(BaseModel):
    """A document among the results of a search."""

    position: int
    id: str
    score: float
    found_by: dict[str, int]
    text: str


class Reason(BaseModel):
    """A part of a score."""

    reason: str
    share: float


class Why(BaseModel):
    """Where the score of a document comes from."""

    score: float
    reasons: list[Reason]


class Tools:
    """What a model can do with a searcher; a failure is an error that it can read."""

    def __init__(self, searcher: ReadOnlySearcher) -> None:
        self._searcher = searcher

    def search(
        self,
        query: Annotated[str, Field(description="A question or keywords; whole sentences work as well as words.")],
        k: K = 10,
        where: Where = None,
        group_by: Annotated[
            str | None, Field(description="A field: only the best document of each value, as one passage of each book.")
        ] = None,
    ) -> list[Found]:
        """Search the documents by text, best first.

        Keywords and meaning count, as far as the searcher has rankers for both. Each result has the id of the document,
        the beginning of its text, and its position in the list of each ranker that found it. If nothing fits, try other
        words or fewer conditions.
        """
        with readable_errors():
            return _found(self._searcher.search(query, k=k, where=where, group_by=group_by))

    def more_like_this(self, id: Id, k: K = 10, where: Where = None) -> list[Found]:
        """Find the documents most like one of them, best first, without that document itself."""
        with readable_errors():
            found = _found(self._searcher.search(item=id, k=k + 1, where=where))
            others = [one for one in found if one.id != id][:k]
            return [one.model_copy(update={"position": position}) for position, one in enumerate(others, 1)]

    def explain(
        self, query: Annotated[str, Field(description="The query of a search, unchanged.")], id: Id, where: Where = None
    ) -> Why:
        """Explain why a search returned a document: which rankers and which similar documents its score comes from."""
        with readable_errors():
            why = self._searcher.search(query, k=1, where=where).explain(id)
            total = sum(part.contribution for part in why.parts) or 1.0
            parts = why.parts[:MAX_REASONS]
            reasons = [Reason(reason=part.label, share=round(part.contribution / total, 4)) for part in parts]
            return Why(score=why.similarity, reasons=reasons)

    def get_document(self, id: Id) -> dict[str, Any]:
        """Return a document with all its fields; very long texts are cut."""
        with readable_errors():
            document: Document = read_document(self._searcher.state.store, id)
            return {name: cut(value, MAX_TEXT) if isinstance(value, str) else value for name, value in document.items()}


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn our errors into errors of a tool, which a model can read."""
    try:
        yield
    except RankloomError as error:
        raise ToolError(str(error)) from None


def _found(answer: Answer) -> list[Found]:
    return [
        Found(
            position=hit.position,
            id=hit.id,
            score=hit.score,
            found_by={name: position for name, position in hit.ranks.items() if position is not None},
            text=answer.snippet(hit, MAX_SNIPPET),
        )
        for hit in answer
    ]


def make_server(searcher: ReadOnlySearcher, name: str) -> MCPServer:
    """Return the server of a searcher, with its tools; instructions name its folder to a model."""
    fields = ", ".join(f"{name} ({type})" for name, type in searcher.field_types.items())
    server = MCPServer(
        "rankloom",
        version=__version__,
        instructions=f"Search the {len(searcher)} documents of {name}. Conditions (where) may use these fields: "
        f"{fields or 'none'}.",
    )
    tools = Tools(searcher)
    functions: tuple[Callable[..., Any], ...] = (tools.search, tools.more_like_this, tools.explain, tools.get_document)
    for function in functions:
        server.add_tool(function, annotations=READS)
    return server


def make_http_app(server: MCPServer, limits: Limits, access: Access) -> SecurityMiddleware:
    """Return the ASGI application of a server, at the path /mcp, behind the checks that the page has."""
    app = server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=limits.body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the middleware's job
    )
    return SecurityMiddleware(app, limits, access)
