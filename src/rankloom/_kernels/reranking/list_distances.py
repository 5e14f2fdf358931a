"""Distances stored along lists: fused, symmetric, and updated by the similarity of lists or by context images."""

import numpy as np

from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import collect_items, length_of
from rankloom._kernels.sparse_rows import spread


@helper
def sift_down(heap, size, at):
    """Restore the heap, largest key first, below one element; the key is the upper half of an element.

    Numbers are unsigned, which saves the check for negative indexes.
    """
    one, half = np.uint64(1), np.uint64(32)
    moved = heap[at]
    key = moved >> half
    child = at + at + one
    while child + one < size:
        left, right = heap[child], heap[child + one]
        larger = right >> half > left >> half
        largest = right if larger else left
        child += np.uint64(larger)
        if key >= largest >> half:
            break
        heap[at] = largest
        at = child
        child = at + at + one
    else:
        if child < size and heap[child] >> half > key:
            heap[at] = heap[child]
            at = child
    heap[at] = moved


@helper
def heap_sort(heap, size):
    """Sort by ascending key with a binary heap, which breaks ties as the reference program does."""
    first = np.uint64(0)
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, np.uint64(size), np.uint64(at))
    for end in range(size - 1, 0, -1):
        last = np.uint64(end)
        heap[first], heap[last] = heap[last], heap[first]
        sift_down(heap, last, first)


@helper
def collect_sorted(i, lists, seen, found):
    """Collect the items of row i of several rankers' lists by number; if they are many, by going through all items.

    `seen` is scratch of False, in which the items are marked; `found` has room for one item more.
    """
    m, n, width = lists.shape
    if m * width * 8 < n:
        size = collect_items(i, lists, seen, found)
        found[:size].sort()
        return size
    for r in range(m):
        for p in range(length_of(lists[r, i])):
            seen[np.uint64(lists[r, i, p])] = True
    at = np.uint64(0)
    for j in range(n):
        found[at] = j  # overwritten unless seen
        at += np.uint64(seen[j])
    return np.int64(at)


@kernel
def fuse_distances(start, stop, lists, distances, absent, out):
    """Sort the items of several lists by the geometric mean of 1 + distance; `absent` has a row for each ranker."""
    items, scores = out
    m, n, _ = lists.shape
    near = np.full((m, n), -1, np.float32)
    seen = np.zeros(n, np.bool_)
    item = np.empty(n + 1, np.int32)
    key = np.empty(n, np.float32)
    bits = key.view(np.uint32)
    heap = np.empty(n, np.uint64)
    root = np.float64(np.float32(1) / np.float32(m))
    for i in range(start, stop):
        for r in range(m):
            spread(lists[r, i], distances[r, i], near[r])
        size = collect_sorted(i, lists, seen, item)
        for c in range(size):
            j = np.uint64(item[c])
            seen[j] = False
            product = np.float32(1)
            for r in range(m):
                one = near[r, j] if near[r, j] >= 0 else absent[r, i]
                near[r, j] = -1
                product = np.float32(product * np.float32(np.float32(1) + one))
            key[c] = product**root
            heap[c] = np.uint64(bits[c]) << np.uint64(32) | np.uint64(c)  # keys are at least 1: bits sort like them
        heap_sort(heap, size)
        for p in range(items.shape[1]):
            at = heap[p] & np.uint64(0xFFFFFFFF) if p < size else np.uint64(0)
            items[i, p] = item[at] if p < size else -1
            scores[i, p] = key[at] if p < size else 0.0


@kernel
def segments(start, stop, ranked, back, k, compared, nearness, out):
    """Compute distances by shared first items: those of `nearness`, or the old + 1 without any, + 2 further down.

    The scores are the old distances, negated. An item that both lists have from depth d on adds k + 1 - d. This is
    added up over the lists that have a first item of i, which are few, not over the first items of all lists compared.
    """
    ptr, rows, columns = back
    lists, scores = ranked
    shared = np.zeros(lists.shape[0], np.int32)
    for i in range(start, stop):
        for p in range(length_of(lists[i, :k])):
            item = np.uint64(lists[i, p])
            for entry in range(np.uint64(ptr[item]), np.uint64(ptr[item + np.uint64(1)])):
                shared[rows[entry]] += k - max(p, columns[entry])
        for p in range(length_of(lists[i])):
            j = lists[i, p]
            if p >= compared:
                out[i, p] = np.float32(2) - scores[i, p]
            elif shared[np.uint64(j)] > 0:
                out[i, p] = nearness[shared[np.uint64(j)]]
            else:
                out[i, p] = np.float32(1) - scores[i, p]
            if j == i:
                out[i, p] = 0.0
        for p in range(length_of(lists[i, :k])):
            item = np.uint64(lists[i, p])
            for entry in range(np.uint64(ptr[item]), np.uint64(ptr[item + np.uint64(1)])):
                shared[rows[entry]] = 0


