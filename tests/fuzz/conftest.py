"""What the fuzz tests share."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def without_waiting_for_the_disk():
    """Thousands of small files are written; that they are synced is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield
