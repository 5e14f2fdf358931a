"""The official client of the protocol, over each transport."""

import json
import sys

import pytest
from mcp import Client, StdioServerParameters
from serving import BASKETS, in_a_loop, started

import rankloom as rl
from rankloom.web.mcp import MAX_SNIPPET, MAX_TEXT, make_server

COMMAND = "from rankloom.cli import main; main()"
DOCUMENTS = [
    {"id": "tomatoes", "text": "Water the tomatoes every morning, at the roots.", "year": 1990},
    {"id": "slugs", "text": "Slugs eat young tomatoes, but avoid coffee grounds.", "year": 2001},
    {"id": "compost", "text": "Turn the compost every other week. " + "Leaves and coffee grounds. " * 1000},
]


@pytest.fixture(scope="module")
def searcher():
    return rl.Searcher.build(DOCUMENTS, rankers=["bm25"])


@pytest.fixture(scope="module")
def folder(searcher, tmp_path_factory):
    path = tmp_path_factory.mktemp("mcp") / "garden.loom"
    searcher.save(path)
    return path


def called(server, *calls):
    """Return the results of tool calls: their structured content, or the message of an error."""

    async def run():
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return [_content(result) for result in in_a_loop(run())]


def _content(result):
    if result.is_error:
        return result.content[0].text
    found = result.structured_content
    return found["result"] if set(found) == {"result"} else found


def test_a_search_is_that_of_the_searcher(searcher):
    (found,) = called(make_server(searcher, "notes.loom"), ("search", {"query": "coffee against slugs", "k": 2}))
    answer = searcher.search("coffee against slugs", k=2)
    assert [(one["id"], one["position"], one["score"]) for one in found] == [
        (h.id, h.position, h.score) for h in answer
    ]
    assert [one["found_by"] for one in found] == [{"bm25": 1}, {"bm25": 2}]
    assert all(len(one["text"]) <= MAX_SNIPPET for one in found)


def test_conditions_restrict_searches_and_explanations(searcher):
    where = {"year": {"gte": 2000}}
    found, why, hidden = called(
        make_server(searcher, "notes.loom"),
        ("search", {"query": "tomatoes", "where": where}),
        ("explain", {"query": "tomatoes", "id": "slugs", "where": where}),
        ("explain", {"query": "tomatoes", "id": "tomatoes", "where": where}),
    )
    assert [one["id"] for one in found] == ["slugs"]
    assert why["score"] == pytest.approx(searcher.search("tomatoes", where=where)[0].score, rel=1e-5)
    assert sum(one["share"] for one in why["reasons"]) == pytest.approx(1, abs=1e-3)
    assert "does not satisfy where" in hidden


def test_groups_give_the_best_of_each():
    passages = [{"id": f"p{n}", "text": f"coffee {'coffee ' * n} leaves", "book": f"b{n % 2}"} for n in range(4)]
    searcher = rl.Searcher.build(passages, ["bm25"])
    (found,) = called(make_server(searcher, "notes.loom"), ("search", {"query": "coffee", "group_by": "book"}))
    assert [one["id"] for one in found] == [hit.id for hit in searcher.search("coffee", group_by="book")]
    assert len(found) == 2


def test_similar_documents_leave_out_the_document_itself(searcher):
    (found,) = called(make_server(searcher, "notes.loom"), ("more_like_this", {"id": "slugs", "k": 1}))
    expected = [hit.id for hit in searcher.search(item="slugs", k=2) if hit.id != "slugs"][:1]
    assert [one["id"] for one in found] == expected
    assert [one["position"] for one in found] == [1]


def test_a_document_has_all_its_fields_but_long_texts_are_cut(searcher):
    slugs, compost = called(
        make_server(searcher, "notes.loom"), ("get_document", {"id": "slugs"}), ("get_document", {"id": "compost"})
    )
    assert slugs == DOCUMENTS[1]
    assert MAX_TEXT - 2 < len(compost["text"]) <= MAX_TEXT
    assert compost["text"].endswith("…")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("get_document", {"id": "nettles"}, "nettles"),
        ("more_like_this", {"id": "nettles"}, "nettles"),
        ("explain", {"query": "coffee", "id": "nettles"}, "nettles"),
        ("search", {"query": "coffee", "where": {"color": "red"}}, "color"),
        ("search", {"query": "coffee", "k": 0}, "greater than or equal to 1"),
    ],
)
def test_a_failure_is_an_error_that_a_model_can_read(searcher, name, arguments, message):
    (error,) = called(make_server(searcher, "notes.loom"), (name, arguments))
    assert isinstance(error, str)
    assert message in error
    assert "Traceback" not in error


def test_tools_say_what_they_do_and_which_fields_there_are(searcher):
    async def run():
        async with Client(make_server(searcher, "notes.loom")) as client:
            return (await client.list_tools()).tools, client.instructions

    tools, instructions = in_a_loop(run())
    assert {tool.name for tool in tools} == {"search", "more_like_this", "explain", "get_document"}
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
    assert "documents of notes.loom. " in instructions
    assert "year (number)" in instructions


@pytest.mark.long
def test_the_command_answers_over_standard_input_and_output(folder, searcher):
    server = StdioServerParameters(command=sys.executable, args=["-c", COMMAND, "mcp", str(folder)])
    (found,) = called(server, ("search", {"query": "coffee"}))
    assert [one["id"] for one in found] == [hit.id for hit in searcher.search("coffee")]


@pytest.mark.long
def test_the_command_answers_over_http_behind_the_checks_of_the_page(folder, searcher):
    import httpx2

    with started(BASKETS, "mcp", str(folder), "--http", "--port", "0") as (_, url):
        (found,) = called(url, ("search", {"query": "coffee"}))
        assert [one["id"] for one in found] == [hit.id for hit in searcher.search("coffee")]
        refused = httpx2.post(url, json={}, headers={"Host": "evil.example"})
        assert (refused.status_code, json.loads(refused.text)["ok"]) == (400, False)


@pytest.mark.long
def test_http_needs_the_key(folder, monkeypatch):
    import httpx2

    monkeypatch.setenv("RANKLOOM_API_KEY", "k1")
    with started(BASKETS, "mcp", str(folder), "--http", "--port", "0") as (_, url):
        assert httpx2.post(url, json={}).status_code == 401
        assert httpx2.post(url, json={}, headers={"Authorization": "Bearer k1"}).status_code in (400, 406)
