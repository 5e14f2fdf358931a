"""The hypergraph of LHRR: hyperedges in CSR form, and rows of their similarity matrix, one at a time.

Similarities are rounded to float32 step by step, as in the reference program, so that ties are the same.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sorting import sort_ascending, sort_scratch


class Hyperedges(NamedTuple):
    """The items of each row's hyperedge, or the rows of the hyperedges that have each item.

    `exact` values are in float64, `rounded` ones added up in float32.
    """

    ptr: np.ndarray
    items: np.ndarray
    exact: np.ndarray
    rounded: np.ndarray


class Hypergraph(NamedTuple):
    """Hyperedges by rows and by items, and the confidence of each row's."""

    rows: Hyperedges
    items: Hyperedges
    confidence: np.ndarray


@kernel
def count_members(start, stop, tops, size):
    """Count the distinct items in the lists of the first items of each row."""
    seen = np.full(tops.shape[0], -1, np.int32)
    for i in range(start, stop):
        count = 0
        for o in range(length_of(tops[i])):
            for p in range(length_of(tops[tops[i, o]])):
                item = tops[tops[i, o], p]
                count += seen[item] != i
                seen[item] = i
        size[i] = count


@kernel
def fill_members(start, stop, tops, share, edges, confidence):
    """Fill the hyperedge of each row: the item itself with 1, and the products of shares along its neighbors' lists."""
    ptr, items, exact, rounded = edges
    k = tops.shape[1]
    slot = np.full(tops.shape[0], -1, np.int64)
    key, order, spare = sort_scratch(k * k + 1)
    for i in range(start, stop):
        first = end = ptr[i]
        for o in range(length_of(tops[i])):
            neighbor = tops[i, o]
            for p in range(k):
                item = tops[neighbor, p]
                if item < 0:
                    break
                if slot[item] < 0:
                    slot[item] = end
                    items[end] = item
                    exact[end] = rounded[end] = 1.0 if item == i else 0.0
                    end += 1
                at = slot[item]
                weight = share[o] * share[p]
                exact[at] += weight
                rounded[at] += np.float32(weight)
        for at in range(first, end):
            slot[items[at]] = -1
            key[at - first] = -exact[at]
        sort_ascending(key, end - first, order, spare)
        total = ZERO
        for at in range(min(k, end - first)):
            total -= key[order[at]]
        confidence[i] = total


@helper
def add_products(i, graph, product, touched):
    """Add the confidence-weighted products of hyperedge values for row i; return the number of items touched."""
    ptr, items, exact, _ = graph.rows
    back_ptr, back_rows, back_exact, _ = graph.items
    confidence = graph.confidence
    count = 0
    for entry in range(back_ptr[i], back_ptr[i + 1]):
        e = back_rows[entry]
        weight = confidence[e] * back_exact[entry]
        for at in range(ptr[e], ptr[e + 1]):
            item = items[at]
            if product[item] == 0.0:
                product[item] = 1.0
                touched[count] = item
                count += 1
            product[item] = np.float32(product[item] + weight * exact[at])
    return count


@helper
def add_dots(e, weight, back, dots):
    """Add `weight` times the value of item e in each hyperedge."""
    ptr, rows, _, rounded = back
    for entry in range(ptr[e], ptr[e + 1]):
        dots[rows[entry]] += np.float64(np.float32(weight * rounded[entry]))


@helper
def clear_dots(e, back, dots):
    """Reset what `add_dots` has written."""
    ptr, rows = back.ptr, back.items
    for entry in range(ptr[e], ptr[e + 1]):
        dots[rows[entry]] = 0.0


@kernel
def similarities(start, stop, lists, graph, values, others):
    """Compute the values of the listed items, and the best items that are not listed, best first."""
    other_items, other_scores = others
    ptr, items, _, rounded = graph.rows
    back = graph.items
    back_ptr, back_rows, back_exact, _ = back
    n = lists.shape[0]
    product = np.zeros(n, np.float32)
    touched = np.empty(n, np.int64)
    near, far = np.zeros(n), np.zeros(n)
    key, order, spare = sort_scratch(n)
    for i in range(start, stop):
        count = add_products(i, graph, product, touched)
        for at in range(ptr[i], ptr[i + 1]):
            add_dots(items[at], rounded[at], back, near)
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            add_dots(back_rows[entry], np.float32(back_exact[entry]), back, far)
        for p in range(length_of(lists[i])):
            j = lists[i, p]
            value = product[j] if product[j] > 0.0 else np.float32(1)
            if p > 0:
                value = np.float32(np.float64(np.float32(np.float64(value) * near[j])) * far[j])
            values[i, p] = value
            if product[j] > 0.0:
                product[j] = -1.0  # listed
        found = 0
        for t in range(count):
            item = touched[t]
            if product[item] > 0.0:
                touched[found] = item
                found += 1
            else:
                product[item] = 0.0
        if other_items.shape[1]:
            touched[:found].sort()
            for t in range(found):
                key[t] = -product[touched[t]]
            sort_ascending(key, found, order, spare)
            for c in range(other_items.shape[1]):
                other_items[i, c] = touched[order[c]] if c < found else -1
                other_scores[i, c] = -key[order[c]] if c < found else 0.0
        for t in range(found):
            product[touched[t]] = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            clear_dots(items[at], back, near)
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            clear_dots(back_rows[entry], back, far)


@kernel
def join(start, stop, ranked, others, out):
    """Insert the best items that are not listed where they exceed the value of the list at that position."""
    other_items, other_scores = others
    items, scores = out
    lists, values = ranked
    for i in range(start, stop):
        used, size = 0, length_of(lists[i])
        for p in range(items.shape[1]):
            more = used < other_items.shape[1] and other_items[i, used] >= 0
            if p > 0 and p < size and more and other_scores[i, used] > values[i, p]:
                items[i, p] = other_items[i, used]
                scores[i, p] = other_scores[i, used]
                used += 1
            elif p < size:
                items[i, p] = lists[i, p - used]
                scores[i, p] = values[i, p - used]
            else:
                items[i, p] = -1
                scores[i, p] = 0.0
