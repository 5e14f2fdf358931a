"""The page and its JSON twins through a client in this process: what they show, and what they refuse."""

import io
import json
import re
import struct
import zlib

import pytest
from starlette.testclient import TestClient
from web_collection import encoded, picture

import rankloom as rl
from rankloom.datasets import open_collection
from rankloom.web import Library, Limits, make_app

HTML = {"Accept": "text/html"}
FIELD = b'--b\r\nContent-Disposition: form-data; name="picture"\r\n\r\nx\r\n--b--\r\n'  # of a form, not a file


def sent(client, content, kind="image/png"):
    return client.post("/picture.json", content=content, headers={"Content-Type": kind})


def shape(answer, status):
    """Check the one shape of errors and return the sentence."""
    assert answer.status_code == status
    body = answer.json()
    assert body.keys() == {"ok", "error", "status"}
    assert body["ok"] is False
    assert body["status"] == status
    assert isinstance(body["error"], str)
    assert body["error"]
    return body["error"]


def text_of(page):
    from html import unescape

    return unescape(re.sub(r"<[^>]*>", "", page))


@pytest.mark.parametrize(
    "address", ["/items", "/items?label=red", "/item/3", "/item/3?method=rrf&k=5", "/search?q=blue+figs"]
)
def test_the_page_shows_what_its_twin_has(client, address):
    path, _, parameters = address.partition("?")
    data = client.get(f"{path}.json?{parameters}").json()
    page = client.get(address).text
    shown = text_of(page)
    for one in data.get("results", data.get("items", [])):
        assert one["title"] in shown
        assert one["address"].replace("&", "&amp;") in page
        if "why" in one:
            assert one["why"].replace("&", "&amp;") in page
    for one in data.get("lists", []):
        assert one["ranker"] in shown
    assert f'data-address="{data["address"]}"'.replace("&", "&amp;") in page


def test_the_twin_of_a_search_has_the_answers_of_the_library(client, library):
    data = client.get("/item/3.json").json()
    index = rl.FusionIndex.build(list(library.ranks.values()), cutoff=4)
    found = index.search(items=[3], k=20)
    assert [hit["number"] for hit in data["results"]] == [n for n in found.items[0].tolist() if n >= 0]
    assert data["results"][0]["score"] == pytest.approx(float(found.scores[0, 0]))
    assert [one["ranker"] for one in data["lists"]] == list(library.ranks)


def test_relevant_items_and_measures_are_those_of_evaluate(client, library):
    data = client.get("/item/3.json?method=rrf&k=10").json()
    labels = library.collection.labels
    assert [hit["relevant"] for hit in data["results"]] == [labels[h["number"]] == labels[3] for h in data["results"]]
    fused = rl.fuse(list(library.ranks.values()), method="rrf", k=10).rows([3])
    expected = rl.evaluate(fused, labels=labels, query_labels=[labels[3]], measures=["ndcg@10", "p@10"])
    assert data["measures"] == {name: pytest.approx(value, abs=1e-4) for name, value in expected.items()}


def test_positions_of_a_result_are_its_places_in_the_lists(client):
    data = client.get("/item/3.json").json()
    places = {one["ranker"]: {hit["number"]: hit["position"] for hit in one["items"]} for one in data["lists"]}
    for hit in data["results"]:
        assert hit["positions"] == {name: of.get(hit["number"]) for name, of in places.items()}


def test_switches_change_the_answer_and_stay_in_the_links(client):
    data = client.get("/item/3.json?rankers=bic&rankers=okapi&cutoff=3&comparator=mcs&k=4").json()
    assert data["choice"] == {"method": "fg", "cutoff": 3, "comparator": "mcs", "rankers": ["bic", "okapi"], "k": 4}
    assert data["address"] == "/item/3?cutoff=3&comparator=mcs&rankers=bic%2Cokapi&k=4"
    assert client.get("/item/3.json?rankers=bic,okapi&cutoff=3&comparator=mcs&k=4").json() == data
    assert len(data["results"]) == 4


