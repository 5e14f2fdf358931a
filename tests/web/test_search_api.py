"""`POST /search` and `GET /documents`: what Searcher answers, as JSON."""

import json

import numpy as np
import pytest
from sample_texts import documents, encode
from starlette.testclient import TestClient
from test_app import error_of

import rankloom as rl
from rankloom.searcher.where import OPERATORS
from rankloom.web import Limits, make_app


@pytest.fixture(scope="module")
def texts():
    return rl.Searcher.build(documents(60), {"bm25": "okapi", "dense": encode}, cutoff=10)


@pytest.fixture(scope="module")
def api(texts):
    limits = Limits(json_bytes=20_000, batch=20, results=50)
    with TestClient(make_app(texts, limits=limits), base_url="http://localhost") as client:
        yield client


def post(client, **body):
    return client.post("/search", json=body)


def found(client, **body):
    response = post(client, **body)
    assert response.status_code == 200, response.text
    data = response.json()
    assert data.pop("ok") is True
    return data


def pairs(answer):
    return [(hit.id, hit.score, hit.position) for hit in answer]


def json_pairs(data):
    return [(hit["id"], hit["score"], hit["position"]) for hit in data["hits"]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3},
        {"k": 5, "offset": 7},
        {"method": "rrf"},
        {"method": "rrf(constant=20)", "rankers": ["bm25"]},
        {"method": "vote(neighbors_weight=0.5)"},
        {"method": "combsum", "weights": {"bm25": 2.0}},
        {"where": {"topic": "heat"}},
        {"where": {"year": [2001, 2002], "topic": ["wing", "heart"]}, "k": 50},
        {"where": {"not": {"topic": "heat"}, "or": [{"year": {"gte": 2002}}, {"topic": {"exists": False}}]}},
    ],
    ids=str,
)
def test_answer_is_that_of_the_searcher(api, texts, options):
    data = found(api, query="heat transfer in a wing", **options)
    answer = texts.search("heat transfer in a wing", **options)
    assert json_pairs(data) == pairs(answer)
    assert data["method"] == answer.method


def test_filtered_hits_satisfy_the_filter(api):
    data = found(api, query="heat wing", where={"topic": ["heart", "chess"]}, fields=["topic"], k=50)
    assert {hit["document"]["topic"] for hit in data["hits"]} == {"heart", "chess"}


def test_batch_equals_single(api):
    queries = ["heat transfer", "king and queen", "blood", "nothing of this is known"]
    batch = found(api, queries=queries, k=7)
    assert batch["answers"] == [found(api, query=one, k=7) for one in queries]
    items = ["d3", "d5", "d3"]
    assert found(api, items=items)["answers"] == [found(api, item=one) for one in items]


def test_item_is_the_first_hit_of_its_own_search(api, texts):
    data = found(api, item="d7", k=4)
    assert json_pairs(data) == pairs(texts.search(item="d7", k=4))
    assert data["hits"][0]["id"] == "d7"


def test_vectors_replace_or_accompany_a_text(api, texts):
    vector = encode(["heat conduction"])[0]
    alone = found(api, vectors={"dense": vector.tolist()}, rankers=["dense"])
    assert json_pairs(alone) == pairs(texts.search(vectors={"dense": vector}, rankers=["dense"]))
    both = found(api, query="heat conduction", vectors={"dense": vector.tolist()})
    assert json_pairs(both) == json_pairs(found(api, query="heat conduction"))
    matrix = np.stack([vector, vector[::-1]])
    batch = found(api, vectors={"dense": matrix.tolist()}, rankers=["dense"])["answers"]
    assert batch[0] == alone
    assert len(batch) == 2


def test_hits_are_lean_unless_more_is_asked_for(api, texts):
    lean = found(api, query="heat", k=2)["hits"]
    assert [hit.keys() for hit in lean] == [{"id", "score", "position"}] * 2
    full = found(api, query="heat", k=2, fields=["title", "year"])["hits"]
    for hit in full:
        known = texts.document(hit["id"])
        assert hit["document"] == {"title": known["title"], "year": known["year"]}


