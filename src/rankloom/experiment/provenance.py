"""Where and by what an experiment was run."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rankloom.experiment.material import Material
from rankloom.version import __version__

#: What numbers and lists are computed with, where it is installed.
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pillow", "PyStemmer", "POT", "tokenizers", "safetensors")


def about(
    material: Material, *, command: str, started: str, made: str, notes: list[str], failed: list[str]
) -> dict[str, Any]:
    """Return what a reader must know to judge and to repeat the figures."""
    queries = material.collection.queries
    return {
        "collection": f"{material.collection.name}: {material.collection.about}",
        "n_items": material.n_items,
        "n_queries": len(material.collection) if queries is None else len(queries.ids),
        "versions": versions(),
        "machine": machine(),
        "command": command,
        "started": started,
        "made": made,
        "notes": [*notes, *failed],
        "failed": failed,
        "cut": material.cut,
    }


def setting(threads: int | None) -> str:
    """Return by what and where something is timed, in one line: machine, threads, versions."""
    using = f"{threads or _cores()} threads"
    return "; ".join([machine(), using, ", ".join(f"{name} {one}" for name, one in versions().items())])


def machine() -> str:
    """Return processor, number of processors this process may use, and system, in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return f"{model}, {_cores()} cores, {platform.system()}"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Return the versions of rankloom, Python and the packages that there are."""
    found = {"rankloom": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
