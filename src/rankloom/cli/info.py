"""`rankloom info`: show what a searcher contains."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from rankloom.cli import app as cli
from rankloom.cli.judgments import AsJson
from rankloom.io.folder import parsed_head, read_meta


def recalls(known: Mapping[str, float]) -> str:
    """Return what share of the nearest items lists by cells have, to append; nothing if all are exact."""
    return "".join(f"; {name} has {one:.1%} of the 20 nearest items" for name, one in known.items())


@cli.app.command()
def info(
    folder: Annotated[Path, cli.Argument(metavar="FOLDER", help="A folder written by rankloom build.")],
    as_json: AsJson = False,
    plugin: cli.Plugin = None,
) -> None:
    """Show a searcher's documents, fields, rankers, the results of their self-test, and how old its statistics are.

    Example:

    rankloom info shop.loom
    """
    from rankloom.searcher import Searcher
    from rankloom.searcher.storage import KIND, without_encoders

    meta = parsed_head(folder, read_meta(folder), KIND).meta
    searcher = Searcher.open(folder, encoders=without_encoders(meta))
    known = searcher.info()
    if as_json:
        cli.echo(json.dumps(known, indent=1))
        return
    named = ", ".join(name if name == spelled else f"{name}={spelled}" for name, spelled in known["rankers"].items())
    cli.print_names(
        {
            "documents": str(known["documents"]),
            "fields": ", ".join(f"{name} ({type})" for name, type in known["fields"].items()),
            "text": ", ".join(name for name in known["text"] if name in known["fields"]) or "none",
            "rankers": named,
            "lists": f"{known['depth']} items deep; weft uses {known['cutoff']}{recalls(known['recall'])}",
            "drift": drifted(known["statistics"]),
            "self-test": str(searcher.state.settings.guard or "none"),
        }
    )


def drifted(statistics: dict[str, Any]) -> str:
    """Return how old the statistics of words are, and what has changed since.

    Examples
    --------
    >>> drifted({"fitted": "2026-01-01T00:00:00+00:00", "days": 3, "newer": 1, "lists_changed": 0.25})
    '3 days old, 1 newer document; 25.0 % of the lists changed since the last merge'
    """
    age = "" if statistics["days"] is None else f"{cli.counted(statistics['days'], 'day')} old, "
    newer, changed = cli.counted(statistics["newer"], "newer document"), 100 * statistics["lists_changed"]
    return f"{age}{newer}; {changed:.1f} % of the lists changed since the last merge"