def test_explained_hits_have_positions_and_parts(api, texts):
    hits = found(api, query="heat transfer", k=3, explain=True)["hits"]
    answer = texts.search("heat transfer", k=3)
    for hit, expected in zip(hits, answer, strict=True):
        assert hit["ranks"] == expected.ranks
        parts = answer.explain(expected.id).parts
        assert [one["contribution"] for one in hit["parts"]] == [one.contribution for one in parts[:20]]
        assert hit["parts"][0].keys() == {"kind", "label", "contribution"}
    assert "no explanation" in error_of(post(api, query="heat", method="rrf", explain=True), 400)


def test_groups_facets_and_highlights_are_those_of_the_searcher(api, texts):
    options = {"k": 3, "group_by": "topic", "facets": ["year", "topic"], "where": {"year": {"gte": 2001}}}
    data = found(api, query="heat transfer", highlight=True, fields=["topic"], **options)
    answer = texts.search("heat transfer", **options)
    assert [[hit["id"], *(one["id"] for one in hit["group"])] for hit in data["hits"]] == [
        [hit.id, *(one.id for one in hit.group)] for hit in answer
    ]
    assert {one["document"]["topic"] for one in data["hits"][0]["group"]} == {answer[0].document["topic"]}
    assert data["facets_of"] == answer.facets.of
    assert {
        field: {one["value"]: one["count"] for one in counts} for field, counts in data["facets"].items()
    } == answer.facets
    for hit, expected in zip(data["hits"], answer, strict=True):
        text, marks = answer.highlight(expected)
        assert hit["highlight"] == {"text": text, "marks": [list(mark) for mark in marks]}
    assert "Unknown field 'absent'" in error_of(post(api, query="heat", fields=["absent"]), 400)


def test_pages_end_where_the_lists_do(texts):
    with TestClient(make_app(texts), base_url="http://localhost") as client:
        assert "Pages end at hit 300" in error_of(post(client, query="heat", k=10, offset=295), 400)


def test_document_is_returned_with_all_its_fields(api, texts):
    response = api.get("/documents/d7").json()
    assert response == {"ok": True, "number": 7, "document": texts.document("d7")}
    assert "There is no document with the id 'd999'" in error_of(api.get("/documents/d999"), 404)


