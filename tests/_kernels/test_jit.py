"""Helpers have no wrapper for Python, so a call from Python would crash the process."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "src" / "rankloom" / "_kernels"


def decorators(node):
    return {ast.unparse(decorator).partition("(")[0] for decorator in getattr(node, "decorator_list", ())}


def module_of(path):
    """Return the module of a file of kernels, relative to `_kernels`."""
    return ".".join(path.relative_to(KERNELS).with_suffix("").parts)


def helpers():
    """Return the helpers as pairs of module and name."""
    return {
        (module_of(path), node.name)
        for path in KERNELS.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if decorators(node) & {"helper", "inner"}
    }


def names_in_python(path):
    """Return the kernels that the code of a module could call in Python, as pairs of module and name."""
    body, inside = ast.parse(path.read_text("utf-8")).body, path.is_relative_to(KERNELS)
    if inside:
        body = [node for node in body if not decorators(node) & {"kernel", "helper", "inner", "njit"}]
    nodes = [node for part in body for node in ast.walk(part)]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    imports = [
        (node.module.partition("rankloom._kernels")[2][1:], name.name) for node in imports for name in node.names
    ]
    if inside:
        modules = {name: module for module, name in imports}
        return {(modules.get(node.id, module_of(path)), node.id) for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    whole = {f"{module}.{name}".lstrip(".") for module, name in imports}
    return {*imports, *((module, name) for module in whole for name in attributes)}


def test_only_kernels_call_helpers():
    unwrapped = helpers()
    assert len(unwrapped) > 50
    for folder in ("src", "tests", "benchmarks", "examples", "experiments", "docs"):
        for path in (ROOT / folder).rglob("*.py"):
            assert unwrapped & names_in_python(path) == set(), f"{path}: decorate these as kernels"
