"""Read the tensors of a file written by torch.save before version 1.6, without torch and without running its code.

Such a file is a sequence of pickles: a magic number, a version, properties of the machine, the tensors by name, and
the keys of their storages; then each storage as its length and its numbers. A pickle can name any function to call.
The reader knows four names, which are what a file of weights needs, and rejects all others.
"""

import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.stride_tricks import as_strided

from rankloom.errors import InputError
from rankloom.io.text_file import FilePath, opened
from rankloom.ranks.arrays import Array

MAGIC = 0x1950A86A20F9469CFC6C
DTYPES: dict[str, np.dtype] = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_torch_weights(path: FilePath) -> dict[str, Array]:
    """Return the tensors of a file by name; raise InputError if it is damaged, or names anything but tensors.

    Examples
    --------
    >>> read_torch_weights("weights.pth")
    Traceback (most recent call last):
    rankloom.errors.InputError: There is no file weights.pth; check the path.
    """
    with opened(path) as file:
        content = file.read()
    try:
        return _tensors(io.BytesIO(content))
    except Exception as error:  # a damaged pickle raises a dozen types
        raise InputError(f"{path} is not a file of weights in the format of torch before 1.6: {error}.") from None


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor whose numbers are further on in the file."""

    key: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    def within(self, storages: Mapping[str, Array]) -> Array:
        storage = storages[self.key]
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))
        if min([self.offset, *self.stride, *(n - 1 for n in self.shape)]) < 0 or last >= storage.size:
            raise ValueError(f"a tensor of shape {self.shape} exceeds its storage")
        steps = [step * storage.itemsize for step in self.stride]
        return np.ascontiguousarray(as_strided(storage[self.offset :], self.shape, steps, writeable=False))


class _Reader(pickle.Unpickler):
    """A reader of pickles that knows tensors only."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.storages: dict[str, np.dtype] = {}

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            **{("torch", storage): storage for storage in DTYPES},
        }
        if (module, name) not in known:
            raise ValueError(f"it names {module}.{name}, which is not allowed")
        return known[module, name]

    def persistent_load(self, pid: Any) -> str:
        _, storage, key, *_ = pid
        self.storages[key] = DTYPES[storage]
        return str(key)


def _tensor(key: str, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: object) -> _Tensor:
    return _Tensor(key, offset, shape, stride)


def _tensors(file: BinaryIO) -> dict[str, Array]:
    magic, _, machine = (_Reader(file).load() for _ in range(3))
    if magic != MAGIC or not machine["little_endian"]:
        raise ValueError("it starts with another magic number")
    reader = _Reader(file)
    tensors = reader.load()
    keys = _Reader(file).load()
    storages = {key: _storage(file, reader.storages[key]) for key in keys}
    return {name: tensor.within(storages) for name, tensor in tensors.items()}


def _storage(file: BinaryIO, dtype: np.dtype) -> Array:
    (length,) = struct.unpack("<q", file.read(8))
    content = file.read(length * dtype.itemsize)
    if length < 0 or len(content) != length * dtype.itemsize:
        raise ValueError("it is truncated")
    return np.frombuffer(content, dtype)
