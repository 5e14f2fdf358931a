"""The tables of the paper, as printed: `PAPER` is src/rankloom/report/dourado2019.toml."""

import tomllib
from importlib.resources import files

PAPER = tomllib.loads(files("rankloom.report").joinpath("dourado2019.toml").read_text("utf-8"))
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
