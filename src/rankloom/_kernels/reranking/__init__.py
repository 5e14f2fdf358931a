"""Kernels of the reranking methods."""
