"""HTML that a page repeats a hundred times, built from strings: a template would take three times as long."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markupsafe import Markup

Hit = Mapping[str, Any]  #: a result as `Views` describes it
_escaped = lru_cache(maxsize=20_000)(escape)


def marked(text: str, marks: Sequence[tuple[int, int]]) -> Markup:
    """Return a text as HTML, with some spans marked.

    Examples
    --------
    >>> str(marked("a <cat>", [(3, 6)]))
    'a &lt;<mark>cat</mark>&gt;'
    """
    out, done = [], 0
    for start, end in marks:
        out += [escape(text[done:start]), "<mark>", escape(text[start:end]), "</mark>"]
        done = end
    return Markup("".join([*out, escape(text[done:])]))


def rows(hits: Sequence[Hit]) -> Markup:
    """Return the rows of a ranker's list: images, or titles if there are none."""
    return Markup("\n".join(map(_row, hits)))


def _row(hit: Hit) -> str:
    title, url = _escaped(hit["title"]), escape(hit["url"])
    shown = title
    if hit["image"]:
        shown = f'<img src="{_escaped(hit["image"])}" alt="{title}" loading="lazy" decoding="async">'
    kind, mark = (' class="relevant"', '<span class="hidden"> relevant</span>') if hit["relevant"] else ("", "")
    text = f' <span class="text">{escape(hit["text"])}</span>' if hit["text"] else ""
    return f'<li{kind}><a href="{url}" title="{hit["position"]}. {title}">{shown}{mark}</a>{text}</li>'


def tiles(hits: Sequence[Hit]) -> Markup:
    """Return the tiles of a fused list."""
    return Markup("\n".join(map(_tile, hits)))


def _tile(hit: Hit) -> str:
    title, kind, relevant = _escaped(hit["title"]), "tile", ""
    if hit["relevant"] is not None:
        kind = "tile relevant" if hit["relevant"] else "tile other"
        relevant = '<span class="mark">✓<span class="hidden"> relevant</span></span>' if hit["relevant"] else ""
    image = f'<img src="{_escaped(hit["image"])}" alt="" loading="lazy" decoding="async">' if hit["image"] else ""
    text = f'<span class="text">{marked(hit["text"], hit["marks"])}</span>\n' if hit["text"] else ""
    score = "" if hit["score"] is None else f'<span class="score">score {hit["score"]:.4g}</span>\n'
    return (
        f'<li class="{kind}" data-number="{hit["number"]}">\n'
        f'<a class="hit" href="{escape(hit["url"])}">{image}<span class="title">{title}</span>\n{text}'
        f'<span class="meta"><span class="position"><span class="hidden">position </span>#{hit["position"]}</span>\n'
        f"{score}{relevant}</span></a>\n"
        f'<span class="positions">{_positions(hit["positions"], hit["through"])}</span>\n'
        f'<span class="links">{_full_text(hit, title)}'
        f'<a class="why" href="{escape(hit["why"])}" aria-label="Why {title}?">why?</a></span>\n</li>'
    )


def _full_text(hit: Hit, title: str) -> str:
    """Return a link to the whole document, unless it is an image or all of its text is in the tile."""
    if hit["image"] or not (hit["text"] or "").endswith("…"):
        return ""
    return f'<a class="read" href="/item/{hit["number"]}/document" aria-label="Full text of {title}">full text</a> '


def _positions(positions: Mapping[str, int | None], through: Sequence[str] | None) -> str:
    """Return the position of an item in the list of each ranker that has it; if none has, how it was found.

    Examples
    --------
    >>> _positions({"bic": 2, "lbp": None}, None)
    '<span title="position 2 by bic">bic #2</span>'
    >>> _positions({"bic": None, "lbp": None}, ["cat", "dog"])
    '<span class="through">on no ranker\\'s list; found through cat and dog</span>'
    """
    if through is not None:
        found = " and ".join(map(_escaped, through)) or "its neighbors"
        return f'<span class="through">on no ranker\'s list; found through {found}</span>'
    listed = [(_escaped(name), p) for name, p in positions.items() if p]
    return " ".join(
        f'<span title="position {position} by {name}">{name} #{position}</span>' for name, position in listed
    )
