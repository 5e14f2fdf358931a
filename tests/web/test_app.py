"""The page and the JSON API through an in-process client."""

import io
import json
import re
import struct
import zlib

import pytest
from starlette.testclient import TestClient
from web_collection import baskets, encoded, image

import rankloom as rl
from rankloom.datasets import open_collection
from rankloom.web import Limits, Tour, make_app
from rankloom.web.why import Why

HTML = {"Accept": "text/html"}
FIELD = b'--b\r\nContent-Disposition: form-data; name="image"\r\n\r\nx\r\n--b--\r\n'  # of a form, not a file


def upload(client, content, kind="image/png"):
    return client.post("/upload.json", content=content, headers={"Content-Type": kind})


def error_of(response, status):
    """Check the shape of an error and return its message."""
    assert response.status_code == status
    body = response.json()
    assert body.keys() == {"ok", "error", "status", "request_id"}
    assert body["request_id"] == response.headers["x-request-id"]
    assert body["ok"] is False
    assert body["status"] == status
    assert isinstance(body["error"], str)
    assert body["error"]
    return body["error"]


def text_of(page):
    from html import unescape

    return unescape(re.sub(r"<[^>]*>", "", page))


@pytest.mark.parametrize(
    "url", ["/items", "/items?label=red", "/item/3", "/item/3?method=rrf&k=5", "/search?q=blue+figs"]
)
def test_page_shows_the_data_of_its_json(client, url):
    path, _, parameters = url.partition("?")
    data = client.get(f"{path}.json?{parameters}").json()
    page = client.get(url).text
    shown = text_of(page)
    for one in data.get("results", data.get("items", [])):
        assert one["title"] in shown
        assert one["url"].replace("&", "&amp;") in page
        if "why" in one:
            assert one["why"].replace("&", "&amp;") in page
    for one in data.get("lists", []):
        assert one["ranker"] in shown
    assert f'data-url="{data["url"]}"'.replace("&", "&amp;") in page


def test_json_has_the_results_of_the_searcher(client, searcher):
    data = client.get("/item/3.json").json()
    answer = searcher.search(item=(own := searcher.documents.ids[3]), k=20)
    assert [(hit["id"], hit["score"]) for hit in data["results"]] == [(h.id, h.score) for h in answer if h.id != own]
    assert data["method"] == answer.method == "weft"
    assert [one["ranker"] for one in data["lists"]] == list(searcher.rankers)


def test_fusion_graphs_are_those_of_an_index(client, searcher):
    data = client.get("/item/3.json?method=fg&cutoff=4").json()
    index = rl.FusionIndex.build(searcher.state.lists, cutoff=4)
    found = index.search(items=[3], k=20)
    assert [hit["number"] for hit in data["results"]] == [n for n in found.items[0].tolist() if n not in (-1, 3)]
    assert data["results"][0]["score"] == pytest.approx(float(found.scores[0, 1]))


def test_relevance_and_measures_agree_with_evaluate(client, searcher):
    data = client.get("/item/3.json?method=rrf&k=10").json()
    labels = baskets().labels
    assert [hit["relevant"] for hit in data["results"]] == [labels[h["number"]] == labels[3] for h in data["results"]]
    fused = rl.fuse(list(searcher.state.lists.values()), method="rrf", k=11)
    expected = rl.evaluate(fused, labels=labels, measures=["ndcg@10", "p@10"], exclude_self=True, per_query=True)
    assert data["measures"] == {name: pytest.approx(values[3], abs=1e-4) for name, values in expected.items()}


def test_positions_of_a_result_agree_with_the_lists(client):
    data = client.get("/item/3.json").json()
    places = {one["ranker"]: {hit["number"]: hit["position"] for hit in one["items"]} for one in data["lists"]}
    for hit in data["results"]:
        assert hit["positions"] == {name: of.get(hit["number"]) for name, of in places.items()}


