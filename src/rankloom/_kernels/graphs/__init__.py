"""Kernels of the methods that build graphs of neighbors."""
