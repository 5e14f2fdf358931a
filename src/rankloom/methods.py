"""The registries of `fuse`, to add methods to them, and the search for a method's options and weights."""

from rankloom.aggregate import METHODS, SUPERVISED, check_method, cross_validate, optimize, register_method
from rankloom.aggregate.normalizations import NORMALIZATIONS

__all__ = [
    "METHODS",
    "NORMALIZATIONS",
    "SUPERVISED",
    "check_method",
    "cross_validate",
    "optimize",
    "register_method",
]