def test_an_item_is_not_among_its_own_results(client):
    data = client.get("/item/3.json?k=100").json()
    shown = [data["results"], *(one["items"] for one in data["lists"])]
    assert [sorted(hit["number"] for hit in hits) for hits in shown] == [[n for n in range(18) if n != 3]] * 5
    assert [hit["position"] for hit in data["results"]] == list(range(1, 18))
    assert len(client.get("/item/3.json?k=10").json()["results"]) == 10
    first = client.get("/item/3.json").json()["results"][0]
    assert client.get(f"{first['why']}.json").json()["positions"] == first["positions"]


def test_options_change_the_results_and_stay_in_the_links(client):
    data = client.get("/item/3.json?method=fg&rankers=bic&rankers=okapi&cutoff=3&comparator=mcs&k=4").json()
    assert data["choice"] == {"method": "fg", "cutoff": 3, "comparator": "mcs", "rankers": ["bic", "okapi"], "k": 4}
    assert data["url"] == "/item/3?method=fg&cutoff=3&comparator=mcs&rankers=bic%2Cokapi&k=4"
    assert client.get("/item/3.json?method=fg&rankers=bic,okapi&cutoff=3&comparator=mcs&k=4").json() == data
    assert len(data["results"]) == 4


def test_default_options_are_left_out_of_the_url(client):
    assert client.get("/item/3.json?method=auto&cutoff=10&k=20").json()["url"] == "/item/3"


def test_matching_words_are_marked(client):
    hit = client.get("/search.json?q=fig").json()["results"][0]
    assert [hit["text"][start:end] for start, end in hit["marks"]] == ["figs", "fig"]
    assert "<mark>figs</mark> &amp; more <mark>fig</mark>" in client.get("/search?q=fig").text


def test_contributions_add_up_and_common_parts_are_highlighted(client):
    hit = client.get("/item/3.json?method=fg&cutoff=4").json()["results"][1]
    path = hit["why"]
    data = client.get(path.replace("?", ".json?")).json()
    assert data["explanation"] is None
    assert sum(part["contribution"] for part in data["parts"]) == pytest.approx(hit["score"], abs=1e-5)
    assert {part["kind"] for part in data["parts"]} == {"vertex", "edge"}
    page = client.get(path).text
    drawings = re.findall(r'<svg class="graph".*?</svg>', page, flags=re.DOTALL)
    shared = {str(part["source"]) for part in data["parts"] if part["kind"] == "vertex"}
    for drawing, side in zip(drawings, ("query", "item"), strict=True):
        common = set(re.findall(r'<g class="vertex common" data-item="(\d+)"', drawing))
        assert common == shared
        assert drawing.count("<circle") == len(data["graphs"][side]["vertices"])


@pytest.mark.parametrize("url", ["/item/3.json", "/search.json?q=blue+figs", "/search.json?q=figs&method=weft"])
def test_parts_of_the_score_add_up_and_are_in_a_table(client, url):
    data = client.get(url).json()
    hit = data["results"][0]
    path, _, parameters = hit["why"].partition("?")
    why = client.get(f"{path}.json?graphs=false&{parameters}").json()["explanation"]
    assert why["score"] == pytest.approx(hit["score"], rel=1e-4)
    assert sum(part["contribution"] for part in why["parts"]) == pytest.approx(hit["score"], rel=1e-4)
    assert any(part["kind"] == "vote" for part in why["parts"]) == (data["method"] == "vote")
    shown = text_of(client.get(hit["why"]).text)
    assert "Parts of the score" in shown
    assert why["parts"][0]["label"] in shown


def test_a_method_without_parts_is_explained_by_the_graphs_alone(client):
    data = client.get("/item/3/why/4.json?method=rrf&graphs=false").json()
    assert data["explanation"] is None
    assert data["parts"]