def test_an_address_of_standard_switches_is_clean(client):
    assert client.get("/item/3.json?method=fg&cutoff=4&k=20").json()["address"] == "/item/3"


def test_matching_words_are_marked(client):
    hit = client.get("/search.json?q=fig").json()["results"][0]
    assert [hit["text"][start:end] for start, end in hit["marks"]] == ["figs", "fig"]
    assert "<mark>figs</mark> &amp; more <mark>fig</mark>" in client.get("/search?q=fig").text


def test_why_adds_up_and_draws_both_graphs_with_the_common_part_lit(client):
    hit = client.get("/item/3.json").json()["results"][1]
    path = hit["why"]
    data = client.get(f"{path}.json").json()
    assert sum(part["contribution"] for part in data["parts"]) == pytest.approx(hit["score"], abs=1e-5)
    assert {part["kind"] for part in data["parts"]} == {"vertex", "edge"}
    page = client.get(path).text
    drawings = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    shared = {str(part["source"]) for part in data["parts"] if part["kind"] == "vertex"}
    for drawing, side in zip(drawings, ("query", "item"), strict=True):
        lit = set(re.findall(r'<g class="vertex lit" data-item="(\d+)"', drawing))
        assert lit == shared
        assert drawing.count("<circle") == len(data["graphs"][side]["vertices"])


def test_items_stand_at_the_same_place_in_both_graphs_and_in_every_redraw(client):
    def places(drawing):
        found = re.findall(r'data-item="(\d+)">.*?<circle cx="([\d.]+)" cy="([\d.]+)"', drawing, flags=re.DOTALL)
        return {item: (x, y) for item, x, y in found}

    page = client.get("/item/3/why/4").text
    first, second = map(places, re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    assert first.keys() & second.keys()
    assert all(first[item] == second[item] for item in first.keys() & second.keys())
    again = re.findall(r"<svg.*?</svg>", client.get("/item/3/why/4?comparator=mcs&k=5").text, flags=re.DOTALL)
    assert places(again[0]) == first


def test_a_picture_is_sent_as_it_is_or_in_a_form_and_then_has_an_address(client, library):
    content = encoded(library.collection.part("images")[7])
    answer = sent(client, content)
    assert answer.status_code == 201
    address = answer.json()["address"]
    assert client.get(f"{address}.json").json()["results"][0]["label"] == library.collection.labels[7]
    form = client.post("/picture", files={"picture": ("a.png", content, "image/png")})
    assert form.status_code == 303
    assert form.headers["location"] == address
    page = client.get(address)
    assert page.status_code == 200
    shown = client.get(f"{address}.image")
    assert shown.headers["content-type"] == "image/png"
    why = client.get(f"{address}/why/7.json")
    assert why.json()["similarity"] > 0


def bomb():
    """Return a PNG of a few kilobytes that says it is of 30000 x 30000 pixels."""

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
        (b"not a picture", "image/png", 415),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "image/eps", 415),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", 415),
        (encoded(picture("red"))[:60], "image/png", 415),
        (encoded(picture("red"), "JPEG")[:200], "image/jpeg", 415),
        (bomb(), "image/png", 413),
        (encoded(picture("red", 800)), "image/png", 413),
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
def test_what_is_no_picture_is_refused_in_a_sentence(client, content, kind, status):
    shape(sent(client, content, kind), status)


def test_bytes_are_counted_while_they_come_whatever_the_length_says(client):
    def chunks():
        for _ in range(30):
            yield bytes(10_000)

    shape(client.post("/picture.json", content=chunks(), headers={"Content-Type": "image/png"}), 413)


@pytest.mark.parametrize(
    ("address", "status"),
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
        ("/picture/" + "0" * 24, 404),
        ("/picture/xyz.json", 422),
        ("/item?name=nobody", 404),
        ("/static/page.css", 404),
        ("/static/..%2fapp.py", 404),
        ("/image/..%2f..%2fetc%2fpasswd", 404),
        ("/..%2f..%2fetc/passwd", 404),
        ("/items.json?page=0", 422),
    ],
)
def test_errors_have_one_shape(client, address, status):
    shape(client.get(address), status)


