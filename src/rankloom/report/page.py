"""The report as one page of HTML that needs nothing else: styles and drawings are inside, nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankloom.errors import MissingExtraError
from rankloom.experiment.results import MethodRecord, Results, SelectionRecord, names
from rankloom.report.findings import answer, settings
from rankloom.report.formats import Table
from rankloom.report.plots import Plot


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    anchor : str
        Where links of the page lead.
    title, intro : str
    tables, plots
        What it shows; one without any says why in `missing`.
    missing : str
        One sentence.
    folded : bool
        Whether the tables repeat what the plots show, and are folded away.
    """

    anchor: str
    title: str
    intro: str
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    missing: str = ""
    folded: bool = False


def to_html(results: Results, sections: list[Section]) -> str:
    """Return the page.

    Raises
    ------
    MissingExtraError
        Where jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("The report", "jinja2", "report") from None
    environment = Environment(
        loader=PackageLoader("rankloom.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(
        title=results.experiment.name,
        collection=results.about.get("collection", ""),
        answer=answer(results),
        facts=_facts(results),
        sections=sections,
        made=_made(results),
        notes=_several(results.about.get("notes")),
        toml=results.experiment.to_toml(),
    )


def _facts(results: Results) -> list[tuple[str, str]]:
    spec, about = results.experiment, results.about
    facts: list[tuple[str, Any]] = [("Items", about.get("n_items")), ("Queries", about.get("n_queries"))]
    ran, asked = len(names(results.of(MethodRecord), "method")), len(spec.methods)
    facts += [("Rankers", len(spec.rankers)), ("Methods", ran if ran == asked else f"{ran} of {asked}")]
    facts += [("Selections", len(results.of(SelectionRecord)))]
    facts += [("Main measure", results.main), ("Cutoff L", spec.cutoff)]
    return [(name, _grouped(value)) for name, value in facts if value is not None]


def _made(results: Results) -> list[tuple[str, str]]:
    about, spec = results.about, results.experiment
    pairs = [("Command", about.get("command")), ("Started", about.get("started")), ("Machine", about.get("machine"))]
    pairs += [("Versions", about.get("versions")), ("Seed", spec.seed), ("Specification's digest", spec.digest)]
    found = settings(results)
    if set(found) - {about.get("made", "")}:  # steps of an earlier run, maybe elsewhere
        pairs += [(f"{count} steps timed with", made or "what is not known") for made, count in found.items()]
    return [(name, _line(value)) for name, value in pairs if value not in (None, "", {}, [])]


def _line(value: Any) -> str:
    """Return what is known as one line: a mapping as its pairs, a list as its parts."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_line(one)}" for key, one in value.items())
    return ", ".join(map(_line, value)) if isinstance(value, list | tuple) else str(value)


def _several(notes: Any) -> list[str]:
    if not notes:
        return []
    return [notes] if isinstance(notes, str) else [_line(note) for note in notes]


def _grouped(value: Any) -> str:
    """Return a number with a thin space between thousands; anything else as it is."""
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)