def test_items_are_at_the_same_point_in_both_graphs_and_when_redrawn(client):
    def places(drawing):
        found = re.findall(r'data-item="(\d+)">.*?<circle cx="([\d.]+)" cy="([\d.]+)"', drawing, flags=re.DOTALL)
        return {item: (x, y) for item, x, y in found}

    page = client.get("/item/3/why/4").text
    first, second = map(places, re.findall(r'<svg class="graph".*?</svg>', page, flags=re.DOTALL))
    assert first.keys() & second.keys()
    assert all(first[item] == second[item] for item in first.keys() & second.keys())
    again = re.findall(
        r'<svg class="graph".*?</svg>', client.get("/item/3/why/4?comparator=mcs&k=5").text, flags=re.DOTALL
    )
    assert places(again[0]) == first


def test_image_is_uploaded_as_a_body_or_in_a_form(client):
    content = encoded(baskets().part("images")[7])
    response = upload(client, content)
    assert response.status_code == 201
    url = response.json()["url"]
    assert client.get(f"{url}.json").json()["results"][0]["label"] == baskets().labels[7]
    form = client.post("/upload", files={"image": ("a.png", content, "image/png")})
    assert form.status_code == 303
    assert form.headers["location"] == url
    page = client.get(url)
    assert page.status_code == 200
    shown = client.get(f"{url}.image")
    assert shown.headers["content-type"] == "image/png"
    why = client.get(f"{url}/why/7.json")
    assert why.json()["similarity"] > 0


