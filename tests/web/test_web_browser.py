"""The page as people meet it: in a real browser, by mouse and by keys, broad and narrow, light and dark."""

import pytest
from serving import server
from web_collection import encoded, picture

from browser import DESKTOP, PHONE, artifacts, visit


@pytest.fixture(scope="module")
def address():
    with server() as (_, found):
        yield found.rstrip("/")


def clean(seen, address):
    """Check that nothing was complained about and nothing asked of anyone else."""
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith(f"{address}/")] == []


def test_a_click_on_an_item_searches_by_it(browser, address):
    with visit(browser, f"{address}/") as seen:
        seen.page.get_by_role("link", name="red/fig").click()
        seen.page.wait_for_url("**/item/3")
        assert seen.page.get_by_role("heading", level=1).inner_text() == "red/fig <3>.png"
        assert seen.page.locator(".fused .tile.relevant").count() >= 5
        assert seen.page.locator(".list").count() == 4
        clean(seen, address)


def test_words_are_typed_after_a_slash_and_marked_in_the_results(browser, address):
    with visit(browser, f"{address}/") as seen:
        seen.page.keyboard.press("/")
        seen.page.keyboard.type("blue figs")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/search?q=blue+figs")
        first = seen.page.locator(".fused .tile").first
        assert "blue/fig" in first.inner_text()
        assert first.locator("mark").all_inner_texts() == ["blue", "figs", "fig", "blue"]
        clean(seen, address)


def test_a_picture_that_is_chosen_is_searched_by(browser, address, tmp_path):
    file = tmp_path / "mine.png"
    file.write_bytes(encoded(picture("blue", 30)))
    with visit(browser, f"{address}/") as seen:
        seen.page.set_input_files("#picture", file)
        seen.page.wait_for_url("**/picture/*")
        assert seen.page.get_by_role("heading", level=1).inner_text() == "your picture"
        assert "blue" in seen.page.locator(".fused .tile").first.inner_text()
        clean(seen, address)


def test_a_picture_that_is_pasted_or_dropped_is_searched_by(browser, address):
    give = """([kind, bytes]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], "x.png", { type: "image/png" }));
        const event = kind === "paste"
            ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
            : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
    }"""
    for kind in ("paste", "drop"):
        with visit(browser, f"{address}/") as seen:
            seen.page.evaluate(give, [kind, list(encoded(picture("green", 30)))])
            seen.page.wait_for_url("**/picture/*")
            assert "green" in seen.page.locator(".fused .tile").first.inner_text()
            clean(seen, address)


def test_a_file_that_is_no_picture_is_told_of_on_the_page(browser, address, tmp_path):
    file = tmp_path / "mine.png"
    file.write_bytes(b"no picture")
    with visit(browser, f"{address}/") as seen:
        seen.page.set_input_files("#picture", file)
        seen.page.get_by_role("alert").wait_for()
        assert "not a picture" in seen.page.get_by_role("alert").inner_text()


def test_switches_act_at_once_and_are_in_the_address(browser, address):
    with visit(browser, f"{address}/item/3") as seen:
        seen.page.select_option("[name=method]", "rrf")
        seen.page.wait_for_url("**/item/3?method=rrf")
        assert seen.page.locator("#fused").inner_text().startswith("Fused by rrf")
        seen.page.get_by_role("checkbox", name="okapi").uncheck()
        seen.page.wait_for_url("**/item/3?method=rrf&rankers=bic%2Cgch%2Cjaccard")
        assert seen.page.locator(".list").count() == 3
        seen.page.go_back()
        seen.page.wait_for_url("**/item/3?method=rrf")
        seen.page.wait_for_function("document.querySelectorAll('.list').length === 4")
        seen.page.select_option("[name=method]", "fg")
        seen.page.wait_for_url("**/item/3")
        seen.page.fill("[name=cutoff]", "6")
        seen.page.locator("[name=cutoff]").press("Enter")
        seen.page.wait_for_url("**/item/3?cutoff=6")
        clean(seen, address)