def test_documents_may_have_ids_with_slashes_and_signs(client, searcher):
    from urllib.parse import quote

    item = searcher.documents.ids[5]
    assert "/" in item
    assert client.get(f"/documents/{quote(item)}").json()["document"]["id"] == item
    assert client.get(f"/documents/{quote(item, safe='')}").json()["number"] == 5


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 422, "Give something to search for"),
        ({"query": "a", "item": "d1"}, 422, "Give one of query, queries, item and items"),
        ({"query": "a", "queries": ["b"]}, 422, "Give one of"),
        ({"item": "d1", "vectors": {"dense": [1]}}, 422, "vectors alone, or with query"),
        ({"quer": "a"}, 422, "Unknown key 'quer'; choose from allowed, complete, exact, explain"),
        ({"query": "a", "n": 3}, 422, "Unknown key 'n'"),
        ({"query": 3}, 422, "query: must be text; got 3"),
        ({"query": ""}, 422, "query: must have 1 to"),
        ({"query": "a" * 10_001}, 422, "query: must have 1 to"),
        ({"query": "\ud800"}, 422, "query: must be text; got a surrogate"),
        ({"queries": "ab"}, 422, "queries: must be a list"),
        ({"queries": []}, 422, "queries: must have 1 to 20 entries"),
        ({"queries": ["a"] * 21}, 422, "queries: must have 1 to 20 entries; got 21"),
        ({"query": "a", "k": 0}, 422, "k: must be at least 1"),
        ({"query": "a", "k": 51}, 422, "k: must be at most 50"),
        ({"query": "a", "k": 1.5}, 422, "k: must be a whole number"),
        ({"query": "a", "k": True}, 422, "k: must be a whole number"),
        ({"query": "a", "k": 26, "offset": 25}, 422, "k + offset: must be at most 50; got 51"),
        ({"query": "a", "k": 101, "explain": True}, 422, "k: must be at most 50"),
        ({"queries": ["a"] * 20, "k": 6, "explain": True}, 422, "100 hits in all to explain"),
        ({"query": "a", "method": "rff"}, 400, "Unknown method 'rff'"),
        ({"query": "a", "method": "rrf("}, 400, "Write a name"),
        ({"query": "a", "method": "rrf(const=2)"}, 400, "has no option 'const'"),
        ({"query": "a", "method": "weft(cutoff=5000)"}, 422, "cutoff must be a number up to 100"),
        ({"query": "a", "method": "rkgraph"}, 400, "does not answer external queries"),
        ({"query": "a", "rankers": ["bm26"]}, 400, "Unknown ranker 'bm26'"),
        ({"query": "a", "rankers": []}, 422, "rankers: must have 1 to"),
        ({"query": "a", "weights": {"bm26": 1}, "method": "combsum"}, 400, "Unknown ranker 'bm26'"),
        ({"query": "a", "weights": [1, 2]}, 422, "weights: must be an object"),
        ({"query": "a", "where": "topic"}, 422, "where: must be an object"),
        ({"query": "a", "where": {"topic": {"x": 1}}}, 400, "Unknown operator of where 'x'"),
        ({"query": "a", "where": {"topic": None}}, 400, "The field 'topic' in where needs a text"),
        ({"query": "a", "where": {"year": "2001"}}, 400, "The field 'year' is a number; got '2001' (text)"),
        ({"query": "a", "where": {"nothing": 1}}, 400, "Unknown field 'nothing'; choose from"),
        ({"query": "a", "fields": "title"}, 422, "fields: must be a list"),
        ({"query": "a", "explain": 1}, 422, "explain: must be true or false"),
        ({"item": "d999"}, 404, "There is no document with the id 'd999'"),
        ({"items": ["d1", "d999"]}, 404, "There is no document with the id 'd999'"),
        ({"vectors": {}}, 422, "vectors: must be an object"),
        ({"vectors": {"dense": [[1, 2], [3]]}}, 422, "vectors: dense must be"),
        ({"vectors": {"dense": ["a"]}}, 422, "vectors: dense must be"),
        ({"vectors": {"dense": [1, 2]}, "rankers": ["dense"]}, 400, "32"),
        ({"vectors": {"bm25": [1, 2]}}, 400, "does not compare vectors"),
        ({"vectors": {"dens": [1, 2]}}, 400, "Unknown ranker 'dens'"),
        ({"queries": ["a", "b"], "vectors": {"dense": [[1] * 32]}}, 400, "same number"),
    ],
    ids=str,
)
def test_invalid_bodies_are_refused(api, body, status, message):
    content = json.dumps(body)
    assert message in error_of(api.post("/search", content=content), status)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 422),
        (b"null", 422),
        (b"\xff\xfe", 400),
        (b'{"query": "a", "k": NaN}', 400),
        (b'{"query": "a", "weights": {"bm25": 1e999}}', 200),
        (b"[" * 10_000, 400),
        (b"[" * 900 + b"]" * 900, 422),
        (b'{"query": ' + b"[" * 900 + b"]" * 900 + b"}", 422),
        (b'{"query": "a", "where": {"year": ' + b"[" * 900 + b"]" * 900 + b"}}", 400),
        (b'{"query": "a", "where": ' + b'{"not": ' * 300 + b"{}" + b"}" * 301, 400),
        (b'{"vectors": {"dense": ' + b"[" * 900 + b"]" * 900 + b"}}", 422),
        (b'{"query": "a", "k": ' + b"9" * 400 + b"}", 400),
        (b'{"query": "a", "where": {"year": ' + b"9" * 400 + b"}}", 400),
        (b'{"query": "a", "method": "combsum", "weights": {"bm25": ' + b"9" * 400 + b"}}", 400),
        (b'{"query": "a", "method": "combsum", "weights": {"bm25": 1e999}}', 400),
        (b'{"vectors": {"dense": [' + b"9" * 400 + b"]}}", 400),
        (b'{"query": "a", "query": "b"}', 400),
        (b'{"query": "a", "where": {"topic": "heat", "topic": "wing"}}', 400),
        (b'{"query": "' + b"a" * 20_000 + b'"}', 413),
        (b'{"k": ' + b"9" * 5_000 + b"}", 400),
    ],
    ids=lambda value: str(value[:40]) if isinstance(value, bytes) else "",
)
def test_bodies_that_are_not_the_json_of_a_search_are_refused(api, content, status):
    response = api.post("/search", content=content)
    if status == 200:
        assert response.status_code in (200, 400)
    else:
        error_of(response, status)