def bomb():
    """Return a PNG of a few hundred bytes that claims 30000 x 30000 pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(100_000)))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "image/png", 415),
        (b"not an image", "image/png", 415),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "image/eps", 415),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", 415),
        (encoded(image("red"))[:60], "image/png", 415),
        (encoded(image("red"), "JPEG")[:200], "image/jpeg", 415),
        (bomb(), "image/png", 413),
        (encoded(image("red", 800)), "image/png", 413),
        (bytes(300_000), "image/png", 413),
        (b"q=1", "application/x-www-form-urlencoded", 415),
        (b"{}", "application/json", 415),
        (b"x", "multipart/form-data", 400),
        (b"garbage", "multipart/form-data; boundary=b", 400),
        (FIELD, "multipart/form-data; boundary=b", 422),
    ],
    ids=[
        "empty", "text", "postscript", "svg", "cut png", "cut jpeg", "bomb", "too many pixels", "too many bytes",
        "urlencoded", "json", "no boundary", "garbage form", "no file",
    ],
)  # fmt: skip
def test_invalid_upload_is_refused(client, content, kind, status):
    error_of(upload(client, content, kind), status)


def test_body_size_is_limited_without_a_content_length(client):
    def chunks():
        for _ in range(30):
            yield bytes(10_000)

    error_of(client.post("/upload.json", content=chunks(), headers={"Content-Type": "image/png"}), 413)


@pytest.mark.parametrize("length", ["9" * 5000, "1" + "0" * 5000])
def test_a_length_of_thousands_of_digits_is_too_large(client, length):
    error_of(client.post("/upload.json", content=b"x", headers={"Content-Length": length}), 413)


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/nothing", 404),
        ("/item/18", 404),
        ("/item/18.json", 404),
        ("/item/99999999999", 422),
        ("/item/-1", 422),
        ("/item/x.json", 422),
        ("/item/3/why/18.json", 404),
        ("/item/3.json?k=0", 422),
        ("/item/3.json?k=101", 422),
        ("/item/3.json?cutoff=x", 422),
        ("/item/3.json?cutoff=101", 422),
        ("/item/3.json?comparator=wgo", 422),
        ("/item/3.json?method=rff", 400),
        ("/item/3.json?rankers=bik", 400),
        ("/search.json?q=fig&rankers=bic", 400),
        ("/search.json?q=fig&method=sca", 400),
        ("/search.json", 422),
        ("/search.json?q=%20", 422),
        ("/search.json?q=" + "a" * 1001, 422),
        ("/upload/" + "0" * 24, 404),
        ("/upload/xyz.json", 422),
        ("/item?id=nobody", 404),
        ("/static/page.css", 404),
        ("/static/..%2fapp.py", 404),
        ("/image/..%2f..%2fetc%2fpasswd", 404),
        ("/..%2f..%2fetc/passwd", 404),
        ("/items.json?page=0", 422),
    ],
)
def test_errors_have_one_shape(client, url, status):
    error_of(client.get(url), status)


@pytest.mark.parametrize("url", ["/", "/item/3", "/item/3.json", "/image/3", "/health", "/api", "/item/18"])
def test_head_is_get_without_the_body(client, url):
    known = {"x-request-id": "same"}
    head, whole = client.head(url, headers=known), client.get(url, headers=known)
    assert head.status_code == whole.status_code
    assert head.headers == whole.headers
    assert head.content == b""


def test_long_errors_are_shortened(client):
    assert len(error_of(client.get("/item/3.json", params={"rankers": "x" * 20_000}), 400)) < 1100


def test_common_parts_can_be_limited(client):
    whole = client.get("/item/3/why/4.json?graphs=false").json()
    some = client.get("/item/3/why/4.json?graphs=false&parts=2").json()
    assert whole["n_parts"] == some["n_parts"] == len(whole["parts"])
    assert some["parts"] == whole["parts"][:2]


def test_cutoff_may_be_as_large_as_the_default():
    ranks = rl.Ranks([[(i + j) % 150 for j in range(150)] for i in range(150)])
    index = rl.FusionIndex.build([ranks], cutoff=120)
    with TestClient(make_app(rl.Searcher.of_index(index, "x.loom")), base_url="http://localhost") as client:
        assert client.get("/item/0.json?cutoff=120").status_code == 200
        error_of(client.get("/item/0.json?cutoff=121"), 422)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_unsupported_http_method_is_405(client, method):
    error_of(client.request(method, "/item/3.json"), 405)


@pytest.mark.parametrize("url", ["/search?q=", "/search?q=%20+"])
def test_a_blank_query_shows_the_first_page(client, url):
    response = client.get(url, headers=HTML, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "/")


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("/item/3", ["method", "k"] + ["rankers"] * 4),
        ("/item/3?method=fg", ["method", "cutoff", "comparator", "k"] + ["rankers"] * 4),
        ("/search?q=figs", ["method", "k"] + ["rankers"] * 2),
    ],
)
def test_only_options_with_an_effect_are_offered(client, url, names):
    options = client.get(url).text.partition('<details class="options">')[2].partition("</details>")[0]
    shown = re.sub(r'<input type="hidden"[^>]*>', "", options)
    assert re.findall(r'name="(\w+)"', shown) == names


def test_rankers_that_do_not_accept_the_query_are_named_in_plain_words(searcher):
    tour = Tour(rankers={"bic": "colors at borders", "gch": "colors"})
    with TestClient(make_app(searcher, tour=tour), base_url="http://localhost") as client:
        page = client.get("/search?q=figs", headers=HTML).text
    assert "colors at borders (bic) and colors (gch) do not accept text." in page


def test_browser_gets_errors_as_a_page(client):
    response = client.get("/item/18", headers=HTML)
    assert response.status_code == 404
    assert "There is no item 18; they are numbered 0 to 17." in response.text
    assert "<h1>404</h1>" in response.text


def test_id_redirects_to_number(client, searcher):
    name = searcher.documents.ids[5]
    response = client.get("/item", params={"id": name, "k": "3"})
    assert response.status_code == 303
    assert response.headers["location"] == "/item/5?k=3"


def test_browse_by_class_title_and_page(client):
    assert [one["label"] for one in client.get("/items.json?label=red").json()["items"]] == ["red"] * 6
    assert [one["number"] for one in client.get("/items.json?find=FIG").json()["items"]] == [3, 9, 15]
    assert client.get("/items.json?page=7").json()["items"] == []
    assert client.get("/").text == client.get("/items").text


def test_user_text_is_escaped(client):
    page = client.get("/search", params={"q": "<script>alert(1)</script> fig"}).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "red/fig &lt;3&gt;.png" in page


def test_every_response_has_security_headers(client):
    for url in ("/", "/item/3.json", "/nothing", "/image/3"):
        headers = client.get(url).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_pages_have_no_inline_code_and_load_only_local_files(client):
    for url in ("/", "/item/3", "/item/3/why/4", "/search?q=fig", "/api"):
        page = client.get(url).text
        assert re.findall(r"<script(?![^>]*src=)", page) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []
        assert all(source.startswith("/") for source in re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', page))


def test_static_files_are_cacheable_forever(client):
    for url in re.findall(r'"(/static/[^"]*)"', client.get("/").text):
        response = client.get(url)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]


def test_versioned_images_are_cacheable_forever(client):
    url = client.get("/items.json").json()["items"][0]["image"]
    assert "immutable" in client.get(url).headers["cache-control"]
    assert client.get(url.partition("?")[0]).headers["cache-control"] == "no-cache"


def test_missing_image_is_404_without_its_path(tmp_path):
    for color in ("red", "blue"):
        (tmp_path / f"{color}.png").write_bytes(encoded(image(color)))
    searcher = rl.Searcher.build(open_collection(str(tmp_path)), ["bic"])
    (tmp_path / "red.png").unlink()
    with TestClient(make_app(searcher), base_url="http://localhost") as client:
        assert client.get("/image/0").status_code == 200
        assert str(tmp_path) not in error_of(client.get("/image/1"), 404)


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8000", 200), ("localhost", 200), ("[::1]:80", 200), ("192.168.1.7", 200), ("baskets.example", 200),
     ("evil.example", 400), ("", 400), ("localhost.evil.example", 400), ("[::1", 400),
     ("127.0.0.1?x", 400), ("user@127.0.0.1", 400), ("127.0.0.1:abc", 400), ("127.0.0.1/x", 400), ("[127.0.0.1", 400)],
)  # fmt: skip
def test_unknown_hosts_are_refused(client, host, status):
    response = client.get("/health", headers={"Host": host})
    assert response.status_code == status
    if status == 400:
        error_of(response, 400)


def test_other_sites_cannot_upload(client):
    content = encoded(image("red"))
    headers = {"Content-Type": "image/png", "Origin": "http://evil.example"}
    error_of(client.post("/upload.json", content=content, headers=headers), 403)
    for odd in ("http://[", "null", "http://127.0.0.1:8001"):
        error_of(client.post("/upload.json", content=content, headers={**headers, "Origin": odd}), 403)
    headers["Origin"] = "http://127.0.0.1:8000"
    assert client.post("/upload.json", content=content, headers=headers).status_code == 201


def test_openapi_schema_and_api_page_are_complete(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/items.json", "/item/{number}.json", "/search.json", "/upload.json", "/upload/{digest}.json"} <= set(paths)
    assert {"/search", "/documents/{item_id}", "/health", "/version"} <= set(paths)
    assert paths["/search"].keys() == {"get", "post"}
    shown = client.get("/api").text
    assert all(path in shown for path in paths)
    assert client.get("/docs").status_code == 404


def test_slow_search_gets_503_with_retry_after(searcher, monkeypatch):
    import time

    app = make_app(searcher, limits=Limits(seconds=0.2))
    with TestClient(app, base_url="http://localhost") as client:
        monkeypatch.setattr(Why, "compare", lambda *_: time.sleep(1))
        response = client.get("/item/1/why/2.json")
        assert "longer than 0.2 seconds" in error_of(response, 503)
        assert response.headers["retry-after"] == "5"


def test_too_many_searches_get_503_with_retry_after(searcher):
    app = make_app(searcher, limits=Limits(searches=0))
    with TestClient(app, base_url="http://localhost") as client:
        response = client.get("/search.json?q=fig")
        assert "Too many searches" in error_of(response, 503)
        assert response.headers["retry-after"] == "1"
        assert client.get("/health").status_code == 200


def test_internal_error_is_500_without_details(searcher, monkeypatch):
    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr(Why, "compare", fail)
    with TestClient(make_app(searcher), base_url="http://localhost", raise_server_exceptions=False) as client:
        assert "secret" not in error_of(client.get("/item/1/why/2.json"), 500)


def test_index_on_disk_has_pages(tmp_path):
    names = ["a/1", "b", "c"]
    ranks = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], item_ids=names, query_ids=names)
    index = rl.FusionIndex.build([ranks, ranks], cutoff=2)
    with TestClient(make_app(rl.Searcher.of_index(index, "x.loom")), base_url="http://localhost") as client:
        assert "a/1" in client.get("/").text
        assert [hit["id"] for hit in client.get("/item/0.json").json()["results"]] == ["b", "c"]
        assert client.get("/item/0").status_code == 200
        assert "<svg" in client.get("/item/0/why/1").text
        assert "by its items" in error_of(client.get("/search.json?q=a"), 400)
        error_of(client.post("/upload.json", content=b"x", headers={"Content-Type": "image/png"}), 400)
        error_of(client.get("/image/0"), 404)


def test_unusual_characters_in_a_text_query(client):
    for words in ("\x00", "😀", "a" * 1000, "ﷺ", "'; DROP TABLE", "%s%n", "\ud800".encode("utf-8", "surrogatepass")):
        response = client.get("/search.json", params={"q": words})
        assert response.status_code in (200, 422)
        assert json.load(io.BytesIO(response.content))["ok"] is (response.status_code == 200)


@pytest.mark.parametrize(
    "url",
    [
        "/item/3.json?offset=10",
        "/item/3.json?virtual=true",
        "/item/3.json?k=5&offset=10",
        "/search.json?q=figs&virtual=no",
        "/search.json?q=figs&Q=pears",
        "/item/3/why/4.json?offset=1",
        "/items.json?k=3",
        "/items.json?offset=60",
        "/?utm_source=mail",
        "/item?id=red/fig.png&offset=1",
        "/image/3?size=20",
        "/health?x",
        "/api?x=1",
        "/static/page.css?x=1",
    ],
)
def test_unknown_query_parameters_are_an_error(client, url):
    name = re.search(r"offset|virtual|Q|k(?=\=3)|utm_source|size|x", url.partition("?")[2])[0]
    assert error_of(client.get(url), 400).startswith(f"Unknown query parameter {name!r}; ")


def test_unknown_query_parameter_is_named_with_those_that_there_are(client):
    error = error_of(client.get("/search.json?q=figs&cutof=3"), 400)
    assert error == (
        "Unknown query parameter 'cutof'; choose from comparator, cutoff, k, method, q, rankers. Did you mean 'cutoff'?"
    )
    assert "Unknown query parameter" in client.get("/search?q=figs&cutof=3", headers=HTML).text
    assert error_of(client.post("/upload.json?k=3", content=b""), 400) == "Unknown query parameter 'k'; there are none."


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("/item/3.json?k=5&k=6", "k"),
        ("/item/3?k=5&method=rrf&k=5", "k"),
        ("/search.json?q=figs&q=pears", "q"),
        ("/items.json?page=1&page=2", "page"),
        ("/item/3/why/4.json?graphs=no&graphs=yes", "graphs"),
        ("/item?id=a&id=b", "id"),
    ],
)
def test_repeated_query_parameters_are_an_error(client, url, name):
    assert error_of(client.get(url), 400) == f"The query parameter {name!r} is given 2 times; give it once."


def test_rankers_may_be_repeated(client):
    one, other = (client.get(f"/item/3.json?{query}") for query in ("rankers=bic&rankers=gch", "rankers=bic,gch"))
    assert one.status_code == 200
    assert one.json()["results"] == other.json()["results"]


def test_id_of_an_item_redirects_with_the_choice(client):
    item = client.get("/item/3.json").json()["query"]["id"]
    response = client.get("/item", params={"id": item, "method": "rrf", "k": 5}, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "/item/3?method=rrf&k=5")
