"""The page in a real browser: by mouse and keyboard, on a desktop and a phone, light and dark."""

import pytest
from serving import server
from web_collection import encoded, image

from browser import DESKTOP, PHONE, WINDOWS, visit


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
        seen.page.get_by_text("Options", exact=True).click()
        seen.page.select_option("[name=method]", "rrf")
        seen.page.wait_for_url("**/item/3?method=rrf")
        assert seen.page.locator("#fused").inner_text().startswith("Fused by rrf")
        seen.page.get_by_role("checkbox", name="okapi").uncheck()
        seen.page.wait_for_url("**/item/3?method=rrf&rankers=bic%2Cgch%2Cjaccard")
        assert seen.page.locator(".list").count() == 3
        seen.page.go_back()
        seen.page.wait_for_url("**/item/3?method=rrf")
        seen.page.locator(".list").nth(3).wait_for()
        seen.page.select_option("[name=method]", "auto")
        seen.page.wait_for_url("**/item/3")
        seen.page.select_option("[name=method]", "fg")
        seen.page.wait_for_url("**/item/3?method=fg")
        seen.page.fill("[name=cutoff]", "6")
        seen.page.locator("[name=cutoff]").press("Enter")
        seen.page.wait_for_url("**/item/3?method=fg&cutoff=6")
        clean(seen, base_url)


def test_rankers_that_do_not_accept_the_query_stay_chosen(browser, base_url):
    with visit(browser, f"{base_url}/search?q=figs") as seen:
        seen.page.get_by_text("Options", exact=True).click()
        seen.page.get_by_role("checkbox", name="okapi").uncheck()
        seen.page.wait_for_url("**/search?q=figs&rankers=bic%2Cgch%2Cjaccard")
        assert seen.page.get_by_role("checkbox").count() == 2


def test_a_blank_query_leads_home(browser, base_url):
    with visit(browser, f"{base_url}/item/3") as seen:
        seen.page.get_by_role("button", name="Search", exact=True).click()
        seen.page.wait_for_url(f"{base_url}/")
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
        seen.page.get_by_text("Options", exact=True).click()
        seen.page.get_by_role("checkbox", name="okapi").press("Space")
        seen.page.wait_for_url("**/item/3?rankers=bic%2Cgch%2Cjaccard")
        seen.page.locator(".list").nth(3).wait_for(state="detached")
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
    page.get_by_text("Options", exact=True).click()
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
def test_no_view_overflows_the_window(browser, base_url, size):
    for name, path in VIEWS.items():
        with visit(browser, base_url + path, size=size) as seen:
            assert seen.overflow == 0, name
            clean(seen, base_url)


