"""Kernels of weft."""
