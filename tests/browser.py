"""Pages in a real browser: Debian's Chromium, driven by playwright."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
#: The windows that every kind of page is looked at in.
WINDOWS = {
    "desktop": {"size": DESKTOP, "scheme": "light"},
    "phone": {"size": PHONE, "scheme": "light"},
    "dark": {"size": DESKTOP, "scheme": "dark"},
    "phone-dark": {"size": PHONE, "scheme": "dark"},
}

LOAD_IMAGES = """() => {
    const images = [...document.images];
    for (const one of images) one.loading = "eager";
    const loaded = (one) => one.complete || new Promise((done) => { one.onload = one.onerror = done; });
    return Promise.all(images.map(loaded));
}"""


def missing(reason):
    """Skip the test, or fail it in CI: a test that is skipped there is never run at all."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def chromium():
    """Give a headless Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install 'rankloom[dev]'")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing(f"no browser: none of {', '.join(PROGRAMS)} is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page opened, with what it asked for and what it complained about."""

    def __init__(self, page):
        self.page = page
        self.requests, self.complaints = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    @property
    def overflow(self):
        """By how many pixels the page is broader than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def violations(self):
        """Return the serious and critical violations that axe finds: contrast, names of controls, landmarks."""
        try:
            from axe_playwright_python.sync_playwright import Axe
        except ImportError:
            missing("axe is not installed: pip install 'rankloom[dev]'")
        found = Axe().run(self.page).response["violations"]
        return [
            f"{one['id']}: {node['html'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    def keep(self, name, fallback):
        """Keep a screenshot of the whole page, with the images that are loaded as one scrolls."""
        self.page.evaluate(LOAD_IMAGES)
        file = artifacts(fallback) / f"{name}.png"
        self.page.screenshot(path=file, full_page=True)
        assert file.stat().st_size > 5000


@contextmanager
def visit(browser, address, *, size=DESKTOP, scheme="light"):
    """Open an address in a fresh window of a size, in light or dark."""
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    seen = Visit(context.new_page())
    seen.page.goto(address)
    yield seen
    context.close()


def artifacts(fallback):
    """Return the folder for screenshots: that of the run, if the environment names one."""
    folder = Path(os.environ.get("RANKLOOM_ARTIFACTS") or fallback)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
