"""Compiles the kernels when the package is built; `build_kernels/compile.py` says how.

RANKLOOM_KERNELS=jit or plain leaves them out. RANKLOOM_WHEEL=portable compiles them for other machines as well.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "rankloom/_kernels/library.abi3.so"
PORTABLE = os.environ.get("RANKLOOM_WHEEL") == "portable"
ABSENT = (
    os.environ.get("RANKLOOM_KERNELS") in ("jit", "plain")
    or sys.platform == "win32"  # not supported; numba compiles there
    or bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
)


def tag() -> str:
    """Return the tag of a wheel: one for all versions of Python, and for all systems with glibc 2.17 if portable."""
    system = "macosx_11_0" if sys.platform == "darwin" else "manylinux_2_17" if PORTABLE else "linux"
    return f"cp311-abi3-{system}_{platform.machine()}"


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernels for a wheel or an editable installation."""

    folder: str | None = None  # for the library, until it is in the wheel

    def dependencies(self) -> list[str]:
        """Return what compiling needs: zig stands in for a compiler of C, and links for systems older than this one."""
        if ABSENT or self.target_name != "wheel":
            return []
        has_compiler = bool(shutil.which(os.environ.get("CC", "cc").split()[0]))
        return ["numba==0.68.*", *(["ziglang"] if PORTABLE or not has_compiler else [])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the source tree if the installation is editable, else into a folder of its own."""
        if ABSENT or self.target_name != "wheel":
            return
        self.folder = tempfile.mkdtemp()
        target = Path(self.root, "src", LIBRARY) if version == "editable" else Path(self.folder, "library.abi3.so")
        program = Path(self.root, "build_kernels", "compile.py")
        subprocess.run([sys.executable, program, target, *["portable"] * PORTABLE], check=True)
        if version != "editable":
            build_data["force_include"][str(target)] = LIBRARY
        build_data["pure_python"], build_data["tag"] = False, tag()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
