"""The command line: files in, files out; one sentence and exit code 1 for bad input."""

from rankloom.cli import fusing, judging, ranking, studying
from rankloom.cli.app import app

__all__ = ["app", "fusing", "judging", "main", "ranking", "studying"]


def main() -> None:
    """Run the command line."""
    app(prog_name="rankloom")
