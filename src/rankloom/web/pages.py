"""HTML pages from templates, and static files under names that change with their content."""

import hashlib
from collections.abc import Iterator, Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

from rankloom.aggregate import METHODS
from rankloom.io.version import __version__
from rankloom.rankers import RANKERS
from rankloom.registry import Call
from rankloom.registry.docstrings import summary
from rankloom.searcher.request import AUTO
from rankloom.web.flow_view import draw_flow
from rankloom.web.queries import Values, with_parameters
from rankloom.web.tiles import marked, rows, tiles

AUTO_SUMMARY = "The method that suits the query: weft for an item or an image, vote for words."
N_COLORS = 8  # of rankers, in page.css
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class Pages:
    """The templates and static files of the package."""

    def __init__(self) -> None:
        self.files = dict(_files())
        self._environment = Environment(
            loader=PackageLoader("rankloom.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {"marked": marked, "rows": rows, "tiles": tiles}
        self._environment.filters |= {"flow": draw_flow, "colors": ranker_colors}
        self._environment.filters |= {"method_summary": method_summary, "ranker_summary": ranker_summary}
        self._environment.globals |= {"static": self.url, "version": __version__}
        self._environment.globals |= {"json_url": json_url, "with_parameters": with_parameters}

    def url(self, name: str) -> str:
        """Return the URL of a static file."""
        stem, _, kind = name.rpartition(".")
        return next(f"/static/{file}" for file in self.files if file.startswith(f"{stem}.") and file.endswith(kind))

    def render(self, template: str, **values: object) -> str:
        """Return the HTML of a page."""
        return self._environment.get_template(template).render(**values)


def _files() -> Iterator[tuple[str, tuple[bytes, str]]]:
    for file in sorted((resources.files("rankloom.web") / "static").iterdir(), key=lambda file: file.name):
        stem, _, kind = file.name.rpartition(".")
        if kind in TYPES:
            content = file.read_bytes()
            yield f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{kind}", (content, TYPES[kind])


def method_summary(spelled: str) -> str:
    """Return the first line of a method's docstring."""
    name = Call.parse(spelled).name
    return AUTO_SUMMARY if name == AUTO else summary(METHODS[name])


def ranker_summary(name: str) -> str:
    """Return the first line of a ranker's docstring; empty if it is not registered under this name."""
    known = Call.parse(name).name
    return summary(RANKERS[known]) if known in RANKERS else ""


def ranker_colors(rankers: Sequence[Values]) -> dict[str, str]:
    """Return the CSS class that gives each ranker its color."""
    return {ranker["name"]: f"r{number % N_COLORS}" for number, ranker in enumerate(rankers)}


def json_url(url: str) -> str:
    """Return the URL of the same data as JSON: /item/7.json?k=5 for /item/7?k=5."""
    path, mark, parameters = url.partition("?")
    return f"{path}.json{mark}{parameters}"
