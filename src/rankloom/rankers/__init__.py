"""Descriptors of items and the distances between them: what ranks are made from."""
