"""Helpers have no wrapper for Python, so a call from Python would crash the process."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "src" / "rankloom" / "_kernels"


def decorators(node):
    return {ast.unparse(decorator).partition("(")[0] for decorator in getattr(node, "decorator_list", ())}


def helpers():
    """Return the helpers as pairs of module and name."""
    return {
        (path.stem, node.name)
        for path in KERNELS.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if "helper" in decorators(node)
    }


def names_in_python(path):
    """Return the kernels that the code of a module could call in Python, as pairs of module and name."""
    body = ast.parse(path.read_text("utf-8")).body
    if path.parent == KERNELS:
        body = [node for node in body if not decorators(node) & {"kernel", "helper", "njit"}]
    nodes = [node for part in body for node in ast.walk(part)]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    if path.parent == KERNELS:
        used = {node.id for node in nodes if isinstance(node, ast.Name)}
        modules = {name.name: node.module.rpartition(".")[2] for node in imports for name in node.names}
        return {(modules.get(name, path.stem), name) for name in used}
    whole = {name.name for node in imports if node.module == "rankloom._kernels" for name in node.names}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    direct = {(node.module.rpartition(".")[2], name.name) for node in imports for name in node.names}
    return direct | {(module, name) for module in whole for name in attributes}


def test_only_kernels_call_helpers():
    unwrapped = helpers()
    assert len(unwrapped) > 50
    for folder in ("src", "tests", "benchmarks", "examples", "experiments", "docs"):
        for path in (ROOT / folder).rglob("*.py"):
            assert unwrapped & names_in_python(path) == set(), f"{path}: decorate these as kernels"
