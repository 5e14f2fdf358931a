"""Generate the pages that document the code; run by `make docs`, and a test checks that they are up to date."""

import inspect
import textwrap
from pathlib import Path

import typer

import rankloom as rl
from rankloom.cli import app

HERE = Path(__file__).parent


def command_line():
    """Return the page of the commands and their options."""
    group = typer.main.get_command(app)
    sections = [command(name, group.commands[name]) for name in group.list_commands(None)]
    head = [
        "# Command line",
        "",
        f"{group.help}",
        "",
        "Bad input prints one sentence and exits with code 1, wrong usage with 2, Ctrl+C with 130 (0 for a server).",
    ]
    return "\n".join([*head, "", *sections])


def command(name, one):
    """Return the section of a command."""
    text, example = inspect.cleandoc(one.help or "").split("Example", 1)
    lines = [f"## rankloom {name}", "", text.strip(), "", "```sh"]
    lines += [line for line in example.splitlines() if line.startswith("rankloom")]
    lines += ["```", "", "| argument or option | default | meaning |", "|---|---|---|"]
    for parameter in one.params:
        if "--help" in parameter.opts:
            continue
        names = [*parameter.opts, *parameter.secondary_opts]
        shown = ", ".join(f"`{opt}`" for opt in names) if names[0].startswith("-") else f"`{parameter.metavar}`"
        default = "" if parameter.required or parameter.default in (None, []) else f"`{parameter.default}`"
        lines.append(f"| {shown} | {default} | {parameter.help} |")
    return "\n".join([*lines, ""])


def methods():
    """Return the page of the methods, with their docstrings and options."""
    head = [
        "# Methods",
        "",
        wrapped(
            "`rl.fuse(ranks, method=NAME, OPTION=VALUE)` in Python; "
            "`rankloom fuse --method NAME --set OPTION=VALUE` in a shell, with lists written as in `weights=1,2`."
        ),
        "",
    ]
    rows = [f"| [`{name}`](#{name}) | {summary(name)} | {rl.METHODS[name].needs} |" for name in sorted(rl.METHODS)]
    table = ["| name | method | needs the lists of the |", "|---|---|---|", *rows, ""]
    return "\n".join([*head, *table, *(method(name) for name in sorted(rl.METHODS))])


def summary(name):
    """Return the first line of a method's docstring."""
    return (inspect.getdoc(rl.METHODS[name].function) or "").splitlines()[0].rstrip(".")


def method(name):
    """Return the section of a method."""
    one = rl.METHODS[name]
    needs = {
        "queries": "Works on one query at a time.",
        "collection": "Needs the lists of the whole collection, with each item as a query.",
    }[one.needs]
    defaults = {
        option: parameter.default
        for option, parameter in inspect.signature(one.function).parameters.items()
        if option in one.options()
    }
    options = wrapped(f"Options: {', '.join(f'`{option}={default!r}`' for option, default in defaults.items())}.")
    return "\n".join([f"## {name}", "", needs, "", options, "", "```", inspect.getdoc(one.function) or "", "```", ""])


def wrapped(text):
    """Return a paragraph in lines of at most 120 columns."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


PAGES = {HERE / "command-line.md": command_line, HERE / "methods.md": methods}

if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make())
