"""`rankloom cite`: references of methods as BibTeX."""

from typing import Annotated

from rankloom.aggregate import METHODS, SUPERVISED
from rankloom.cli import app as cli
from rankloom.io.version import __version__
from rankloom.registry.citations import references

SOFTWARE = f"""@software{{rankloom,
  author = {{{{The rankloom developers}}}},
  title = {{{{rankloom}}}},
  version = {{{__version__}}},
}}"""


@cli.app.command()
def cite(
    methods: Annotated[
        list[str] | None, cli.Argument(metavar="METHOD...", help="Methods, by name; all without any.")
    ] = None,
    plugin: cli.Plugin = None,
) -> None:
    """Print the publications of methods as BibTeX; of methods that are our own, the software.

    Example:

    rankloom cite fg rrf
    """
    names = methods or [*METHODS, *SUPERVISED]
    entries: dict[str, str] = {}
    for name in names:
        found = references(SUPERVISED[name] if name in SUPERVISED else METHODS[name])
        entries |= {one.key: one.bibtex for one in found} or {"rankloom": SOFTWARE}
    cli.echo("\n\n".join(entries.values()))
