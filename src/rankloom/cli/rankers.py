"""`rankloom rankers`: list the rankers."""

from rankloom.cli import app as cli
from rankloom.registry.docstrings import summary


@cli.app.command()
def rankers(plugin: cli.Plugin = None) -> None:
    """List the rankers of texts, images and vectors, those of plug-ins included, a line each.

    Example:

    rankloom rankers
    """
    from rankloom.rankers import RANKERS

    cli.print_names({name: summary(one) for name, one in RANKERS.items()})
