"""The report page in a browser: offline, wide and narrow, light and dark."""

import pytest
from sample_results import ALL_SECTIONS, example_records, method_records, other_records, ranker_records, results

from browser import DESKTOP, PHONE, WINDOWS, visit
from rankloom.report import PAGE, Report, render


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    methods = method_records({"fg": 0.66, "rrf": 0.6, "combsum": 0.72, "borda": 0.661})  # worse, better, a tie
    found = results([*ranker_records(), *methods, *other_records(), *example_records()])
    folder = tmp_path_factory.mktemp("report")
    return render(Report.of(found), folder / PAGE, files=folder).as_uri()


def test_page_opens_from_a_file_and_fetches_nothing_else(browser, address):
    with visit(browser, address) as seen:
        assert seen.page.title() == "Soccer, three rankers"
        assert seen.requests == [address]
        assert seen.complaints == []


def test_every_link_of_the_contents_has_a_visible_section(browser, address):
    with visit(browser, address) as seen:
        links = seen.page.locator("nav a")
        assert [link.get_attribute("href") for link in links.all()] == [
            "#summary",
            *(f"#{name}" for name in ALL_SECTIONS),
        ]
        for name in ALL_SECTIONS:
            assert seen.page.locator(f"#{name}").is_visible()


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_page_is_never_wider_than_the_window(browser, address, size):
    with visit(browser, address, size=size) as seen:
        for summary in seen.page.locator("summary").all():
            summary.click()
        assert seen.overflow == 0


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_plots_fit_their_section_without_scrolling(browser, address, size):
    with visit(browser, address, size=size) as seen:
        wider = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
        assert seen.page.locator("figure").evaluate_all(wider) == 0


def test_heat_maps_have_one_size(browser, address):
    with visit(browser, address) as seen:
        sizes = seen.page.locator("section[aria-labelledby=correlations] svg:visible").evaluate_all(
            "all => all.map(one => Math.round(one.getBoundingClientRect().width))"
        )
        assert len(sizes) == 3
        assert len(set(sizes)) == 1


def test_tables_of_each_selection_are_folded(browser, address):
    with visit(browser, address) as seen:
        tables = seen.page.locator("section[aria-labelledby=methods] table")
        assert [table.is_visible() for table in tables.all()] == [True, False, False]
        seen.page.get_by_text("Selection best two: acc + bic").first.click()
        assert [table.is_visible() for table in tables.all()] == [True, False, True]


def test_examples_show_both_lists_with_relevance(browser, address):
    with visit(browser, address) as seen:
        first = seen.page.locator("article.example").first
        assert "+0.5000" in first.inner_text()
        assert first.locator("ol.list").count() == 2
        assert first.locator("img").count() == 3  # the query, and two items
        assert first.locator("li.relevant").count() == 1


@pytest.mark.parametrize("window", WINDOWS)
def test_text_has_enough_contrast(browser, address, tmp_path, window):
    with visit(browser, address, **WINDOWS[window]) as seen:
        seen.keep(f"report-{window}", tmp_path)
        assert seen.violations() == []
        assert contrast(seen.page, "body") >= 4.5
        assert contrast(seen.page, "nav h2") >= 4.5
        for mark in (".mark.better", ".mark.worse", ".mark.tie"):
            assert contrast(seen.page, mark) >= 4.5
        assert seen.page.locator("td.mark.worse").first.inner_text().split() == ["−0.0500*", "significantly", "worse"]


def test_plot_labels_stay_inside_the_plot(browser, address):
    with visit(browser, address) as seen:
        outside = seen.page.evaluate(
            """() => [...document.querySelectorAll('svg text')].filter(text => {
                const a = text.getBoundingClientRect(), b = text.closest('svg').getBoundingClientRect();
                return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
            }).map(text => text.textContent)"""
        )
        assert outside == []


def contrast(page, selector):
    """Return the contrast of the first matching element's text with its background (WCAG 2.1)."""
    return page.evaluate(
        """selector => {
            const light = color => color.match(/[0-9.]+/g).slice(0, 3).map(Number).map(v => v / 255)
                .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
            const element = document.querySelector(selector);
            const clear = one => ['rgba(0, 0, 0, 0)', 'transparent'].includes(getComputedStyle(one).backgroundColor);
            let background = element;
            while (clear(background)) background = background.parentElement;
            const a = light(getComputedStyle(element).color), b = light(getComputedStyle(background).backgroundColor);
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        }""",
        selector,
    )
