"""The version, which files and cache keys record."""

__version__ = "0.1.0"
