"""Rankers of vectors."""
