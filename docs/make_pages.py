"""Generate the pages that document the code; run by `make docs`, and a test checks that they are up to date."""

import inspect
import sys
import textwrap
from pathlib import Path

import typer

from rankloom.aggregate import QueryMethod
from rankloom.cli.app import app
from rankloom.methods import METHODS, SUPERVISED
from rankloom.registry import options_of

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "tools"))

from docstrings import UNBROKEN, WIDTH, as_markdown  # noqa: E402  # in the folder named above
from oracles import CHECKED, RANX, UDLF  # noqa: E402
from pictures import pictures  # noqa: E402


def command_line():
    """Return the page of the commands and their options."""
    group = typer.main.get_command(app)
    sections = [command(name, group.commands[name]) for name in group.list_commands(None)]
    head = [
        "# Command line",
        "",
        f"{group.help}",
        "",
        "Bad input prints one sentence and exits with code 1, wrong usage with 2. Ctrl+C exits with 130, or 0",
        "for a server, and says what is written.",
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
            "`rl.fuse(ranks, method=NAME, OPTION=VALUE)` in Python, or a value of the method's class, as in "
            "`rl.fuse(ranks, RRF(constant=20))` with `from rankloom.methods import RRF`; "
            "`rankloom fuse --method NAME --set OPTION=VALUE` in a shell, with lists written as in `weights=1,2`. "
            "Options that a method does not describe are those of `rrf` and `combsum`."
        ),
        "",
    ]
    rows = [
        f"| [`{name}`](#{name}) | {first_line(METHODS[name])} | {needed(METHODS[name])} | {oracle(name)} |"
        for name in sorted(METHODS)
    ]
    table = ["| name | method | needs the lists of the | checked against |", "|---|---|---|---|", *rows, "", *oracles()]
    parts = [
        *head,
        *table,
        *trained_methods(),
        *from_ranx(),
        *from_udlf(),
        *(method(name) for name in sorted(METHODS)),
    ]
    return "\n".join([*parts, *(supervised(name) for name in sorted(SUPERVISED))])


def trained_methods():
    """Yield the lines on methods that learn from judged queries."""
    yield wrapped(
        "Methods that learn from judged queries: `trained = rl.train(ranks, qrels, method=NAME, OPTION=VALUE)`, then "
        "`rl.fuse(others, method=trained)`; `rankloom.methods.cross_validate` does both on parts of the same queries. "
        "`optimize` of that module finds options and weights of any method that sees one query at a time "
        "([how](training.md))."
    )
    yield from ("", "| name | method | checked against |", "|---|---|---|")
    yield from (
        f"| [`{name}`](#{name}) | {first_line(SUPERVISED[name])} | {oracle(name)} |" for name in sorted(SUPERVISED)
    )
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
        "The names in UDLF, and the same here. UDLF's K (TOPK, K_END) is `neighbors`, L (CK) is `depth`, and T is "
        "`iterations`, for RDPAC the number of steps from K_START to K_END. It requires L to be at most the size of "
        "the collection; here a larger `depth` means whole lists. It does not fuse rankers by BFSTREE and RLRECOM; "
        "here their lists are fused by `rrf` first. RLSIM's METRIC is `measure`, in lower case."
    )
    yield from ("", "| UDLF | here |", "|---|---|")
    yield from (f"| {theirs} | `{ours}` |" for theirs, ours in UDLF.items())
    yield ""


def from_ranx():
    """Yield the table of the names that ranx gives the methods."""
    yield wrapped(
        "The names in ranx, and the same here. ranx breaks ties, draws and constant lists differently, see "
        "`tests/aggregate/test_ranx.py`; its `optimize_fusion` is `rankloom.methods.optimize`, its "
        "`norm` is `normalization`."
    )
    yield from ("", "| ranx | here |", "|---|---|")
    yield from (f"| {theirs} | `{ours}` |" for theirs, ours in RANX.items())
    yield ""


def supervised(name):
    """Return the section of a supervised method."""
    one = SUPERVISED[name]
    lines = [
        f"`{one.__name__}` learns from judged queries (`rl.train`), then sees one query at a time.",
        "",
        options(one),
    ]
    return "\n".join([f"## {name}", "", *lines, "", as_markdown(inspect.getdoc(one) or "")])


def first_line(documented):
    """Return the first line of a docstring."""
    return (inspect.getdoc(documented) or "").splitlines()[0].rstrip(".")


def method(name):
    """Return the section of a method."""
    one = METHODS[name]
    needs = {
        "queries": "works on one query at a time.",
        "collection": "needs the lists of the whole collection, with each item as a query.",
    }[needed(one)]
    return "\n".join(
        [f"## {name}", "", f"`{one.__name__}` {needs}", "", options(one), "", as_markdown(inspect.getdoc(one) or "")]
    )


def needed(method):
    """Return whose lists a method needs."""
    return "queries" if issubclass(method, QueryMethod) else "collection"


def options(one):
    """Return the sentence on the options of a method."""
    shown = ", ".join(f"`{name}={option.default!r}`" for name, option in options_of(one).items())
    return wrapped(f"Options: {shown or 'none'}.")


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
