"""The signatures that kernels are compiled for."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from rankloom._kernels import jit

PROGRAM = Path(__file__).parents[2] / "build_kernels" / "compile.py"
LINES = Path(jit.__file__).with_name("signatures.txt").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def program():
    spec = spec_from_file_location("compile_kernels", PROGRAM)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("other", "signature", "covered"),
    [
        ("i8 f4[2]", "i8 f4[2]w", True),
        ("a.B(i8 f4[1]s)", "a.B(i8 f4[1]sw)", True),
        ("f4[2] i4[1]", "f4[2]w i4[1]w", True),
        ("f4[2]w", "f4[2]", False),
        ("f4[2] i4[1]w", "f4[2]w i4[1]", False),
        ("f4[2]", "f4[2]", False),  # itself
        ("f4[2]", "f4[2]s", False),
        ("f4[2]", "f4[1]w", False),
        ("f4[2]", "f8[2]w", False),
        ("a.B(f4[2])", "a.C(f4[2]w)", False),
        ("f4[2]", "f4[2]w i8", False),
    ],
)
def test_code_for_arrays_that_are_read_takes_those_that_may_be_written(program, other, signature, covered):
    assert program.covers(other, signature) == covered


def test_each_recorded_signature_is_compiled_or_covered(program):
    compiled = {name: set(signatures) for name, signatures in program.recorded().items()}
    left_out = [line.split(" ", 1) for line in LINES if line.split(" ", 1)[1] not in compiled[line.split(" ", 1)[0]]]
    assert 0 < len(left_out) < len(LINES)
    for name, signature in left_out:
        assert any(program.covers(other, signature) for other in compiled[name])
