"""Deep features: the network against plain convolutions, threads, and the contract."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import correlate

from rankloom.errors import MissingExtraError
from rankloom.rankers import RANKERS, check_ranker
from rankloom.rankers.image import deep
from rankloom.rankers.image.deep import cnn
from rankloom.rankers.image.torch_weights import read_torch_weights
from rankloom.threads import running

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
STAGES = [(1, 1, 1), (2, 2, 6), (2, 2, 6), (3, 2, 6), (3, 1, 6), (4, 2, 6), (1, 1, 6)]  # blocks, stride, expansion


@pytest.fixture(scope="module")
def weights():
    package = find_spec(deep.PACKAGE)
    if package is None:
        pytest.skip("the weights are not installed")
    return read_torch_weights(Path(package.submodule_search_locations[0]) / deep.FILE)


def photo(height, width, seed=0):
    """Return patches of color."""
    random = np.random.default_rng(seed)
    return (
        random.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3), np.uint8)
        .repeat(8, 0)
        .repeat(8, 1)[:height, :width]
    )


class Plain:
    """The network in float64, from its definition: batch normalization on its own, padding by hand."""

    def __init__(self, weights):
        self.weights = weights

    def convolved(self, x, name, stride, depthwise):
        kernel = self.weights[f"{name}.weight"].astype(float)
        size, n = kernel.shape[2], x.shape[1]
        total = max((-(-n // stride) - 1) * stride + size - n, 0)
        before = total // 2
        padded = np.pad(x, ((0, 0), (before, total - before), (before, total - before)))
        if size == 1:
            return np.tensordot(kernel[:, :, 0, 0], x, 1)
        planes = [padded[i : i + 1] for i in range(len(kernel))] if depthwise else [padded] * len(kernel)
        full = [correlate(plane, one, "valid")[0] for plane, one in zip(planes, kernel, strict=True)]
        return np.stack(full)[:, ::stride, ::stride]

    def normalized(self, x, name):
        gain, bias, mean, variance = (
            self.weights[f"{name}.{part}"][:, None, None] for part in ("weight", "bias", "running_mean", "running_var")
        )
        return (x - mean) / np.sqrt(variance + 1e-3) * gain + bias

    def layer(self, x, conv, norm, stride=1, depthwise=False):
        return self.normalized(self.convolved(x, conv, stride, depthwise), norm)

    def features(self, x):
        x = self.layer(x, "_conv_stem", "_bn0", 2).clip(0, 6)
        number = 0
        for blocks, first_stride, expansion in STAGES:
            for i in range(blocks):
                name, stride, before = f"_blocks.{number}.", first_stride if i == 0 else 1, x
                if expansion > 1:
                    x = self.layer(x, f"{name}_expand_conv", f"{name}_bn0").clip(0, 6)
                x = self.layer(x, f"{name}_depthwise_conv", f"{name}_bn1", stride, depthwise=True).clip(0, 6)
                x = self.layer(x, f"{name}_project_conv", f"{name}_bn2")
                x = x + before if i else x
                number += 1
        return self.layer(x, "_conv_head", "_bn1").clip(0, 6).mean((1, 2))


def test_the_network_equals_plain_convolutions(weights):
    image = photo(224, 224)  # not resized
    expected = Plain(weights).features((image.transpose(2, 0, 1) - 127.0) / 128.0)
    np.testing.assert_allclose(cnn(image), expected, atol=2e-4)


def test_cnn_keeps_the_contract():
    check_ranker(RANKERS["cnn"]())


@pytest.mark.parametrize("shape", [(1, 1), (5, 400), (300, 224)])
def test_any_size_gives_1280_numbers(shape):
    features = cnn(photo(*shape))
    assert features.shape == (1280,)
    assert features.dtype == np.float32
    assert 0 <= features.min() <= features.max() <= 6


def test_bits_do_not_depend_on_threads_or_other_images():
    images = [photo(40, 50, seed) for seed in range(6)]
    alone = np.stack([cnn(image) for image in images])
    for threads in (1, 4):
        with running(threads=threads):
            vectors = RANKERS["cnn"]().fit(images).vectors
        assert np.asarray(vectors).tobytes() == alone.tobytes()


@pytest.mark.parametrize(
    ("module", "package"), [("onnxruntime", "onnx and onnxruntime"), ("PIL", "Pillow"), (deep.PACKAGE, deep.PACKAGE)]
)
def test_missing_packages_are_named(monkeypatch, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    if module == deep.PACKAGE:
        monkeypatch.setattr(deep, "find_spec", lambda _: None)
    deep._session.cache_clear()
    with pytest.raises(MissingExtraError, match=rf"The ranker cnn needs {package}: pip install 'rankloom\[deep\]'"):
        cnn(photo(9, 9))
    deep._session.cache_clear()
