"""Kernels of lists of vectors."""
