"""The examples of the first page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rankloom.web.queries import Values
from rankloom.web.tour import Tour

if TYPE_CHECKING:
    from rankloom.web.views import Views

RRF = "rrf"  # what an example compares with
MAX_IMAGES, MAX_TEXTS = 8, 5  # of each list


def stories(views: Views, tour: Tour) -> list[Values]:
    """Return the examples that can be searched: their item exists, or some ranker accepts their text."""
    return [
        story(views, example)
        for example in tour.examples
        if ("texts" in views.accepts if "query" in example else example["item"] in views.ids)
    ]


def story(views: Views, example: Mapping[str, str]) -> Values:
    """Return what each ranker finds for an example, what RRF makes of it, and what the default method does."""
    if "query" in example:
        query = views.text_query(example["query"])
    else:
        query = views.item_query(views.ids.number(example["item"], "item"))
    choices = [replace(views.defaults, method=method) for method in (RRF, views.defaults.method)]
    found = [views.search(query, choice) for choice in choices]
    length = MAX_TEXTS if views.gallery.version(0) is None else MAX_IMAGES
    rows = [{"name": listed["ranker"], "fused": False, **listed} for listed in found[1]["lists"] if listed["accepts"]]
    for choice, values in zip(choices, found, strict=True):
        items = views.rows_of_list(choice, [dict(row) for row in values["results"][:length]])
        name = values["method"]
        rows.append({"name": name, "title": name, "fused": True, "measures": values["measures"], "items": items})
    kept = ("name", "title", "fused", "measures")
    shown = [{**{name: row[name] for name in kept}, "items": row["items"][:length]} for row in rows]
    return {"query": found[1]["query"], "url": found[1]["url"], "rows": shown}
