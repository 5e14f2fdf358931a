"""Reference text rankers, written from the formulas: dicts, one pair of texts at a time."""

import itertools
import math
from collections import Counter

from rankloom.rankers.text.terms import Tokenizer


def tokenize(text):
    """Return the stems of a text in order."""
    return [word for sentence in Tokenizer().sentences(text) for word in sentence]


def bag(text, terms="words"):
    words = tokenize(text)
    counts = Counter((word,) for word in words) if "words" in terms else Counter()
    return counts + Counter(itertools.pairwise(words)) if "pairs" in terms else counts


def graph(text, known=None):
    """Return the weights of vertices and edges, restricted to the `known` terms if given."""
    vertices, edges = Counter(), Counter()
    for sentence in Tokenizer().sentences(text):
        vertices.update((word,) for word in sentence)
        edges.update(itertools.pairwise(sentence))
    if known is not None:
        vertices, edges = ({t: part[t] for t in part if t in known} for part in (vertices, edges))
    return {term: count / max(part.values()) for part in (vertices, edges) for term, count in part.items()}


def idf(bags):
    frequency = Counter(term for one in bags for term in one)
    return {term: math.log(len(bags) / count) for term, count in frequency.items()}


def weighted(one, kind, rare):
    local = {"binary": lambda f: 1.0, "log": lambda f: 1 + math.log(f), "tf": float}[kind.split("-")[0]]
    return {t: local(f) * (rare[t] if kind.endswith("idf") else 1.0) for t, f in one.items() if t in rare}


def product(a, b):
    return sum(a[t] * b[t] for t in a if t in b)


def minima(a, b):
    return sum(min(a[t], b[t]) for t in a if t in b)


def cosine(a, b):
    shared = product(a, b)
    return shared and shared / math.sqrt(product(a, a) * product(b, b))


def jaccard(a, b):
    shared = minima(a, b)
    return shared and shared / (sum(a.values()) + sum(b.values()) - shared)


def dice(a, b):
    shared = minima(a, b)
    return shared and 2 * shared / (sum(a.values()) + sum(b.values()))


def larger(a, b):
    shared = minima(a, b)
    return shared and shared / max(sum(a.values()), sum(b.values()))


def okapi(query, doc, bags, k1=1.2, b=0.75):
    frequency = Counter(term for one in bags for term in one)
    mean = sum(sum(one.values()) for one in bags) / len(bags)
    saturation = k1 * (1 - b + b * sum(doc.values()) / mean) if mean else 0.0
    rare = {t: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for t, n in frequency.items()}
    return sum(f * rare[t] * doc[t] / (doc[t] + saturation) for t, f in query.items() if t in doc)


def ranking(scores, own=None):
    """Return the items with a positive score, and the item itself, best first."""
    rounded = {item: round(score, 6) for item, score in enumerate(scores) if score > 0 or item == own}
    return sorted(rounded, key=lambda item: (-rounded[item], item != own, item)), rounded
