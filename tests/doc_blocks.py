"""The code blocks of a page: what each one is, and how to run or check it.

`python tests/doc_blocks.py README.md` runs those of a page in an empty folder, as `make release` does.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

import rankloom
from rankloom.cli.app import app
from rankloom.rankers import RANKERS
from rankloom.registry import Call

ROOT = Path(__file__).parents[1]
#: Checked by other tests: requests to a server.
ELSEWHERE = {"docs/serving.md": {"json"}, "docs/start.md": {"json"}}
OUTPUT = "text"  # language of a block that shows what the block before it prints
#: Commands that serve forever, take minutes, or need many documents: only their arguments are checked here.
CHECKED_COMMANDS = ("serve", "demo", "experiment", "report", "trial")
NOT_RUN = "not run: "  # begins a comment before a block, and is followed by the reason

_BLOCK = re.compile(r"^(?:<!-- (?P<note>[^>]*) -->\n\n?)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_VARIABLE = re.compile(r"[A-Z_]+=")
_PIP = re.compile(r"\[([\w,-]+)\]")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None  # why it is not run
    output: str | None  # what it prints, as the page shows it

    def __str__(self):
        return f"{self.page}:{self.line}"


def blocks(page):
    """Return the blocks of a page, outputs attached to what prints them."""
    text = (ROOT / page).read_text("utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        line, note = text.count("\n", 0, match.start("text")), match["note"] or ""
        reason = note.removeprefix(NOT_RUN) if note.startswith(NOT_RUN) else None
        found.append(Block(page, line, match["language"], match["text"], reason, None))
    following = [*found, None][1:]
    return [
        Block(one.page, one.line, one.language, one.text, one.reason, after.text)
        if after is not None and after.language == OUTPUT
        else one
        for one, after in zip(found, following, strict=True)
    ]


def run_page(page, folder, names):
    """Run the blocks of a page in a folder, and check those that cannot be run."""
    for block in blocks(page):
        if block.language == "python":
            run_python(block, names)
        elif block.language == "sh" and page == "docs/command-line.md":
            for line in block.text.splitlines():
                check_command(line)
        elif block.language == "sh":
            run_shell(block, folder)
        elif block.language == "toml":
            tomllib.loads(block.text)
        else:
            assert block.language in {OUTPUT, "", *ELSEWHERE.get(page, ())}, f"{block}: {block.language}"


def run_python(block, names):
    """Run a block of Python, with its examples or what it prints compared."""
    if block.reason is not None:
        compile(block.text, str(block), "exec")
    elif block.text.startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.text, names, block.page, block.page, block.line)
        failures = StringIO()
        doctest.DocTestRunner().run(test, out=failures.write, clear_globs=False)
        names.update(test.globs)
        assert failures.getvalue() == ""
    else:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(block.text, str(block), "exec"), names)
        assert block.output is None or printed.getvalue() == block.output, str(block)


def run_shell(block, folder):
    """Run a block of commands; those that cannot be run here are checked."""
    lines = block.text.replace("\\\n", "").splitlines()
    runnable = [line for line in lines if not check_line(line)]
    if block.reason is not None or not any(line.strip() for line in runnable):
        for line in lines if block.reason is not None else ():
            check_command(line)
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "RANKLOOM_CACHE": str(folder / ".cache"), "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-euc", "\n".join(runnable)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{block}: {done.stdout}"
    assert block.output is None or done.stdout == block.output, f"{block}:\n{done.stdout}"


def check_line(line):
    """Check a line that cannot be run in a test; return False if it can."""
    words = line.split("#")[0].split()
    words = words[1:] if words and _VARIABLE.match(words[0]) else words
    if words[:1] == ["make"]:
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), f"make has no target {words[1]}"
    elif words[:1] == ["pip"]:
        check_extras(line)
    elif words[:1] == ["rankloom"] and words[1] in CHECKED_COMMANDS:
        check_command(line)
    else:
        return words[:3] == ["python3", "-m", "venv"] or words[:1] in ([], ["."], ["curl"])
    return True


def check_extras(line):
    """Check that the extras of a `pip install` exist."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = [extra for group in _PIP.findall(line) for extra in group.split(",")]
    assert [extra for extra in named if extra not in extras] == [], line


def check_command(line):
    """Check the options and the rankers of a rankloom command, without running it."""
    words = shlex.split(line, comments=True)
    words = words[1:] if words and _VARIABLE.match(words[0]) else words
    if words[:1] != ["rankloom"]:
        return
    command = typer.main.get_command(app).commands[words[1]]
    arguments = [word for word in words[2:] if word not in ("&",)]
    if ">" in arguments:
        arguments = arguments[: arguments.index(">")]
    options, _, _ = command.make_parser(typer.Context(command)).parse_args(list(arguments))
    for ranker in options.get("ranker") or ():
        spelling = ranker.partition("=")[2] if re.match(r"\w+=", ranker) else ranker
        assert Call.parse(spelling).name in RANKERS or "plugin" in options or "loom" in arguments[0], line


def main(pages):
    """Run pages with the package that is installed, each in an empty folder."""
    assert Path(rankloom.__file__).is_relative_to(sys.prefix), f"not the installed package: {rankloom.__file__}"
    for page in pages:
        with TemporaryDirectory() as folder, chdir(folder):
            os.environ["RANKLOOM_CACHE"] = str(Path(folder) / ".cache")
            run_page(page, Path(folder), {})
            sys.stdout.write(f"{page}: {len(blocks(page))} blocks run or checked\n")


if __name__ == "__main__":
    main(sys.argv[1:])
