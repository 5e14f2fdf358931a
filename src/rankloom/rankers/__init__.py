"""Descriptor and comparator make a ranker: what turns texts or pictures into ranks."""
