"""Names and their spelling with options -> objects; plug-ins."""

from rankloom.registry.options import (
    Count,
    Fraction,
    Options,
    Share,
    annotated_defaults,
    file_options,
    options_of,
)
from rankloom.registry.plugins import blame, forget_uses, load_plugin
from rankloom.registry.registry import Registry
from rankloom.registry.spelling import Call, parse_value, show_value, slug, split

__all__ = [
    "Call",
    "Count",
    "Fraction",
    "Options",
    "Registry",
    "Share",
    "annotated_defaults",
    "blame",
    "file_options",
    "forget_uses",
    "load_plugin",
    "options_of",
    "parse_value",
    "show_value",
    "slug",
    "split",
]
