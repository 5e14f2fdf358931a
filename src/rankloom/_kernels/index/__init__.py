"""Kernels that every index of lists shares."""