def test_the_link_that_skips_to_the_content_asks_for_nothing(browser, address):
    with visit(browser, f"{address}/item/3") as seen:
        seen.page.evaluate("document.querySelector('main').dataset.old = 'yes'")
        seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/item/3#main")
        seen.page.wait_for_timeout(300)
        assert seen.page.evaluate("document.activeElement.id") == "main"
        assert seen.page.evaluate("document.querySelector('main').dataset.old") == "yes"
        assert [url for url in seen.requests if "/item/" in url] == [f"{address}/item/3"]


def test_the_focus_stays_on_the_ranker_that_was_switched(browser, address):
    with visit(browser, f"{address}/item/3") as seen:
        seen.page.get_by_role("checkbox", name="okapi").press("Space")
        seen.page.wait_for_url("**/item/3?rankers=bic%2Cgch%2Cjaccard")
        seen.page.wait_for_function("document.querySelectorAll('.list').length === 3")
        assert seen.page.evaluate("document.activeElement.value") == "okapi"


def test_pointing_at_a_result_says_why_and_a_click_draws_both_graphs(browser, address):
    with visit(browser, f"{address}/item/3") as seen:
        seen.page.locator(".fused .tile").nth(1).hover()
        seen.page.locator("#hint").wait_for()
        assert "WGU similarity" in seen.page.locator("#hint").inner_text()
        assert 1 < seen.page.locator("#hint li").count() <= 7
        assert seen.page.locator("[aria-describedby=hint]").count() == 1
        seen.page.locator(".fused .tile a.why").nth(1).click()
        seen.page.wait_for_url("**/item/3/why/*")
        assert seen.page.locator("svg.graph").count() == 2
        assert seen.page.locator("svg.graph .vertex.lit").count() > 1
        clean(seen, address)


def test_keys_lead_through_the_results(browser, address):
    with visit(browser, f"{address}/item/3") as seen:
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("ArrowRight")
        focused = "document.activeElement.closest('.tile').dataset.number"
        second = seen.page.locator(".fused .tile").nth(1).get_attribute("data-number")
        assert seen.page.evaluate(focused) == second
        seen.page.keyboard.press("ArrowDown")
        assert seen.page.evaluate(focused) != second
        seen.page.keyboard.press("ArrowUp")
        assert seen.page.evaluate(focused) == second
        seen.page.keyboard.press("w")
        seen.page.wait_for_url(f"**/item/3/why/{second}")
        seen.page.keyboard.press("?")
        assert seen.page.get_by_role("dialog").is_visible()
        seen.page.keyboard.press("Escape")
        assert not seen.page.get_by_role("dialog").is_visible()
        clean(seen, address)


def test_without_scripts_links_and_forms_do_the_same(browser, address):
    context = browser.new_context(java_script_enabled=False, viewport=DESKTOP)
    page = context.new_page()
    page.goto(f"{address}/item/3")
    page.select_option("[name=method]", "rrf")
    page.get_by_role("button", name="Apply").click()
    assert page.locator("#fused").inner_text().startswith("Fused by rrf")
    page.set_input_files("#picture", {"name": "x.png", "mimeType": "image/png", "buffer": encoded(picture("red"))})
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/picture/*")
    context.close()


def test_every_control_has_a_name_for_screen_readers_and_pages_have_landmarks(browser, address):
    with visit(browser, f"{address}/item/3") as seen:
        nameless = """() => [...document.querySelectorAll("input, select, button, a")].filter((one) =>
            !(one.type === "hidden" || one.getAttribute("aria-label") || one.textContent.trim() || one.title
              || (one.labels && one.labels.length) || one.querySelector("img[alt]:not([alt=''])"))).length"""
        assert seen.page.evaluate(nameless) == 0
        for landmark in ("banner", "main", "contentinfo", "navigation", "search"):
            assert seen.page.get_by_role(landmark).count() >= 1
        assert seen.page.locator("html").get_attribute("lang") == "en"
        assert seen.page.locator("[role=status]").count() == 1


VIEWS = {"browse": "/", "results": "/item/3", "words": "/search?q=blue+figs", "why": "/item/3/why/4", "api": "/api"}


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_is_broader_than_the_window(browser, address, tmp_path, size, scheme):
    for name, path in VIEWS.items():
        with visit(browser, address + path, size=size, scheme=scheme) as seen:
            assert seen.overflow == 0, name
            place = artifacts(tmp_path) / f"serve-{name}-{size['width']}-{scheme}.png"
            seen.page.screenshot(path=place)
            clean(seen, address)
