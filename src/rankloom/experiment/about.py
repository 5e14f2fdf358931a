"""Where and by what an experiment was run."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rankloom.experiment.material import Material
from rankloom.version import __version__

PACKAGES = ("numpy", "scipy", "numba")


def about(material: Material, command: str, started: str, notes: list[str]) -> dict[str, Any]:
    """Return what a reader must know to judge and to repeat the figures."""
    queries = material.collection.queries
    return {
        "collection": f"{material.collection.name}: {material.collection.about}",
        "n_items": len(material.collection),
        "n_queries": len(material.collection) if queries is None else len(queries.ids),
        "versions": {"rankloom": __version__, "python": platform.python_version(), **_packages()},
        "machine": machine(),
        "command": command,
        "started": started,
        "notes": notes,
    }


def machine() -> str:
    """Return processor, number of processors this process may use, and system, in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, {platform.system()}"


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
