"""A network as an ONNX model in memory: enough of the format for convolutions, without the package `onnx`.

An ONNX model is a protocol-buffer message; the field numbers below are those of ``onnx.proto`` (IR version 8, operator
set 17).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rankloom.ranks.arrays import Float32s

IR_VERSION, OPERATOR_SET = 8, 17
FLOAT, INT, STRING, INTS = 1, 2, 3, 7  # FLOAT as the type of a tensor, the others as types of an attribute

Attribute = int | str | list[int]


@dataclass(slots=True)
class OnnxGraph:
    """A graph of operators with one input, which is named "input", and one output, both of float32.

    Examples
    --------
    >>> graph = OnnxGraph((1, 3))
    >>> doubled = graph.add("Mul", "input", graph.constant(np.float32(2)))
    >>> model = graph.model(doubled, (1, 3))
    """

    input_shape: tuple[int, ...]
    _nodes: list[bytes] = field(default_factory=list, init=False)
    _constants: list[bytes] = field(default_factory=list, init=False)

    def constant(self, values: Float32s | np.float32) -> str:
        """Add numbers and return their name."""
        name = f"c{len(self._constants)}"
        array = np.asarray(values, "<f4")
        dims = b"".join(_integer(1, size) for size in array.shape)
        self._constants.append(dims + _integer(2, FLOAT) + _text(8, name) + _bytes(9, array.tobytes()))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Attribute) -> str:
        """Add an operator and return the name of its output."""
        name = f"n{len(self._nodes)}"
        node = b"".join(_text(1, input) for input in inputs) + _text(2, name) + _text(4, operator)
        node += b"".join(_bytes(5, _attribute(key, value)) for key, value in attributes.items())
        self._nodes.append(node)
        return name

    def model(self, output: str, output_shape: tuple[int, ...]) -> bytes:
        """Return the model whose output is that of the operator named `output`."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _text(2, "graph")
        graph += b"".join(_bytes(5, constant) for constant in self._constants)
        graph += _bytes(11, _value("input", self.input_shape)) + _bytes(12, _value(output, output_shape))
        return _integer(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _integer(2, OPERATOR_SET))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _integer(20, STRING)
    if isinstance(value, list):
        return _text(1, name) + b"".join(_integer(8, number) for number in value) + _integer(20, INTS)
    return _text(1, name) + _integer(3, value) + _integer(20, INT)


def _value(name: str, shape: tuple[int, ...]) -> bytes:
    """Return the declaration of a float32 tensor."""
    dims = b"".join(_bytes(1, _integer(1, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _integer(1, FLOAT) + _bytes(2, dims)))


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Return a non-negative integer, seven bits to a byte, the lowest first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
