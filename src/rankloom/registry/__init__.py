"""Names and their spelling with options -> objects; plug-ins."""

from rankloom.registry.plugins import blame, forget_uses, load_plugin
from rankloom.registry.registry import Registry, file_options
from rankloom.registry.spelling import Call, parse_value, show_value, split

__all__ = [
    "Call",
    "Registry",
    "blame",
    "file_options",
    "forget_uses",
    "load_plugin",
    "parse_value",
    "show_value",
    "split",
]