@kernel
def smaller_of_both(start, stop, lists, distances, columns, out):
    """Write minus the smaller of the distances of i to j and of j to i; `columns` has those of all rows to an item."""
    n = lists.shape[0]
    other = np.full(n, np.inf, np.float32)
    for i in range(start, stop):
        first, last = np.uint64(columns.ptr[i]), np.uint64(columns.ptr[i + 1])
        for entry in range(first, last):
            other[columns.items[entry]] = columns.values[entry]
        for p in range(length_of(lists[i])):
            out[i, p] = -min(distances[i, p], other[np.uint64(lists[i, p])])
        for entry in range(first, last):
            other[columns.items[entry]] = np.inf


@helper
def threshold(first, count):
    """Return the largest of some distances, and the level of their mean in 255 shades of it; first is not counted."""
    largest = np.float32(0)
    total = np.float32(0)
    for b in range(1, count):
        largest = max(largest, first[b])
        total = np.float32(total + first[b])
    if largest == 0.0:
        return largest, 0
    mean = np.float32(total / np.float32(count - 1))
    return largest, int(np.float32(np.float32(mean / largest) * np.float32(255)))


@helper
def median_filter(image, rows, columns):
    """Smooth a black and white image in place, 3 x 3, line by line; four white pixels make white."""
    for a in range(1, rows - 1):
        for b in range(1, columns - 1):
            white = 0
            for y in range(a - 1, a + 2):
                for x in range(b - 1, b + 2):
                    white += image[y, x]
            image[a, b] = 1 if white >= 4 else 0


@kernel
def context_images(start, stop, lists, distances, absent, neighbors, images):
    """Draw, for each item and each of its neighbors, the distances between their first items: 0 is black, near."""
    side = images.shape[2]
    slot = np.full(lists.shape[0], -1, np.int32)
    members = np.empty(neighbors * side, np.int32)
    table = np.empty((side, neighbors * side), np.float32)
    first = np.empty(side, np.float32)
    for i in range(start, stop):
        images[i] = 1
        rows = length_of(lists[i, :side])
        count = 0
        for o in range(1, min(neighbors + 1, rows)):
            for b in range(length_of(lists[lists[i, o], :side])):
                item = lists[lists[i, o], b]
                if slot[item] < 0:
                    slot[item] = count
                    members[count] = item
                    count += 1
        for a in range(rows):
            x = lists[i, a]
            table[a, :count] = absent[x]
            for p in range(length_of(lists[x])):
                if slot[lists[x, p]] >= 0:
                    table[a, slot[lists[x, p]]] = distances[x, p]
        for o in range(1, min(neighbors + 1, rows)):
            columns = length_of(lists[lists[i, o], :side])
            for b in range(columns):
                first[b] = table[1, slot[lists[lists[i, o], b]]]
            largest, level = threshold(first, columns)
            if largest == 0.0:
                continue
            for a in range(rows):
                for b in range(columns):
                    near = table[a, slot[lists[lists[i, o], b]]]
                    shade = int(np.float32(np.float32(near / largest) * np.float32(255)))
                    images[i, o - 1, a, b] = 1 if shade > level else 0
            median_filter(images[i, o - 1], rows, columns)
        for c in range(count):
            slot[members[c]] = -1


@helper
def add_image(x, i, o, own, lists, images, light, row):
    """Add the black pixels of one image to row x of the weights; `own` is the line of x in the images of item i."""
    neighbor = np.int64(lists[i, o])
    side = min(images.shape[2], lists.shape[1])
    corner = x in (i, neighbor)
    weight = np.float32(images.shape[1] - o + 1)
    for a in range(0 if corner else own, length_of(lists[i, : side if corner else own + 1])):
        for b in range(length_of(lists[neighbor, :side])):
            if images[i, o - 1, a, b]:
                continue
            amount = np.float32(weight * light[a, b])
            if a == own:
                row[lists[neighbor, b]] += amount
            if corner:
                row[lists[i, a]] += amount / np.float32(4)
                row[lists[neighbor, b]] += amount / np.float32(4)


@kernel
def add_images(start, stop, tops, images, light, back, pool, weights):
    """Add the images of one ranker to the weights of each row and the items of its pool."""
    ptr, rows, columns = back
    row = np.zeros(tops.shape[0], np.float32)
    for x in range(start, stop):
        spread(pool[x], weights[x], row)
        for entry in range(ptr[x], ptr[x + 1]):
            i = np.int64(rows[entry])
            for o in range(1, length_of(tops[i, : images.shape[1] + 1])):
                add_image(x, i, o, columns[entry], tops, images, light, row)
        for c in range(length_of(pool[x])):
            weights[x, c] = row[pool[x, c]]


@kernel
def from_weights(start, stop, lists, weights, distances, largest, out):
    """Compute distances: 2 / weight, or 1 + the old distance divided by the largest where nothing was added."""
    for i in range(start, stop):
        for p in range(length_of(lists[i])):
            if lists[i, p] == i:
                out[i, p] = 0.0
            elif weights[i, p] == 1.0:
                out[i, p] = np.float32(1) + np.float32(distances[i, p] / largest)
            else:
                out[i, p] = np.float32(np.float32(1) / weights[i, p]) * np.float32(2)
