"""The demos in a real browser: the first page tells the story, and every page of the text demo works."""

import pytest
from serving import started

from browser import WINDOWS, visit
from rankloom.cli.reference import EXAMPLE

pytestmark = pytest.mark.long
DEMO = "from rankloom.cli import main\nmain()"


@pytest.fixture(scope="module")
def texts():
    with started(DEMO, "demo", "--text", "--port", "0", "--no-cache") as (_, url):
        yield url.rstrip("/")


@pytest.fixture(scope="module")
def emoji():
    with started(DEMO, "demo", "--first", "750", "--port", "0", "--no-cache") as (_, url):  # has the cactus
        yield url.rstrip("/")


@pytest.mark.parametrize("window", WINDOWS)
def test_every_page_of_the_text_demo_is_accessible_and_fits(browser, texts, tmp_path, window):
    pages = {"first": "/", "search": "/search?q=" + EXAMPLE.replace(" ", "+"), "document": "/item/3/document"}
    with visit(browser, texts + pages["search"]) as seen:
        pages["why"] = seen.page.locator(".fused a.why").first.get_attribute("href")
    for name, path in pages.items():
        with visit(browser, texts + path, **WINDOWS[window]) as seen:
            assert (seen.overflow, seen.complaints, seen.violations()) == (0, [], []), name
            seen.keep(f"demo-text-{name}-{window}", tmp_path)


@pytest.mark.parametrize("window", WINDOWS)
def test_first_page_of_the_demo_is_accessible_and_fits(browser, emoji, tmp_path, window):
    with visit(browser, emoji, **WINDOWS[window]) as seen:
        rows = seen.page.locator(".story").first.locator("tbody th").all_inner_texts()
        assert [row.split()[0] for row in rows][-2:] == ["rrf", "weft"]
        assert (seen.overflow, seen.complaints, seen.violations()) == (0, [], [])
        seen.keep(f"demo-first-{window}", tmp_path)


def test_fusion_beats_every_ranker_in_the_example_of_the_first_page(browser, texts):
    with visit(browser, texts) as seen:
        story = seen.page.locator(".story").first
        assert EXAMPLE in story.inner_text()
        *others, vote = (float(one) for one in story.locator("td.number").all_inner_texts())
        assert vote > max(others)
        assert story.locator(".relevant").count() > 3


def test_a_judged_query_is_searched_explained_and_read(browser, texts):
    with visit(browser, texts) as seen:
        page = seen.page
        page.locator(".judged summary").click()
        page.get_by_role("link", name="rank aggregation with the fewest disagreements").click()
        page.wait_for_url("**/search?q=*")
        assert page.locator(".fused .tile.relevant .title").first.inner_text() == "method kemeny"
        long = page.locator(".fused .tile:has(a.read)").first
        title = long.locator(".title").inner_text()
        long.locator("a.read").click()
        page.wait_for_url("**/document")
        assert page.get_by_role("heading", level=1).inner_text() == title
        assert "\\" not in page.locator(".full").inner_text()
        page.go_back()
        page.locator(".fused a.why").first.click()
        page.wait_for_url("**/why/*")
        assert page.locator("svg.flow .ends .role").all_text_contents() == ["query", "result"]
        assert seen.complaints == []
