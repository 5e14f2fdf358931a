"""Generate the pages that document the code; run by `make docs`, and a test checks that they are up to date."""

import inspect
import sys
import textwrap
from collections import Counter
from pathlib import Path

import typer

from rankloom.aggregate import QueryMethod
from rankloom.cli.app import app
from rankloom.methods import METHODS, SUPERVISED
from rankloom.registry import options_of

HERE = Path(__file__).parent
OVERVIEW_HEAD = ("| name | method | checked against |", "|---|---|---|")
OPTION_HEAD = ("| argument or option | meaning |", "|---|---|")
SHARED = 3  # an option of as many commands is explained once
sys.path.insert(0, str(HERE / "tools"))

from docstrings import UNBROKEN, WIDTH, as_markdown  # noqa: E402  # in the folder named above
from oracles import CHECKED, RANX, UDLF  # noqa: E402
from pictures import pictures  # noqa: E402


def command_line():
    """Return the page of the commands and their options."""
    group = typer.main.get_command(app)
    commands = [(name, group.commands[name]) for name in group.list_commands(None)]
    uses = Counter(option_row(one) for _, command in commands for one in command.params)
    shared = [row for row, count in uses.items() if count >= SHARED and row.startswith("| `-")]
    head = [
        "# Command line",
        "",
        f"{group.help}",
        "",
        "Bad input prints one sentence and exits with code 1, wrong usage with 2. Ctrl+C exits with 130, or 0",
        "for a server, and says what is written. Defaults are in parentheses; flags are off by default.",
    ]
    sections = [command_section(name, command, shared) for name, command in commands]
    return "\n".join([*head, "", *sections, "## Shared options", "", *OPTION_HEAD, *shared, ""])


def command_section(name, command, shared):
    """Return the section of a command."""
    text, example = inspect.cleandoc(command.help or "").split("Example", 1)
    lines = [f"## rankloom {name}", "", text.strip(), "", "```sh"]
    lines += [line for line in example.splitlines() if line.startswith("rankloom")]
    rows = [option_row(one) for one in command.params if "--help" not in one.opts]
    lines += ["```", "", *OPTION_HEAD, *(row for row in rows if row not in shared), ""]
    also = [row.split("|")[1].partition("(")[0].strip() for row in rows if row in shared]
    if also:
        lines += [wrapped(f"Also {', '.join(also)}: [shared options](#shared-options)."), ""]
    return "\n".join(lines)


def option_row(parameter):
    """Return the row of an argument or option."""
    names = [*parameter.opts, *parameter.secondary_opts]
    shown = ", ".join(f"`{opt}`" for opt in names) if names[0].startswith("-") else f"`{parameter.metavar}`"
    known = not parameter.required and parameter.default not in (None, [], False)
    return f"| {shown} (`{parameter.default}`) | {parameter.help} |" if known else f"| {shown} | {parameter.help} |"


def methods():
    """Return the page of the methods, with their docstrings and options."""
    head = [
        "# Methods",
        "",
        wrapped(
            "`rl.fuse(ranks, method=NAME, OPTION=VALUE)` in Python, or a value of the method's class, as in "
            "`rl.fuse(ranks, RRF(constant=20))` with `from rankloom.methods import RRF`; "
            "`rankloom fuse --method NAME --set OPTION=VALUE` in a shell, with lists written as in `weights=1,2`. "
            "Under each name is the class of the method with the defaults of its options; "
            "those not described are those of `rrf` and `combsum`."
        ),
        "",
    ]
    table = [
        "Methods that work on one query at a time:",
        "",
        *overview("queries"),
        "",
        "Methods that need the lists of the whole collection, with each item as a query:",
        "",
        *overview("collection"),
        "",
        *oracles(),
    ]
    parts = [
        *head,
        *table,
        *trained_methods(),
        *from_ranx(),
        *from_udlf(),
        *(method(name, METHODS[name]) for name in sorted(METHODS)),
        *(method(name, SUPERVISED[name]) for name in sorted(SUPERVISED)),
    ]
    return "\n".join(parts)


def overview(needs):
    """Yield the table of the methods that need the same lists."""
    yield from OVERVIEW_HEAD
    yield from (overview_row(name, one) for name, one in sorted(METHODS.items()) if needed(one) == needs)


