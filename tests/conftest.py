"""What all tests share: the Hypothesis profiles, the folder of real collections next to the repository, a browser."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from browser import chromium

# Machines differ in speed; the same examples on each run.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("full", settings.get_profile("quick"), max_examples=100)  # make check
settings.load_profile("quick")

#: A browser, and a server.
LONG_FIXTURES = {"browser", "running"}


def pytest_collection_modifyitems(items):
    for item in items:
        if LONG_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of data and golden results that the repository does not carry."""
    folder = Path(__file__).parents[1].parent / "shared"
    if not folder.is_dir():
        reason = f"the folder of shared data is absent: {folder}"
        if os.environ.get("CI"):
            pytest.fail(reason)  # a test that is skipped in CI is never run at all
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    with chromium() as opened:
        yield opened
