"""Kernels of fusion graphs."""
