"""Ranking of texts by the posting lists of the query's terms."""

import numpy as np
from numba import njit

from rankloom._kernels import ZERO

PRODUCT, MINIMUM = range(2)  # the common part of two weights of a term
TOTAL, UNION, LARGER, MEAN = range(4)  # the divisor of the common part: none, |A or B|, max, (|A| + |B|) / 2
LOW = (1 << 32) - 1  # mask of the half of a key that breaks ties


@njit(cache=True, nogil=True)
def overlap(terms, weights, ptr, docs, doc_weights, kind, allowed, common, seen):
    """Add up the common part of a query and each allowed text; list those that share a term, return their number."""
    n = 0
    for at in range(terms.size):
        weight = np.float64(weights[at])
        for entry in range(ptr[terms[at]], ptr[terms[at] + 1]):
            doc = docs[entry]
            if allowed.size > 0 and not allowed[doc]:
                continue
            other = np.float64(doc_weights[entry])
            part = weight * other if kind == PRODUCT else min(weight, other)
            if part > 0.0:
                if common[doc] == 0.0:
                    seen[n] = doc
                    n += 1
                common[doc] += part
    return n


@njit(cache=True, nogil=True)
def similarity(common, size, other, kind):
    """Return the common part divided by the function of both sizes that `kind` selects."""
    if kind == UNION:
        return common / (size + other - common)
    if kind == LARGER:
        return common / max(size, other)
    if kind == MEAN:
        return 2.0 * common / (size + other)
    return common


@njit(cache=True, nogil=True)
def largest_first(keys, n, wanted):
    """Move the `wanted` largest of n distinct keys to the front (quickselect)."""
    low, high = 0, n - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while keys[i] > pivot:
                i += 1
            while keys[j] < pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if wanted - 1 <= j:
            high = j
        elif wanted - 1 >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True)
def best(keys, n, own, bits, items):
    """Write the items with the largest keys, best first, and the bits of their scores."""
    wanted = min(n, items.size)
    largest_first(keys, n, wanted)
    keys[:wanted].sort()
    for p in range(wanted):
        key = keys[wanted - 1 - p]
        order = key & LOW
        items[p] = own if order == LOW else LOW - 1 - order
        bits[p] = key >> 32


@njit(cache=True, nogil=True)
def rank(start, stop, queries, texts, kinds, own, allowed, common, seen, keys, single, single_bits, items, bits):
    """Rank the texts for queries `start` to `stop` by score; ties: the query itself, then the smaller number.

    `queries` are (ptr, terms, weights, sizes) by row, `texts` (ptr, docs, weights, sizes) by term; `own` has the number
    of the text that a query is, or -1; an empty mask `allowed` allows all texts; `common` is scratch of zeros, cleared
    before returning.
    """
    q_ptr, q_terms, q_weights, q_sizes = queries
    ptr, docs, doc_weights, sizes = texts
    for q in range(start, stop):
        here = slice(q_ptr[q], q_ptr[q + 1])
        n = overlap(q_terms[here], q_weights[here], ptr, docs, doc_weights, kinds[0], allowed, common, seen)
        if own[q] >= 0 and common[own[q]] == 0.0:
            seen[n] = own[q]
            n += 1
        for at in range(n):
            doc = np.int64(seen[at])  # LOW does not fit in 32 bits
            value = ZERO if common[doc] == 0.0 else similarity(common[doc], q_sizes[q], sizes[doc], kinds[1])
            common[doc] = 0.0
            single[0] = value
            tie = LOW if doc == own[q] else LOW - 1 - doc
            keys[at] = (np.int64(single_bits[0]) << 32) | tie
        best(keys, n, own[q], bits[q], items[q])
