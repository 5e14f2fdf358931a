"""Write docs/command-line.md from the help texts; `make docs` runs it, and a test checks that it is up to date."""

from pathlib import Path

from typer.testing import CliRunner

from rankloom.cli import app

PAGE = Path(__file__).parent / "command-line.md"


def page():
    """Return the page as it should be."""
    commands = ["", *(command.name or command.callback.__name__ for command in app.registered_commands)]
    sections = [section(command) for command in commands]
    return "\n".join(["# Command line", "", "Made from the help texts by `make docs`.", "", *sections])


def section(command):
    """Return the help text of a command as it stands in a terminal of 80 columns."""
    arguments = [command, "--help"] if command else ["--help"]
    text = CliRunner().invoke(app, arguments, prog_name="rankloom", terminal_width=80).stdout
    return f"## rankloom {command}".rstrip() + f"\n\n```\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page())
