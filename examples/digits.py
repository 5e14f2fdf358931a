"""Fuse three rankers of scikit-learn's handwritten digits: a table, and one fusion graph drawn.

Run it with `python examples/digits.py`; it needs the extra demo: pip install "rankloom[demo]".
"""

import base64
import struct
import sys
import time
import zlib
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_digits

import rankloom as rl

QUERY = 5  # the item whose graph is drawn


def rankers(images):
    """Three ways to look at a digit: each gives every item's list of nearest items."""
    n = len(images)
    sums = np.hstack([images.sum(axis=1), images.sum(axis=2)])
    return {
        "pixels (l2)": rl.Ranks.from_vectors(images.reshape(n, -1), metric="l2"),
        "directions of strokes (cosine)": rl.Ranks.from_vectors(directions(images), metric="cosine"),
        "row and column sums (l1)": rl.Ranks.from_vectors(sums, metric="l1"),
    }


def directions(images):
    """Return how strong the gradient is in each of 8 directions, in 4 x 4 cells."""
    n = len(images)
    down, across = np.gradient(images, axis=(1, 2))
    direction = ((np.arctan2(down, across) + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    strength = np.where(direction[..., None] == np.arange(8), np.hypot(down, across)[..., None], 0.0)
    return strength.reshape(n, 4, 2, 4, 2, 8).sum(axis=(2, 4)).reshape(n, -1)


def png_url(image):
    """Return a digit as a PNG in a `data:` URL."""
    rows = b"".join(b"\0" + row.tobytes() for row in (255 - image / 16 * 255).astype(np.uint8))
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()


def main(folder=Path("demo-output")):
    """Print the table, write the drawing."""
    digits = load_digits()
    console = Console(width=None if sys.stdout.isatty() else 100)
    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("Ranking 1797 digits by three rankers", total=None)
        ranks = rankers(digits.images)
        bars.update(task, description="Weaving and comparing fusion graphs")
        start = time.perf_counter()
        index = rl.FusionIndex.build(list(ranks.values()), cutoff=10)
        fused = index.search(k=10)
        seconds = time.perf_counter() - start
        rrf = rl.fuse(list(ranks.values()), method="rrf", k=10)

    table = Table("ranker", "NDCG@10", title="1797 digits, each one a query")
    for name, one in {**ranks, "RRF of the three": rrf, "fusion graphs (FG) of the three": fused}.items():
        value = rl.evaluate(one, labels=digits.target, measures=["ndcg@10"])["ndcg@10"]
        table.add_row(name, f"{value:.4f}", style="bold" if one is fused else None)
    console.print(table)
    console.print(
        f"FG built and searched {len(index)} graphs in {seconds:.1f} s (including loading or compiling its kernels)."
    )

    folder.mkdir(exist_ok=True)
    graph = index.graph(QUERY)
    path = folder / "fusion-graph.svg"
    path.write_text(graph.to_svg(images={i: png_url(digits.images[i]) for i in graph.items.tolist()}))
    console.print(f"The fusion graph of item {QUERY} is drawn in {path}; why its best answer came first:\n")
    console.print(str(index.explain(QUERY, int(fused.items[QUERY, 1]))), highlight=False)


if __name__ == "__main__":
    main()
