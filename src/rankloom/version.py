"""The version, where everything below can see it."""

__version__ = "0.1.0"
