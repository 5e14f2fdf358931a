"""ONNX models written by hand: onnxruntime reads and runs them."""

import numpy as np
import pytest

from rankloom.rankers.image.onnx_graph import OnnxGraph, _varint

runtime = pytest.importorskip("onnxruntime")


def run(model, x):
    return runtime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"input": x})[0]


def test_numbers_have_seven_bits_in_a_byte():
    assert _varint(1) == b"\x01"
    assert _varint(300) == bytes([0b10101100, 0b10])  # the example of the protocol-buffer documentation


def test_constants_keep_shape_and_values():
    graph = OnnxGraph((2, 3))
    total = graph.add("Add", "input", graph.constant(np.arange(6, dtype=np.float32).reshape(2, 3)))
    x = np.full((2, 3), 10, np.float32)
    assert run(graph.model(total, (2, 3)), x).tolist() == [[10, 11, 12], [13, 14, 15]]


def test_attributes_are_integers_texts_and_lists():
    # One channel, 3 x 3 ones, stride 2 on 4 x 4 with "same" padding at the end: sums of 3 x 3, cut at the border.
    graph = OnnxGraph((1, 1, 4, 4))
    kernel = graph.constant(np.ones((1, 1, 3, 3), np.float32))
    out = graph.add("Conv", "input", kernel, strides=[2, 2], group=1, auto_pad="SAME_UPPER")
    x = np.ones((1, 1, 4, 4), np.float32)
    assert run(graph.model(out, (1, 1, 2, 2)), x)[0, 0].tolist() == [[9, 6], [6, 4]]
