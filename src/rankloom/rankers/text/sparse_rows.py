"""Rows of weights, as sparse matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloom.errors import InputError
from rankloom.ranks.arrays import Array, Floats, Int32s, Int64s

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def stored_rows(arrays: Mapping[str, Array], name: str, n_terms: int) -> csr_matrix:
    """Return the rows whose arrays are stored under a name."""
    from scipy.sparse import csr_matrix

    ptr, terms, weights = (arrays[f"{name}_{part}"] for part in ("ptr", "terms", "weights"))
    if [array.dtype.str[1:] for array in (ptr, terms, weights)] != ["i8", "i4", "f8"]:
        raise InputError("The weights of the items have other types than they were saved with.")
    return csr_matrix((weights, terms, ptr), (len(ptr) - 1, n_terms), copy=False)


def is_valid(rows: csr_matrix) -> bool:
    """Return True if all numbers of a matrix are in range; scipy does not look at one whose last pointer is 0."""
    return are_valid(rows.indptr, rows.indices, rows.data, rows.shape[1])


def are_valid(ptr: Array, columns: Array, weights: Array, n_columns: int) -> bool:
    """Return True if pointers rise, columns exist, and weights are finite and not negative."""
    ends = ptr[0] == 0 and ptr[-1] == len(columns) == len(weights) and bool((ptr[1:] >= ptr[:-1]).all())
    inside = columns.min(initial=0) >= 0 and columns.max(initial=-1) < n_columns
    return bool(ends and inside and weights.min(initial=0) >= 0 and weights.max(initial=0) < np.inf)  # NaN is neither


def kernel_arrays(sparse: Any) -> tuple[Int64s, Int32s, Floats]:
    """Return pointers, columns and values of a sparse matrix with the dtypes of the kernels."""
    return (
        sparse.indptr.astype(np.int64, copy=False),
        sparse.indices.astype(np.int32, copy=False),
        sparse.data.astype(np.float64, copy=False),
    )


def unit(rows: csr_matrix) -> csr_matrix:
    """Return the rows scaled to Euclidean length 1; empty rows stay empty."""
    return scaled(rows, np.sqrt(sums(rows.multiply(rows).tocsr())))


def scaled(rows: csr_matrix, divisors: Array) -> csr_matrix:
    """Return each row divided by its divisor, where 0 counts as 1."""
    safe = np.where(divisors > 0, divisors, 1.0)
    return with_data(rows, rows.data / np.repeat(safe, np.diff(rows.indptr)))


def with_data(rows: csr_matrix, data: Array) -> csr_matrix:
    """Return a matrix with the same sparsity pattern and these values."""
    from scipy.sparse import csr_matrix

    return csr_matrix((data, rows.indices, rows.indptr), rows.shape)


def heaviest(rows: csr_matrix, weights: Floats, n: int) -> csr_matrix:
    """Return the rows with only the n entries of largest weight in each; of equal ones, the first."""
    from scipy.sparse import csr_matrix

    lengths, kept = np.diff(rows.indptr), np.ones(rows.nnz, np.bool_)
    for length in np.unique(lengths[lengths > n]):  # rows of one length are a matrix: quicker than sorting by row
        places = rows.indptr[:-1][lengths == length, None] + np.arange(length)
        lightest = np.argsort(-weights[places], axis=1, kind="stable")[:, n:]
        kept[np.take_along_axis(places, lightest, axis=1)] = False
    ptr = np.append(0, np.cumsum(np.minimum(lengths, n)))
    return csr_matrix((rows.data[kept], rows.indices[kept], ptr), rows.shape)


def sums(rows: csr_matrix) -> Floats:
    """Return the sum of each row."""
    return np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
