"""Searchers for other frameworks: a few lines each, imported only when used.

===============  ================================  ==============================
framework        method of `Searcher`              what it gives
===============  ================================  ==============================
LangChain        ``as_langchain(k=10)``            a `BaseRetriever`
LlamaIndex       ``as_llama_index(k=10)``          a `BaseRetriever`
Haystack         ``as_haystack(k=10)``             a component
PyTerrier        ``as_pyterrier(k=100)``           a `Transformer`
ranx             `to_ranx`, `from_ranx`            a `Run`, and back
scikit-learn     ``as_neighbors()``                `kneighbors`
===============  ================================  ==============================
"""

from rankloom.adapters.ranx import from_ranx, to_ranx

__all__ = ["from_ranx", "to_ranx"]
