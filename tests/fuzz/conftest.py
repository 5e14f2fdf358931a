"""What makes thousands of cases quick."""

from functools import cache

import pytest
import typer.testing


@pytest.fixture(autouse=True, scope="session")
def quick():
    """Skip waiting for the disk, and make the commands once; both are tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield
