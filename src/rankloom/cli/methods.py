"""`rankloom methods`: list the fusion methods."""

from rankloom.aggregate import METHODS, SUPERVISED
from rankloom.cli import app as cli
from rankloom.registry.docstrings import summary


@cli.app.command()
def methods(plugin: cli.Plugin = None) -> None:
    """List the fusion methods, those of plug-ins included, a line each.

    Example:

    rankloom methods
    """
    trained = {name: f"{summary(one)} Trained in Python: rl.train." for name, one in SUPERVISED.items()}
    cli.print_names({name: summary(one) for name, one in METHODS.items()} | trained)
