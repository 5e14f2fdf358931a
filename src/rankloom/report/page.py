"""The report as one self-contained HTML page: styles and plots are inline, nothing is fetched."""

from collections.abc import Sequence
from dataclasses import dataclass

from rankloom.errors import needs_extra
from rankloom.experiment.results import ExamplesRecord, MethodRecord, Results, SelectionRecord, distinct
from rankloom.report.findings import environments
from rankloom.report.formats import Table
from rankloom.report.plots import Plot
from rankloom.report.report import Report
from rankloom.report.summary import summarize


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report."""

    anchor: str  #: fragment of its links
    title: str
    intro: str
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    missing: str = ""  #: what to show if there is nothing else: the reason, in one sentence
    folded: Sequence[Table] = ()  #: collapsed, because they repeat the plots or another table in more detail
    examples: ExamplesRecord | None = None  #: queries with their lists, to look at

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show but the reason why."""
        return not (self.tables or self.plots or self.folded or self.examples)


def to_html(report: Report, sections: list[Section], files: str = "") -> str:
    """Return the page; `files` is the folder beside it with tables and plots, if they are not in the page's own."""
    with needs_extra("The report", "jinja2", "report"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    environment = Environment(
        loader=PackageLoader("rankloom.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    alone, experiments = report.alone, report.experiments
    return environment.get_template("page.html.j2").render(
        title=alone.experiment.name if alone else f"{len(experiments)} experiments",
        collection=alone.about.get("collection", "") if alone else ", ".join(experiments),
        summary=summarize(report),
        facts=[(name, _grouped(value)) for name, value in (_facts(alone) if alone else _joint_facts(report)).items()],
        sections=sections,
        provenance=[(label, _provenance(results)) for label, results in experiments.items()],
        notes=[
            note if alone else f"{label}: {note}"
            for label, results in experiments.items()
            for note in results.about.get("notes", ())
        ],
        specification=alone.experiment.to_toml() if alone else "",
        files=files,
    )


def _joint_facts(report: Report) -> dict[str, object]:
    every = report.experiments.values()
    return {
        "Experiments": len(every),
        "Collections": len({str(results.experiment.collection) for results in every}),
        "Methods": len({record.method for results in every for record in results.of(MethodRecord)}),
        "Queries": sum(results.about.get("n_queries") or 0 for results in every),
        "Rankers": sum(len(results.experiment.rankers) for results in every),
        "Selections": sum(len(results.of(SelectionRecord)) for results in every),
    }


def _facts(results: Results) -> dict[str, object]:
    spec, about = results.experiment, results.about
    n_run, n_requested = len(distinct(results.of(MethodRecord), "method")), len(spec.methods)
    sizes = {"Items": about.get("n_items"), "Queries": about.get("n_queries")}
    return {name: size for name, size in sizes.items() if size is not None} | {
        "Rankers": len(spec.rankers),
        "Methods": n_run if n_run == n_requested else f"{n_run} of {n_requested}",
        "Selections": len(results.of(SelectionRecord)),
        "Main measure": results.main,
        "Cutoff": spec.cutoff,
    }


def _provenance(results: Results) -> list[tuple[str, str]]:
    about, spec = results.about, results.experiment
    pairs = [("Command", about.get("command")), ("Started", about.get("started")), ("Machine", about.get("machine"))]
    pairs += [("Versions", ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items()))]
    pairs += [("Seed", str(spec.seed)), ("Specification digest", spec.digest)]
    counts = environments(results)
    if set(counts) - {about.get("made", "")}:  # some steps are from an earlier run
        pairs += [(f"Timed steps: {count}", made or "environment unknown") for made, count in counts.items()]
    return [(name, value) for name, value in pairs if value]


def _grouped(value: object) -> str:
    """Return an integer with thin spaces between thousands, anything else unchanged."""
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)