@pytest.mark.parametrize("address", ["/", "/item/3", "/item/3.json", "/image/3", "/health", "/api", "/item/18"])
def test_head_is_get_without_the_body(client, address):
    head, whole = client.head(address), client.get(address)
    assert head.status_code == whole.status_code
    assert head.headers == whole.headers
    assert head.content == b""


def test_an_error_does_not_repeat_all_of_what_was_sent(client):
    assert len(shape(client.get("/item/3.json", params={"rankers": "x" * 20_000}), 400)) < 1100


def test_parts_of_a_reason_can_be_fewer_than_there_are(client):
    whole = client.get("/item/3/why/4.json?graphs=false").json()
    some = client.get("/item/3/why/4.json?graphs=false&parts=2").json()
    assert whole["n_parts"] == some["n_parts"] == len(whole["parts"])
    assert some["parts"] == whole["parts"][:2]


def test_an_index_of_a_large_cutoff_takes_its_own(library):
    ranks = rl.Ranks([[(i + j) % 150 for j in range(150)] for i in range(150)])
    index = rl.FusionIndex.build([ranks], cutoff=120)
    with TestClient(make_app(Library.of_index(index, "x.loom")), base_url="http://localhost") as client:
        assert 'max="120"' in client.get("/item/0").text
        assert client.get("/item/0.json?cutoff=120").status_code == 200
        shape(client.get("/item/0.json?cutoff=121"), 422)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_method_that_an_address_does_not_know_is_405(client, method):
    shape(client.request(method, "/item/3.json"), 405)


def test_a_browser_gets_errors_as_a_page(client):
    answer = client.get("/item/18", headers=HTML)
    assert answer.status_code == 404
    assert "There is no item 18; they are numbered 0 to 17." in answer.text
    assert "<h1>404</h1>" in answer.text


