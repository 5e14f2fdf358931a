"""The command line: files in, files out; bad input prints one sentence and exits with code 1."""

import sys
from importlib import import_module

from rankloom.cli import app as cli
from rankloom.cli.outputs import stopped

__all__ = ["main", "stopped"]

with cli.shown_warnings():  # of plug-ins, which are loaded for the help
    for name in cli.COMMANDS:
        import_module(f"rankloom.cli.{name}")  # which registers the command


def main() -> None:
    """Run the command line; characters that the terminal cannot show are replaced."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    cli.app(prog_name="rankloom")
