"""The command line in process: run a command, and expect one sentence where its input is wrong."""

from typer.testing import CliRunner

from rankloom.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def sentence(result):
    """The one sentence of a command that was given something wrong."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    return result.stderr.strip().removeprefix("Error: ")