def test_names_lead_to_numbers(client, library):
    name = library.collection.ids[5]
    answer = client.get("/item", params={"name": name, "k": "3"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/item/5?k=3"


def test_browsing_is_by_class_by_name_and_by_page(client):
    assert [one["label"] for one in client.get("/items.json?label=red").json()["items"]] == ["red"] * 6
    assert [one["number"] for one in client.get("/items.json?find=FIG").json()["items"]] == [3, 9, 15]
    assert client.get("/items.json?page=7").json()["items"] == []
    assert client.get("/").text == client.get("/items").text


def test_text_from_outside_is_escaped(client):
    page = client.get("/search", params={"q": "<script>alert(1)</script> fig"}).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "red/fig &lt;3&gt;.png" in page


def test_headers_forbid_frames_and_foreign_scripts_on_pages_and_errors_alike(client):
    for address in ("/", "/item/3.json", "/nothing", "/image/3"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_pages_have_no_script_or_style_of_their_own_and_load_only_from_here(client):
    for address in ("/", "/item/3", "/item/3/why/4", "/search?q=fig", "/api"):
        page = client.get(address).text
        assert re.findall(r"<script(?![^>]*src=)", page) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []
        assert all(source.startswith("/") for source in re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', page))


def test_static_files_may_be_kept_forever_since_their_names_change(client):
    for address in re.findall(r'"(/static/[^"]*)"', client.get("/").text):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]


def test_pictures_of_items_may_be_kept_while_the_collection_is_the_same(client):
    address = client.get("/items.json").json()["items"][0]["image"]
    assert "immutable" in client.get(address).headers["cache-control"]
    assert client.get(address.partition("?")[0]).headers["cache-control"] == "no-cache"


def test_a_picture_that_is_gone_is_404_and_does_not_say_where_it_was(tmp_path):
    for color in ("red", "blue"):
        (tmp_path / f"{color}.png").write_bytes(encoded(picture(color)))
    library = Library.open(open_collection(str(tmp_path)), ["bic"])
    (tmp_path / "red.png").unlink()
    with TestClient(make_app(library), base_url="http://localhost") as client:
        assert client.get("/image/0").status_code == 200
        assert str(tmp_path) not in shape(client.get("/image/1"), 404)


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8000", 200), ("localhost", 200), ("[::1]:80", 200), ("192.168.1.7", 200), ("baskets.example", 200),
     ("evil.example", 400), ("", 400), ("localhost.evil.example", 400), ("[::1", 400),
     ("127.0.0.1?x", 400), ("user@127.0.0.1", 400), ("127.0.0.1:abc", 400), ("127.0.0.1/x", 400), ("[127.0.0.1", 400)],
)  # fmt: skip
def test_only_addresses_and_known_names_are_answered_for(client, host, status):
    answer = client.get("/health", headers={"Host": host})
    assert answer.status_code == status
    if status == 400:
        shape(answer, 400)


def test_pages_of_other_sites_cannot_send_pictures(client):
    content = encoded(picture("red"))
    headers = {"Content-Type": "image/png", "Origin": "http://evil.example"}
    shape(client.post("/picture.json", content=content, headers=headers), 403)
    for odd in ("http://[", "null", "http://127.0.0.1:8001"):
        shape(client.post("/picture.json", content=content, headers={**headers, "Origin": odd}), 403)
    headers["Origin"] = "http://127.0.0.1:8000"
    assert client.post("/picture.json", content=content, headers=headers).status_code == 201


def test_the_description_names_every_twin_and_no_page_loads_it_from_elsewhere(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/items.json", "/item/{number}.json", "/search.json", "/picture.json", "/picture/{digest}.json"} <= set(
        paths
    )
    shown = client.get("/api").text
    assert all(path in shown for path in paths)
    assert client.get("/docs").status_code == 404


def test_a_search_that_takes_too_long_is_told_to_come_again(library, monkeypatch):
    import time

    app = make_app(library, limits=Limits(seconds=0.2))
    with TestClient(app, base_url="http://localhost") as client:
        monkeypatch.setattr(Library, "compare", lambda *_: time.sleep(1))
        answer = client.get("/item/1/why/2.json")
        assert "longer than 0.2 seconds" in shape(answer, 503)
        assert answer.headers["retry-after"] == "5"


def test_more_searches_than_may_wait_are_told_to_come_again(library):
    app = make_app(library, limits=Limits(searches=0))
    with TestClient(app, base_url="http://localhost") as client:
        answer = client.get("/search.json?q=fig")
        assert "Too many searches" in shape(answer, 503)
        assert answer.headers["retry-after"] == "1"
        assert client.get("/health").status_code == 200


def test_an_error_of_the_program_itself_is_500_in_the_one_shape(library, monkeypatch):
    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr(Library, "compare", fail)
    with TestClient(make_app(library), base_url="http://localhost", raise_server_exceptions=False) as client:
        assert "secret" not in shape(client.get("/item/1/why/2.json"), 500)


def test_an_index_on_disk_has_pages_too(tmp_path):
    names = ["a/1", "b", "c"]
    ranks = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], item_ids=names, query_ids=names)
    index = rl.FusionIndex.build([ranks, ranks], cutoff=2)
    with TestClient(make_app(Library.of_index(index, "x.loom")), base_url="http://localhost") as client:
        assert "a/1" in client.get("/").text
        assert [hit["name"] for hit in client.get("/item/0.json").json()["results"]][:2] == ["a/1", "b"]
        assert client.get("/item/0").status_code == 200
        assert "<svg" in client.get("/item/0/why/1").text
        assert "by its items" in shape(client.get("/search.json?q=a"), 400)
        shape(client.post("/picture.json", content=b"x", headers={"Content-Type": "image/png"}), 400)
        shape(client.get("/image/0"), 404)


def test_words_of_odd_letters_are_searched_for_or_refused(client):
    for words in ("\x00", "😀", "a" * 1000, "ﷺ", "'; DROP TABLE", "%s%n", "\ud800".encode("utf-8", "surrogatepass")):
        answer = client.get("/search.json", params={"q": words})
        assert answer.status_code in (200, 422)
        assert json.load(io.BytesIO(answer.content))["ok"] is (answer.status_code == 200)