def test_query_parameters_are_refused(api):
    assert "Unknown query parameter 'k'" in error_of(api.post("/search?k=3", json={"query": "a"}), 400)


def test_get_is_the_page_and_other_methods_are_refused(api):
    assert api.get("/search?q=heat").headers["content-type"].startswith("text/html")
    error_of(api.put("/search", json={"query": "a"}), 405)


def test_updates_of_the_searcher_take_effect_at_once():
    searcher = rl.Searcher.build(documents(20), ["okapi"])
    with TestClient(make_app(searcher), base_url="http://localhost") as client:
        assert client.get("/items.json").json()["n_items"] == 20
        searcher.add([{"id": "new", "title": "slab", "text": "slab slab slab"}])
        assert client.get("/items.json").json()["n_items"] == 21
        assert found(client, query="slab", k=1)["hits"][0]["id"] == "new"
        searcher.delete(["new"])
        assert "new" not in [hit["id"] for hit in found(client, query="slab", k=20)["hits"]]
        error_of(client.get("/documents/new"), 404)


def test_too_many_searches_get_503_with_retry_after(texts):
    with TestClient(make_app(texts, limits=Limits(searches=0)), base_url="http://localhost") as client:
        response = post(client, query="heat")
        assert "Too many searches" in error_of(response, 503)
        assert response.headers["retry-after"] == "1"


def test_schema_has_the_language_of_where(api, texts):
    where = api.get("/openapi.json").json()["components"]["schemas"]["Where"]
    operators = where["additionalProperties"]["anyOf"][-1]
    assert set(operators["properties"]) == set(OPERATORS)
    assert set(where["properties"]) == {"not", "or"}
    assert api.get("/version").json()["fields"] == texts.field_types


def test_schema_describes_every_key(api):
    operation = api.get("/openapi.json").json()["paths"]["/search"]["post"]
    properties = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert all(one["description"] for one in properties.values())
    page = api.get("/api").text
    assert all(f"<code>{name}</code>" in page for name in properties)


def test_given_lists_are_fused_as_the_searcher_does(api, texts):
    lists = {"bm25": [["d3", 4.5], ["new", 4.0], ["d5", 1.0]], "dense": ["d5", "d9"]}
    for options in ({}, {"neighbors": "all"}, {"allowed": ["d3", "new"]}, {"complete": ["bm25"]}):
        answer = texts.search("heat", k=5, lists=lists, **options)
        data = found(api, query="heat", k=5, lists=lists, explain=True, fields=["title"], **options)
        assert [(hit["id"], hit["score"]) for hit in data["hits"]] == [(hit.id, hit.score) for hit in answer]
    hidden = next(hit for hit in found(api, lists=lists, fields=["title"])["hits"] if hit["id"] == "new")
    assert hidden["document"] == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"lists": ["d1"]}, "an object"),
        ({"lists": {"sound": ["d1"]}}, "sound"),
        ({"lists": {"bm25": [["d1"]]}}, "pairs"),
        ({"lists": {"bm25": ["d1"]}, "item": "d1"}, "one query"),
        ({"query": "heat", "neighbors": "all"}, "give lists"),
        ({"lists": {"bm25": ["d1"]}, "neighbors": "some"}, "listed"),
    ],
)
def test_wrong_lists_are_refused(api, body, message):
    response = post(api, **body)
    assert 400 <= response.status_code < 500
    assert message in response.json()["error"]
