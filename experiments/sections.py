"""Paragraphs, and sections of a page that scripts here keep up to date one by one."""

import re
import textwrap


def filled(text):
    """Return a paragraph wrapped to the line length of the docs."""
    return textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False)


def insert(section, page, before):
    """Return the page with its section of the same title replaced, or put before the one whose title is given."""
    title = section.partition("\n")[0]
    rest = re.sub(rf"^{re.escape(title)}\n.*?(?=^## |\Z)", "", page, flags=re.DOTALL | re.MULTILINE)
    head, mark, tail = rest.partition(f"## {before}\n")
    return f"{head}{section}\n{mark}{tail}"
