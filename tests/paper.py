"""The tables of the paper, as printed: `PAPER` is tests/golden/paper/tables.toml."""

import tomllib
from pathlib import Path

PAPER = tomllib.loads((Path(__file__).parent / "golden" / "paper" / "tables.toml").read_text("utf-8"))
COLLECTIONS = list(PAPER["rankers"])


def effectiveness(collection):
    """Return the effectiveness of the rankers, in the order of the table of correlations."""
    values = PAPER["rankers"][collection]["values"]
    return {name: values[name] for name in PAPER["correlations"][collection]["rankers"]}


def configurations():
    """Return {(collection, configuration number): {method: value}} from the six tables of fused rankers."""
    return {
        (collection, i): {method: cells[i][1] for method, cells in table["methods"].items()}
        for collection, table in PAPER["fused"].items()
        for i in range(3)
    }
