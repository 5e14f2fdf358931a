"""Fixtures for the tests of collections."""

import pytest


@pytest.fixture
def write():
    """Return a function that writes text or bytes, creating folders, and returns the path as a string."""

    def write_file(path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write_file
