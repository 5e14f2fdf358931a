"""Drift: how far a searcher is from what a build of its documents would give."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any

from rankloom.errors import RankloomWarning
from rankloom.searcher.field_types import instant, microseconds
from rankloom.searcher.retriever import Model
from rankloom.searcher.state import State

DAY = 86_400_000_000  # microseconds
MAX_NEWER = 1 / 3  # share of the documents that may be newer than the statistics
MAX_IN_CELLS = 1 / 10  # share of the documents that may be newer than the cells of vectors


def warn_of_cells(before: State, after: State) -> None:
    """Warn when an update lets cells become old."""
    names = [name for name, lists in after.item_lists.items() if lists.recall is not None]
    was_new, newer, n = before.settings.newer <= MAX_IN_CELLS * len(before), after.settings.newer, len(after)
    if names and was_new and newer > MAX_IN_CELLS * n:
        message = f"{newer} of {n} documents are newer than the cells of {', '.join(names)}; compact the searcher."
        warnings.warn(message, RankloomWarning, stacklevel=4)


def drift(state: State) -> dict[str, Any]:
    """Return the age of the statistics, what has changed since, and how encoders differ; warn if it is much."""
    n, newer = len(state), state.settings.newer
    if newer > MAX_NEWER * n:
        message = (
            f"{newer} of {n} documents are newer than the statistics of words; compact the searcher to renew them."
        )
        warnings.warn(message, RankloomWarning, stacklevel=3)
    changed = [lists.share_changed for lists in state.item_lists.values()]
    since = instant(state.settings.fitted)
    statistics = {
        "fitted": state.settings.fitted or None,
        "days": None if since is None else (microseconds(datetime.now(UTC)) - since) // DAY,
        "newer": newer,
        "lists_changed": round(sum(changed) / len(changed), 4) if changed else 0.0,
    }
    models = {name: known for name, known in state.retrievers.items() if isinstance(known, Model)}
    cosines = {name: model.probe_cosine() for name, model in models.items()}
    return {
        "statistics": statistics,
        "encoders": {name: round(cosine, 6) for name, cosine in cosines.items() if cosine is not None},
    }
