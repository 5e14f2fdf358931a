"""Kernels of the text rankers."""
