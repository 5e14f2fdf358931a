"""Ranking of texts by the posting lists of the query's terms.

A query with few postings lists the texts that it meets. One with many adds them to a dense array, without a branch per
posting, and only texts that reach a lower bound of the last score of the list become candidates: long documents as
queries meet almost all texts. A score is the same sum either way, in the order of the query's row.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.sorting import copy_first

PRODUCT, MINIMUM = range(2)  # the common part of two weights of a term
TOTAL, UNION, LARGER, MEAN = range(4)  # the divisor of the common part: none, |A or B|, max, (|A| + |B|) / 2
LOW = (1 << 32) - 1  # mask of the half of a key that breaks ties
SPARSE = 4  # a query with fewer postings than 1 / SPARSE of the texts does not scan all of them
GROUPS = 8  # groups of texts per item of a list, whose largest sums bound the last score of the list
BUCKETS = 2048  # of scores, where a list is long
STEP, MARGIN = 16, 1.25  # a long list: of every 16th text, how many more than its share are to reach the bound
RARE = 40  # a branch for one in so many texts is predicted well
RUNS, MAX_RUN = 1024, 64  # buckets of keys to be sorted, and the most keys in one of them
SLACK = 1.0 - 1e-6  # covers the order of additions, and scores that round to the same float32
MIN_FLOOR, MAX_FLOOR = 1e-30, 1e30  # outside, float32 does not round relatively


class Postings(NamedTuple):
    """The texts by term."""

    ptr: np.ndarray
    docs: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray  # of the texts


class Queries(NamedTuple):
    """Queries as rows of terms."""

    ptr: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    own: np.ndarray  # the text that each query is, or -1
    floors: np.ndarray  # the scores that texts must exceed; none if it is empty


class Query(NamedTuple):
    """One of the queries."""

    terms: np.ndarray
    weights: np.ndarray
    size: float
    own: int
    floor: float


class Scoring(NamedTuple):
    """How a score follows from weights: see the constants above."""

    overlap: int
    share: int
    allowed: np.ndarray  # an empty mask allows all texts


class Scratch(NamedTuple):
    """What a block of queries works with; `common` has zeros, and is cleared after each query."""

    common: np.ndarray
    values: np.ndarray
    tops: np.ndarray
    seen: np.ndarray
    keys: np.ndarray
    single: np.ndarray  # one number, and its bits
    single_bits: np.ndarray


class Lists(NamedTuple):
    """The lists to fill; `bits` is a view of the scores."""

    items: np.ndarray
    bits: np.ndarray


@helper
def query_at(queries, q):
    """Return one of the queries."""
    here = slice(queries.ptr[q], queries.ptr[q + 1])
    floor = np.float64(queries.floors[q]) if queries.floors.size > 0 else -1.0
    return Query(queries.terms[here], queries.weights[here], queries.sizes[q], queries.own[q], floor)


@kernel
def overlap(query, texts, scoring, common, seen):
    """Add up the common part of a query and each allowed text; list those that share a term, return their number."""
    kind, allowed, n = scoring.overlap, scoring.allowed, 0
    for at in range(query.terms.size):
        term, weight = query.terms[at], np.float64(query.weights[at])
        for entry in range(texts.ptr[term], texts.ptr[term + 1]):
            doc = texts.docs[entry]
            if allowed.size > 0 and not allowed[doc]:
                continue
            other = np.float64(texts.weights[entry])
            part = weight * other if kind == PRODUCT else min(weight, other)
            if part > 0.0:
                if common[doc] == 0.0:
                    seen[n] = doc
                    n += 1
                common[doc] += part
    return n


@helper
def add_postings(term, weight, texts, kind, common):
    """Add what one term of a query adds to the common part of each text."""
    here = slice(texts.ptr[term], texts.ptr[term + 1])
    these, values = texts.docs[here], texts.weights[here]
    if kind == PRODUCT:
        for entry in range(these.size):  # unsigned: without the branch that wraps negative indices
            common[np.uint32(these[entry])] += weight * values[entry]
    else:
        for entry in range(these.size):
            common[np.uint32(these[entry])] += min(weight, values[entry])


@kernel
def similarity(common, size, other, kind):
    """Return the common part divided by the function of both sizes that `kind` selects; 0 if that is not positive."""
    if kind == TOTAL:
        return common
    whole = max(size, other)
    if kind == UNION:
        whole = size + other - common
    elif kind == MEAN:
        whole, common = size + other, 2.0 * common
    return common / whole if whole > 0.0 else ZERO  # sizes come from a file


@helper
def similarities(common, size, sizes, kind, values):
    """Return the similarity of each text, in `values` unless it is the common part; 0 where nothing is common."""
    if kind == TOTAL:
        return common
    for doc in range(common.size):
        values[doc] = ZERO if common[doc] == 0.0 else similarity(common[doc], size, sizes[doc], kind)
    return values


@helper
def largest_first(keys, n, wanted):
    """Move the `wanted` largest of n keys to the front, the smallest of them last (quickselect)."""
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


@helper
def count_runs(keys, n, counts):
    """Count the keys in each bucket, largest keys first; return the largest key, and the bits that buckets ignore."""
    low = high = keys[0]
    for at in range(n):
        low, high = min(low, keys[at]), max(high, keys[at])
    shift = 0
    while (high - low) >> shift >= RUNS:
        shift += 1
    for at in range(n):
        counts[(high - keys[at]) >> shift] += 1
    return high, shift


@kernel
def sort_keys(keys, n):
    """Sort n keys, largest first: into buckets by their leading bits, then by insertion."""
    if n <= MAX_RUN:
        insertion_sort(keys, n)
        return
    ends, given = np.zeros(RUNS, np.int64), np.empty(n, np.int64)
    high, shift = count_runs(keys, n, ends)
    copy_first(keys, n, given)
    longest = ends[0]
    for run in range(1, RUNS):
        longest = max(longest, ends[run])
        ends[run] += ends[run - 1]
    if longest > MAX_RUN:  # insertion would take too long
        given.sort()
        for at in range(n):
            keys[at] = given[n - 1 - at]
        return
    for key in given:
        run = (high - key) >> shift
        ends[run] -= 1
        keys[ends[run]] = key
    insertion_sort(keys, n)


@helper
def insertion_sort(keys, n):
    """Sort n keys that are almost in order, largest first."""
    for at in range(1, n):
        key, to = keys[at], at
        while to > 0 and keys[to - 1] < key:
            keys[to] = keys[to - 1]
            to -= 1
        keys[to] = key


@kernel
def best(keys, n, own, bits, items):
    """Write the items with the largest keys, best first, and the bits of their scores."""
    wanted = min(n, items.size)
    if n > 2 * wanted:
        largest_first(keys, n, wanted)
        n = wanted
    sort_keys(keys, n)
    for p in range(wanted):
        key = keys[p]
        order = key & LOW
        items[p] = own if order == LOW else LOW - 1 - order
        bits[p] = key >> 32


@kernel
def last_of(values, wanted, tops):
    """Return a lower bound of the `wanted`-th largest value, usually a close one.

    For a short list, that of the largest values of groups; for a long one, the edge of a bucket.
    """
    width = GROUPS * wanted
    if 4 * width > values.size:
        likely = last_bucket(values, STEP, np.int64(MARGIN * wanted / STEP) + 1)
        return likely if count_at_least(values, likely) >= wanted else last_bucket(values, 1, wanted)
    copy_first(values, width, tops)
    for start in range(width, values.size, width):
        stop = min(start + width, values.size)
        for at in range(stop - start):
            if values[start + at] > tops[at]:
                tops[at] = values[start + at]
    largest_first(tops, width, wanted)
    return tops[wanted - 1]


@helper
def count_at_least(values, floor):
    """Return how many values are at least `floor`."""
    n = 0
    for value in values:
        n += value >= floor
    return n


@helper
def last_bucket(values, step, wanted):
    """Return the lower edge of the bucket of the `wanted`-th largest value, of every `step`-th."""
    top = ZERO
    for at in range(0, values.size, step):
        top = max(top, values[at])
    if not MIN_FLOOR < top < MAX_FLOOR:
        return ZERO
    counts, scale = np.zeros(BUCKETS + 1, np.int32), BUCKETS / top
    for at in range(0, values.size, step):
        if 0.0 <= values[at] <= top:  # not NaN: damaged weights must not lead out of the array
            counts[np.uint32(values[at] * scale)] += 1
    bucket, n = BUCKETS, counts[BUCKETS]
    while n < wanted and bucket > 0:
        bucket -= 1
        n += counts[bucket]
    return bucket / scale


@kernel
def floor_of(last):
    """Return a score below which no text can be in a list whose last score is at least `last`."""
    return last * SLACK if MIN_FLOOR < last < MAX_FLOOR else ZERO


@kernel
def at_least(values, floor, wanted, seen):
    """List the texts with a positive value that is at least `floor`, about `wanted`; return their number."""
    n = 0
    if RARE * wanted < values.size:
        for doc in range(values.size):
            if values[doc] >= floor and values[doc] > 0.0:
                seen[n] = doc
                n += 1
        return n
    for doc in range(values.size):
        seen[n] = doc  # without a branch, which would often be mispredicted
        n += (values[doc] >= floor) & (values[doc] > 0.0)
    return n


@helper
def with_own(own, n, seen):
    """Add the query itself to n texts if it is not among them; return their number."""
    if own < 0 or (seen[:n] == own).any():
        return n
    seen[n] = own
    return n + 1


@helper
def scan(query, texts, scoring, depth, scratch):
    """List the texts that may be among the best `depth`, by adding all postings; return their number."""
    common = scratch.common
    for at in range(query.terms.size):
        add_postings(query.terms[at], query.weights[at], texts, scoring.overlap, common)
    for doc in range(scoring.allowed.size):
        if not scoring.allowed[doc]:
            common[doc] = 0.0
    values = similarities(common, query.size, texts.sizes, scoring.share, scratch.values)
    last = query.floor if query.floor > 0.0 else last_of(values, depth, scratch.tops)
    return at_least(values, floor_of(last), depth, scratch.seen)


@kernel
def write_best(n, query, sizes, share, scratch, items, bits):
    """Write the best of n texts, by their common part with the query; none that shares nothing, but the query."""
    common, keys, single, own, found = scratch.common, scratch.keys, scratch.single, query.own, 0
    for at in range(n):
        doc = np.int64(scratch.seen[at])  # LOW does not fit in 32 bits
        if common[doc] > 0.0 or doc == own:
            value = ZERO if common[doc] == 0.0 else similarity(common[doc], query.size, sizes[doc], share)
            single[0] = value if value > 0.0 else ZERO  # of damaged weights, it may be NaN or negative: keys must not
            tie = LOW if doc == own else LOW - 1 - doc
            keys[found] = (np.int64(scratch.single_bits[0]) << 32) | tie
            found += 1 if doc == own or single[0] > query.floor else 0
    best(keys, found, own, bits, items)


@helper
def n_postings(terms, ptr):
    """Return the number of postings of terms."""
    n = 0
    for term in terms:
        n += ptr[term + 1] - ptr[term]
    return n


@kernel
def rank(start, stop, queries, texts, scoring, scratch, lists):
    """Rank the texts for queries `start` to `stop` by score; ties: the query itself, then the smaller number."""
    common, seen, depth = scratch.common, scratch.seen, lists.items.shape[1]
    for q in range(start, stop):
        query = query_at(queries, q)
        few = depth == 0 or SPARSE * n_postings(query.terms, texts.ptr) < common.size
        n = overlap(query, texts, scoring, common, seen) if few else scan(query, texts, scoring, depth, scratch)
        n = with_own(query.own, n, seen)
        write_best(n, query, texts.sizes, scoring.share, scratch, lists.items[q], lists.bits[q])
        if few:
            common[seen[:n]] = 0.0
        else:
            common[:] = 0.0
