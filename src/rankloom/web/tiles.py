"""Pieces of pages that are written a hundred times a page: by hand, since a template takes three times as long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markupsafe import Markup

_escaped = lru_cache(maxsize=20_000)(escape)


def marked(text: str, marks: Sequence[tuple[int, int]]) -> Markup:
    """Return a text for a page, some of its words marked.

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


def entries(hits: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the entries of a ranker's list: pictures, or names where there are none."""
    return Markup("\n".join(map(_entry, hits)))


def _entry(hit: Mapping[str, Any]) -> str:
    title, address = _escaped(hit["title"]), escape(hit["address"])
    shown = title
    if hit["image"]:
        shown = f'<img src="{_escaped(hit["image"])}" alt="{title}" loading="lazy" decoding="async">'
    kind, mark = (' class="relevant"', '<span class="hidden"> relevant</span>') if hit["relevant"] else ("", "")
    text = f' <span class="text">{escape(hit["text"])}</span>' if hit["text"] else ""
    return f'<li{kind}><a href="{address}" title="{hit["position"]}. {title}">{shown}{mark}</a>{text}</li>'


def tiles(hits: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the tiles of a fused list."""
    return Markup("\n".join(map(_tile, hits)))


def _tile(hit: Mapping[str, Any]) -> str:
    title, kind, relevant = _escaped(hit["title"]), "tile", ""
    if hit["relevant"] is not None:
        kind = "tile relevant" if hit["relevant"] else "tile other"
        relevant = '<span class="mark">✓<span class="hidden"> relevant</span></span>' if hit["relevant"] else ""
    picture = f'<img src="{_escaped(hit["image"])}" alt="" loading="lazy" decoding="async">' if hit["image"] else ""
    text = f'<span class="text">{marked(hit["text"], hit["marks"])}</span>\n' if hit["text"] else ""
    score = "" if hit["score"] is None else f'<span class="score">{hit["score"]:.4g}</span>\n'
    return (
        f'<li class="{kind}" data-number="{hit["number"]}">\n'
        f'<a class="hit" href="{escape(hit["address"])}">{picture}<span class="title">{title}</span>\n{text}'
        f'<span class="meta"><span class="place">{hit["position"]}</span>\n{score}{relevant}</span></a>\n'
        f'<span class="positions">{places(hit["positions"])}</span>\n'
        f'<a class="why" href="{escape(hit["why"])}" aria-label="Why {title}?">why?</a>\n</li>'
    )


def places(positions: Mapping[str, int | None]) -> Markup:
    """Return where the rankers have an item.

    Examples
    --------
    >>> str(places({"bic": 2, "lbp": None}))
    '<span title="place 2 by bic">bic 2</span>'
    """
    named = [(_escaped(name), place) for name, place in positions.items() if place]
    return Markup(" ".join(f'<span title="place {place} by {name}">{name} {place}</span>' for name, place in named))
