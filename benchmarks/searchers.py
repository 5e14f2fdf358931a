"""The price of a searcher: every document is run as a query once, by BM25 and by static embeddings.

Run as a program with a number of documents, it builds one searcher and prints what that took.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

RANKERS = ("bm25", "static")
FILES = (
    "ohsumed/ohsumed_single_label_18302.jsonl.gz",
    "ohsumed/ohsumed_multi_label_16087.jsonl.gz",
    "texts/scifact/docs.jsonl.gz",
    "texts/npl/docs.jsonl.gz",
)
DEPTH = 60  # of the lists, the default of Searcher.build


def prices(sizes):
    """Return a row for each number of documents, each measured in its own process."""
    return [
        json.loads(subprocess.run([sys.executable, __file__, str(n)], stdout=subprocess.PIPE, check=True).stdout)
        for n in sizes
    ]


def documents(n, seed=0):
    """Return `n` texts in random order: Ohsumed's, SciFact's and NPL's, then as many mixed ones as are missing."""
    rng = np.random.default_rng(seed)
    rows = [row for name in FILES for row in read(name)]
    texts = [f"{row.get('title', '')} {row['text']}".strip() for row in rows]
    if n > len(texts):
        texts += mixed([row for row in rows if "labels" in row], n - len(texts), rng)
    return [texts[i] for i in rng.permutation(len(texts))[:n]]


def mixed(rows, n, rng):
    """Return `n` texts made of sentences of texts of one class, as many as a text of that class has."""
    pools = defaultdict(list)
    for row in rows:
        pools[row["labels"][0]] += row["text"].split("\n")
    found = []
    for i in rng.integers(0, len(rows), n):
        pool = pools[rows[i]["labels"][0]]
        found.append("\n".join(pool[j] for j in rng.integers(0, len(pool), rows[i]["text"].count("\n"))))
    return found


def read(name):
    """Return the rows of a file of the collections."""
    with gzip.open(Path(os.environ["RANKLOOM_DATA"]) / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def price(n):
    """Build, save and search one searcher; return what it took."""
    from run import peak_gb, yardstick

    import rankloom as rl

    texts = documents(n)
    rl.Searcher.build(texts[:300], rankers=RANKERS)  # compiles the kernels, loads the weights
    start = time.process_time()
    searcher = rl.Searcher.build(texts, rankers=RANKERS)
    cpu, peak = time.process_time() - start, peak_gb()
    with tempfile.TemporaryDirectory() as folder:
        searcher.save(Path(folder) / "x.loom")
        stored = sum(file.stat().st_size for file in (Path(folder) / "x.loom").rglob("*") if file.is_file())
    y = yardstick(n * len(RANKERS) * DEPTH)
    return {
        "documents": n,
        "MB of text": sum(len(text.encode()) for text in texts) / 1e6,
        "CPU s": cpu,
        "Y s": y,
        "CPU / Y": cpu / y,
        "ms per document": cpu / n * 1e3,
        "folder MB": stored / 1e6,
        "peak GB": peak,
    }


if __name__ == "__main__":
    print(json.dumps(price(int(sys.argv[1]))))
