"""Kernels of the image rankers."""