def overview_row(name, one):
    """Return the row of a method."""
    return f"| [`{name}`](#{name}) | {first_line(one)} | {oracle(name)} |"


def trained_methods():
    """Yield the lines on methods that learn from judged queries."""
    yield wrapped(
        "Methods that learn from judged queries: `trained = rl.train(ranks, qrels, method=NAME, OPTION=VALUE)`, then "
        "`rl.fuse(others, method=trained)`; `rankloom.methods.cross_validate` does both on parts of the same queries. "
        "`optimize` of that module finds options and weights of any method that sees one query at a time "
        "([how](training.md))."
    )
    yield from ("", *OVERVIEW_HEAD, *(overview_row(name, one) for name, one in sorted(SUPERVISED.items())))
    yield ""


def oracle(name):
    """Return what the results of a method are compared with."""
    return ", ".join(CHECKED[name])


def oracles():
    """Yield the explanation of the last column."""
    yield wrapped(
        "Checked against: UDLF, crecknn and the authors' program of `fg`, by their stored results on digits "
        "(`tests/golden`; complete lists, and fusions of three rankers, where the reference data is available); a "
        "transcript of UDLF: a program written down from UDLF's source, where there are no results of UDLF itself; "
        "ranx, on random runs; a plain version, written for the tests from the formulas of the article; or all "
        "permutations. Cell for cell, with these exceptions: `bfstree`, 2 of 90,000 cells; `corgraph`, by value, the "
        "same top 10 in 99.6 % or more; `rfe`, in 98.8 % or more; in all three, float32 breaks near ties. "
        "`docs/tools/oracles.py` names the tests."
    )
    yield ""


def from_udlf():
    """Yield the table of the names that UDLF gives the methods."""
    yield wrapped(
        "Methods of UDLF have the same names here, in lower case, but those in the table. "
        "UDLF's K (TOPK, K_END) is `neighbors`, L (CK) is `depth`, and T is "
        "`iterations`, for RDPAC the number of steps from K_START to K_END. It requires L to be at most the size of "
        "the collection; here a larger `depth` means whole lists. It does not fuse rankers by BFSTREE and RLRECOM; "
        "here their lists are fused by `rrf` first. RLSIM's METRIC is `measure`, in lower case."
    )
    yield from ("", "| UDLF | here |", "|---|---|")
    yield from (f"| {theirs} | `{ours}` |" for theirs, ours in UDLF.items() if ours != theirs.lower())
    yield ""


def from_ranx():
    """Yield the table of the names that ranx gives the methods."""
    yield wrapped(
        "Methods of ranx have the same names here, but those in the table. "
        "ranx breaks ties, draws and constant lists differently, see "
        "`tests/aggregate/test_ranx.py`; its `optimize_fusion` is `rankloom.methods.optimize`, its "
        "`norm` is `normalization`."
    )
    yield from ("", "| ranx | here |", "|---|---|")
    yield from (f"| {theirs} | `{ours}` |" for theirs, ours in RANX.items() if ours != theirs)
    yield ""


def first_line(documented):
    """Return the first line of a docstring."""
    return (inspect.getdoc(documented) or "").splitlines()[0].rstrip(".")


def method(name, one):
    """Return the section of a method."""
    options = ", ".join(f"{option}={value.default!r}" for option, value in options_of(one).items())
    return "\n".join(
        [f"## {name}", "", wrapped(f"`{one.__name__}({options})`"), "", as_markdown(inspect.getdoc(one) or "")]
    )


def needed(method):
    """Return whose lists a method needs."""
    return "queries" if issubclass(method, QueryMethod) else "collection"


def wrapped(text):
    """Return a paragraph in lines that are not too long."""
    return textwrap.fill(text, WIDTH, **UNBROKEN)


PAGES = {HERE / "command-line.md": command_line, HERE / "methods.md": methods}


def made():
    """Return everything that is generated, by path."""
    pages = {path: make() for path, make in PAGES.items()}
    return {**pages, **{HERE / "pictures" / name: svg for name, svg in pictures().items()}}


if __name__ == "__main__":
    for path, text in made().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
