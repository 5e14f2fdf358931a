"""Small made-up texts for tests of the searcher: words of a few topics, so that neighbors exist."""

from itertools import pairwise

import numpy as np

TOPICS = {
    "heat": "heat conduction slab plate thermal temperature transfer flux boundary layer",
    "wing": "wing lift drag flow supersonic angle attack airfoil boundary layer",
    "heart": "heart patient disease drug blood pressure artery failure treatment trial",
    "chess": "chess king queen pawn opening endgame mate board player move",
}


def documents(n, seed=0, start=0):
    """Return n documents of 8 to 20 words, mostly of one topic, with fields to filter by."""
    random = np.random.default_rng(seed)
    names = list(TOPICS)
    made = []
    for number in range(start, start + n):
        topic = names[int(random.integers(len(names)))]
        other = names[int(random.integers(len(names)))]
        words = [
            *random.choice(TOPICS[topic].split(), random.integers(6, 14)),
            *random.choice(TOPICS[other].split(), 3),
        ]
        made.append({
            "id": f"d{number}", "title": str(topic), "text": " ".join(words), "topic": topic,
            "year": int(random.integers(2000, 2004)),
        })  # fmt: skip
    return made


def encode(texts):
    """Embed texts by hashing character pairs: deterministic, and the same for a text in any batch."""
    matrix = np.zeros((len(texts), 32), np.float32)
    for row, text in enumerate(texts):
        for one, other in pairwise(text):
            matrix[row, (ord(one) * 7 + ord(other)) % 32] += 1
    return matrix
