"""Ranks as runs of ranx, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloom.errors import needs_extra
from rankloom.ranks import Ranks

if TYPE_CHECKING:
    import ranx


def to_ranx(ranks: Ranks, name: str | None = None) -> ranx.Run:
    """Return ranks as a run of ranx; lists without scores get 1/position."""
    with needs_extra("to_ranx()", "ranx", "ranx"):
        from ranx import Run
    return Run({query: dict(items) for query, items in ranks.to_dict().items()}, name=name)


def from_ranx(run: ranx.Run, **options: Any) -> Ranks:
    """Return a run of ranx as ranks; the options are those of `Ranks.from_dict`."""
    return Ranks.from_dict({query: dict(items) for query, items in run.to_dict().items()}, **options)
