"""Docstrings as Markdown: formulas between dollar signs, sections as lists."""

import re
import textwrap

WIDTH = 120  # columns of a line of a page

_DISPLAY = re.compile(r"^([ ]*)\.\. math::[ ]*(.*(?:\n(?:\1[ ]+\S.*|[ ]*(?=\n\1[ ]+\S)))*)", flags=re.MULTILINE)
_INLINE = re.compile(r":math:`([^`]+)`")
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", flags=re.MULTILINE)


def with_dollars(docstring):
    r"""Return a docstring with its formulas as Markdown has them.

    >>> print(with_dollars("The mean :math:`m`:\n\n.. math:: m = \\sum_i x_i\n    / n"))
    The mean $m$:
    <BLANKLINE>
    $$
    m = \sum_i x_i
    / n
    $$
    """
    return _INLINE.sub(r"$\1$", _DISPLAY.sub(_display, docstring))


def _display(match):
    indent, formula = match.groups()
    lines = [line.strip() for line in formula.strip().splitlines() if line.strip()]
    return "\n".join(indent + line for line in ["$$", *lines, "$$"])


def as_markdown(docstring):
    """Return a cleaned docstring as a section of a page: its parameters as a list; examples are left to `help`."""
    text, *sections = _SECTION.split(with_dollars(docstring))
    parts = [text.strip()]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title != "Examples":
            parts.append(_section(title, body.strip("\n")))
    return "\n\n".join(parts) + "\n"


def _section(title, body):
    if title in ("Parameters", "Returns", "Attributes"):
        return f"**{title}**\n\n" + "\n".join(map(_entry, re.split(r"\n(?=\S)", body)))
    return f"**{title}**\n\n{body}"


def _entry(entry):
    """Return a parameter, its type and its meaning as an item of a list."""
    head, _, meaning = entry.partition("\n")
    names, _, kind = head.partition(" : ")
    shown = ", ".join(f"`{name}`" for name in names.split(", ")) + (f" ({kind})" if kind else "")
    text = " ".join([shown + (":" if meaning else ""), *textwrap.dedent(meaning).split()])
    return textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  ", **UNBROKEN)


UNBROKEN = {"break_long_words": False, "break_on_hyphens": False}