LISTS = "/item/3?method=fg&cutoff=6"
WHY = {
    "weft": "/item/3/why/4",
    "vote": "/search/why/9?q=blue+figs",
    "fg": "/item/3/why/4?method=fg&cutoff=4",
    "rrf": "/item/3/why/4?method=rrf",
}
SPLIT_NUMBERS = """() => {
    const range = document.createRange(), split = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode())
        for (const found of node.data.matchAll(/#?\\d[\\d.]*/g)) {
            range.setStart(node, found.index);
            range.setEnd(node, found.index + found[0].length);
            const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
            if (tops.size > 1) split.push(found[0]);
        }
    return split;
}"""
# WCAG 2.1, 1.4.3: relative luminance of text and of the nearest opaque background; large text needs 3, other text 4.5.
LOW_CONTRAST = """() => {
    const parse = (color) => (color.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
    const light = (color) => {
        const linear = (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = color.slice(0, 3).map((c) => linear(c / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const color = parse(getComputedStyle(one).backgroundColor);
            if (color.length < 4 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    const low = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const element = node.parentElement, style = getComputedStyle(element);
        const unseen = !node.data.trim() || !element.checkVisibility({ visibilityProperty: true });
        if (unseen || element.closest(".hidden, title, option")) continue;
        const inside = element.closest("svg.flow"), below = inside ? parse(style.stroke) : ground(element);
        const [one, other] = [light(parse(inside ? style.fill : style.color)), light(below)];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
        const large = size >= 24 || (size >= 18.66 && bold);
        if (ratio < (large ? 3 : 4.5)) low.push(`${ratio.toFixed(2)} ${node.data.trim().slice(0, 40)}`);
    }
    return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(browser, base_url, scheme):
    for path in {**VIEWS, **WHY, "document": "/item/3/document", "lists": LISTS}.values():
        with visit(browser, base_url + path, scheme=scheme) as seen:
            assert seen.page.evaluate(LOW_CONTRAST) == [], path


def test_contrast_check_finds_pale_text(browser, base_url):
    with visit(browser, f"{base_url}/") as seen:
        seen.page.evaluate("document.querySelector('h1').style.color = '#999'")
        assert [one[5:] for one in seen.page.evaluate(LOW_CONTRAST)] == ["baskets"]


@pytest.mark.parametrize("method", WHY)
def test_explanation_fits_a_phone_without_split_numbers(browser, base_url, tmp_path, method):
    with visit(browser, base_url + WHY[method], size=PHONE) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert seen.overflow == 0
        assert seen.page.evaluate(SPLIT_NUMBERS) == []
        seen.keep(f"serve-why-{method}-phone-open", tmp_path)
        clean(seen, base_url)


def test_phone_tables_and_tiles_split_no_numbers(browser, base_url):
    for path in ("/", "/item/3", "/search?q=blue+figs"):
        with visit(browser, base_url + path, size=PHONE) as seen:
            assert seen.page.evaluate(SPLIT_NUMBERS) == []


def test_ranker_lists_come_soon_on_a_phone(browser, base_url):
    with visit(browser, f"{base_url}/item/3", size=PHONE) as seen:
        above = """document.querySelector(".list").getBoundingClientRect().top"""
        tiles = (
            f"""[...document.querySelectorAll(".tile")].filter((one) => one.getBoundingClientRect().top < {above})"""
        )
        assert seen.page.evaluate(f"{tiles}.length") == 4


@pytest.mark.parametrize("method", ["weft", "vote", "fg"])
def test_rows_of_an_explanation_are_reached_by_keyboard_and_labeled(browser, base_url, method):
    with visit(browser, base_url + WHY[method]) as seen:
        rows = seen.page.locator("svg.flow .share")
        labels = [row.get_attribute("aria-label") for row in rows.all()]
        assert len(labels) > 1
        assert all("of the score" in label for label in labels)
        rows.first.focus()
        reached = [seen.page.evaluate("document.activeElement.getAttribute('aria-label')")]
        for _ in labels[1:]:
            seen.page.keyboard.press("Tab")
            reached.append(seen.page.evaluate("document.activeElement.getAttribute('aria-label')"))
        assert reached == labels
        assert seen.page.locator("svg.flow .ends .role").all_text_contents() == ["query", "result"]


def test_hover_over_a_row_fades_the_others(browser, base_url):
    opacity = "(one) => Number(getComputedStyle(one.querySelector('.band')).strokeOpacity)"
    with visit(browser, base_url + WHY["weft"]) as seen:
        rows = seen.page.locator("svg.flow .share")
        rows.nth(1).locator("image").hover()
        assert rows.nth(1).evaluate(opacity) == 1
        assert rows.nth(0).evaluate(opacity) < 0.2


@pytest.mark.parametrize("path", ["/", "/search?q=blue+figs", WHY["vote"]])
def test_axe_finds_no_serious_violation(browser, base_url, path):
    with visit(browser, base_url + path, **WINDOWS["phone-dark"]) as seen:
        assert seen.violations() == []


def test_axe_finds_pale_text(browser, base_url):
    with visit(browser, f"{base_url}/") as seen:
        seen.page.evaluate("document.querySelector('h1').style.color = '#999'")
        assert [one.partition(":")[0] for one in seen.violations()] == ["color-contrast"]


@pytest.mark.long
@pytest.mark.parametrize("window", WINDOWS)
def test_every_page_is_kept_and_accessible(browser, base_url, tmp_path, window):
    pages = {**VIEWS, **{f"why-{name}": path for name, path in WHY.items()}, "document": "/item/3/document"}
    for name, path in {**pages, "lists": LISTS, "error": "/item/99"}.items():
        with visit(browser, base_url + path, **WINDOWS[window]) as seen:
            assert (seen.overflow, seen.violations()) == (0, []), name
            seen.keep(f"serve-{name}-{window}", tmp_path)
