"""Running commands in process, and checking the error message of one that fails."""

from typer.testing import CliRunner

from rankloom.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def sentence(result):
    """Return the one-line error message of a failed command."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    return result.stderr.strip().removeprefix("Error: ")
