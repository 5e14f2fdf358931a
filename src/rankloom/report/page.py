"""The report as one self-contained HTML page: styles and plots are inline, nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankloom.errors import MissingExtraError
from rankloom.experiment.results import ExamplesRecord, MethodRecord, Results, SelectionRecord, distinct
from rankloom.report.findings import environments, summarize
from rankloom.report.formats import Table
from rankloom.report.joint import Joint
from rankloom.report.joint_summary import summarize_all
from rankloom.report.plots import Plot


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    anchor : str
        Fragment of its links.
    title, intro : str
    tables, plots
        Its content.
    folded : tuple of Table
        Tables that are collapsed, because they repeat the plots or another table in more detail.
    examples : ExamplesRecord, optional
        Queries with their lists, to look at.
    missing : str
        Shown instead if there is no content: the reason, in one sentence.
    """

    anchor: str
    title: str
    intro: str
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    folded: tuple[Table, ...] = ()
    examples: ExamplesRecord | None = None
    missing: str = ""


def to_html(results: Results, sections: list[Section]) -> str:
    """Return the page.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    return _rendered(
        "report.html.j2",
        title=results.experiment.name,
        collection=results.about.get("collection", ""),
        summary=summarize(results),
        facts=_facts(results),
        sections=sections,
        provenance=_provenance(results),
        notes=_notes(results.about.get("notes")),
        toml=results.experiment.to_toml(),
    )


def joint_to_html(joint: Joint, sections: list[Section], files: str) -> str:
    """Return the page over several experiments; `files` is the name of the folder of its tables and plots.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    return _rendered(
        "joint.html.j2",
        title=f"{len(joint.experiments)} experiments" if len(joint.experiments) > 1 else "One experiment",
        collection=", ".join(joint.experiments),
        summary=summarize_all(joint),
        facts=_joint_facts(joint),
        sections=sections,
        provenance=[(label, _provenance(results)) for label, results in joint.experiments.items()],
        notes=[
            f"{label}: {note}"
            for label, results in joint.experiments.items()
            for note in _notes(results.about.get("notes"))
        ],
        files=files,
    )


def _rendered(template: str, **content: Any) -> str:
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
    return environment.get_template(template).render(**content)


def _joint_facts(joint: Joint) -> list[tuple[str, str]]:
    every = list(joint.experiments.values())
    collections = {str(results.experiment.collection) for results in every}
    methods = {one.method for results in every for one in results.of(MethodRecord)}
    facts = [("Experiments", len(every)), ("Collections", len(collections)), ("Methods", len(methods))]
    facts += [("Queries", sum(results.about.get("n_queries") or 0 for results in every))]
    facts += [("Rankers", sum(len(results.experiment.rankers) for results in every))]
    facts += [("Selections", sum(len(results.of(SelectionRecord)) for results in every))]
    return [(name, _grouped(value)) for name, value in facts]


def _facts(results: Results) -> list[tuple[str, str]]:
    spec, about = results.experiment, results.about
    facts: list[tuple[str, Any]] = [("Items", about.get("n_items")), ("Queries", about.get("n_queries"))]
    ran, requested = len(distinct(results.of(MethodRecord), "method")), len(spec.methods)
    facts += [("Rankers", len(spec.rankers)), ("Methods", ran if ran == requested else f"{ran} of {requested}")]
    facts += [("Selections", len(results.of(SelectionRecord)))]
    facts += [("Main measure", results.main), ("Cutoff", spec.cutoff)]
    return [(name, _grouped(value)) for name, value in facts if value is not None]


def _provenance(results: Results) -> list[tuple[str, str]]:
    about, spec = results.about, results.experiment
    pairs = [("Command", about.get("command")), ("Started", about.get("started")), ("Machine", about.get("machine"))]
    pairs += [("Versions", about.get("versions")), ("Seed", spec.seed), ("Specification digest", spec.digest)]
    counts = environments(results)
    if set(counts) - {about.get("made", "")}:  # some steps are from an earlier run
        pairs += [(f"Timed steps: {count}", made or "environment unknown") for made, count in counts.items()]
    return [(name, _line(value)) for name, value in pairs if value not in (None, "", {}, [])]


def _line(value: Any) -> str:
    """Return a value as one line; mappings and lists are joined with commas."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_line(one)}" for key, one in value.items())
    return ", ".join(map(_line, value)) if isinstance(value, list | tuple) else str(value)


def _notes(notes: Any) -> list[str]:
    if not notes:
        return []
    return [notes] if isinstance(notes, str) else [_line(note) for note in notes]


def _grouped(value: Any) -> str:
    """Return an integer with thin spaces between thousands, anything else unchanged."""
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)
