"""The page in a real browser: by mouse and keyboard, on a desktop and a phone, light and dark."""

import pytest
from serving import server
from web_collection import encoded, image

from browser import DESKTOP, PHONE, artifacts, visit


@pytest.fixture(scope="module")
def base_url():
    with server() as (_, found):
        yield found.rstrip("/")


def clean(seen, base_url):
    """Check that there were no console errors and no requests to other servers."""
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith(f"{base_url}/")] == []


def test_click_on_an_item_searches_by_it(browser, base_url):
    with visit(browser, f"{base_url}/") as seen:
        seen.page.get_by_role("link", name="red/fig").click()
        seen.page.wait_for_url("**/item/3")
        assert seen.page.get_by_role("heading", level=1).inner_text() == "red/fig <3>.png"
        assert seen.page.locator(".fused .tile.relevant").count() >= 5
        assert seen.page.locator(".list").count() == 4
        clean(seen, base_url)


def test_slash_starts_a_text_search_with_marked_results(browser, base_url):
    with visit(browser, f"{base_url}/") as seen:
        seen.page.keyboard.press("/")
        seen.page.keyboard.type("blue figs")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/search?q=blue+figs")
        first = seen.page.locator(".fused .tile").first
        assert "blue/fig" in first.inner_text()
        assert first.locator("mark").all_inner_texts() == ["blue", "figs", "fig", "blue"]
        clean(seen, base_url)


def test_search_by_a_chosen_image(browser, base_url, tmp_path):
    file = tmp_path / "mine.png"
    file.write_bytes(encoded(image("blue", 30)))
    with visit(browser, f"{base_url}/") as seen:
        seen.page.set_input_files("#image", file)
        seen.page.wait_for_url("**/upload/*")
        assert seen.page.get_by_role("heading", level=1).inner_text() == "your image"
        assert "blue" in seen.page.locator(".fused .tile").first.inner_text()
        clean(seen, base_url)


def test_search_by_a_pasted_or_dropped_image(browser, base_url):
    give = """([kind, bytes]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], "x.png", { type: "image/png" }));
        const event = kind === "paste"
            ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
            : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
    }"""
    for kind in ("paste", "drop"):
        with visit(browser, f"{base_url}/") as seen:
            seen.page.evaluate(give, [kind, list(encoded(image("green", 30)))])
            seen.page.wait_for_url("**/upload/*")
            assert "green" in seen.page.locator(".fused .tile").first.inner_text()
            clean(seen, base_url)


def test_invalid_image_shows_an_error(browser, base_url, tmp_path):
    file = tmp_path / "mine.png"
    file.write_bytes(b"no image")
    with visit(browser, f"{base_url}/") as seen:
        seen.page.set_input_files("#image", file)
        seen.page.get_by_role("alert").wait_for()
        assert "is not a" in seen.page.get_by_role("alert").inner_text()


def test_options_take_effect_at_once_and_are_in_the_url(browser, base_url):
    with visit(browser, f"{base_url}/item/3") as seen:
        seen.page.select_option("[name=method]", "rrf")
        seen.page.wait_for_url("**/item/3?method=rrf")
        assert seen.page.locator("#fused").inner_text().startswith("Fused by rrf")
        seen.page.get_by_role("checkbox", name="okapi").uncheck()
        seen.page.wait_for_url("**/item/3?method=rrf&rankers=bic%2Cgch%2Cjaccard")
        assert seen.page.locator(".list").count() == 3
        seen.page.go_back()
        seen.page.wait_for_url("**/item/3?method=rrf")
        seen.page.wait_for_function("document.querySelectorAll('.list').length === 4")
        seen.page.select_option("[name=method]", "auto")
        seen.page.wait_for_url("**/item/3")
        seen.page.select_option("[name=method]", "fg")
        seen.page.wait_for_url("**/item/3?method=fg")
        seen.page.fill("[name=cutoff]", "6")
        seen.page.locator("[name=cutoff]").press("Enter")
        seen.page.wait_for_url("**/item/3?method=fg&cutoff=6")
        clean(seen, base_url)


def test_skip_link_requests_nothing(browser, base_url):
    with visit(browser, f"{base_url}/item/3") as seen:
        seen.page.evaluate("document.querySelector('main').dataset.old = 'yes'")
        seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/item/3#main")
        seen.page.wait_for_timeout(300)
        assert seen.page.evaluate("document.activeElement.id") == "main"
        assert seen.page.evaluate("document.querySelector('main').dataset.old") == "yes"
        assert [url for url in seen.requests if "/item/" in url] == [f"{base_url}/item/3"]


def test_focus_stays_on_the_changed_ranker(browser, base_url):
    with visit(browser, f"{base_url}/item/3") as seen:
        seen.page.get_by_role("checkbox", name="okapi").press("Space")
        seen.page.wait_for_url("**/item/3?rankers=bic%2Cgch%2Cjaccard")
        seen.page.wait_for_function("document.querySelectorAll('.list').length === 3")
        assert seen.page.evaluate("document.activeElement.value") == "okapi"


def test_hover_explains_a_result_and_click_draws_both_graphs(browser, base_url):
    with visit(browser, f"{base_url}/item/3") as seen:
        seen.page.locator(".fused .tile").nth(1).hover()
        seen.page.locator("#hint").wait_for()
        assert "weft score" in seen.page.locator("#hint").inner_text()
        assert 1 < seen.page.locator("#hint li").count() <= 7
        assert seen.page.locator("[aria-describedby=hint]").count() == 1
        seen.page.locator(".fused .tile a.why").nth(1).click()
        seen.page.wait_for_url("**/item/3/why/*")
        assert seen.page.locator("svg.graph").count() == 2
        assert seen.page.locator("svg.graph .vertex.common").count() > 1
        clean(seen, base_url)


def test_keyboard_shortcuts(browser, base_url):
    with visit(browser, f"{base_url}/item/3") as seen:
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
        clean(seen, base_url)


def test_links_and_forms_work_without_scripts(browser, base_url):
    context = browser.new_context(java_script_enabled=False, viewport=DESKTOP)
    page = context.new_page()
    page.goto(f"{base_url}/item/3")
    page.select_option("[name=method]", "rrf")
    page.get_by_role("button", name="Apply").click()
    assert page.locator("#fused").inner_text().startswith("Fused by rrf")
    page.set_input_files("#image", {"name": "x.png", "mimeType": "image/png", "buffer": encoded(image("red"))})
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/upload/*")
    context.close()


def test_controls_have_accessible_names_and_pages_landmarks(browser, base_url):
    with visit(browser, f"{base_url}/item/3") as seen:
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
def test_no_view_overflows_the_window(browser, base_url, tmp_path, size, scheme):
    for name, path in VIEWS.items():
        with visit(browser, base_url + path, size=size, scheme=scheme) as seen:
            assert seen.overflow == 0, name
            screenshot = artifacts(tmp_path) / f"serve-{name}-{size['width']}-{scheme}.png"
            seen.page.screenshot(path=screenshot)
            clean(seen, base_url)
