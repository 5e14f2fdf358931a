"""Files of weights: read without torch, and without running what they name."""

import collections
import io
import os
import pickle
import struct

import numpy as np
import pytest

from rankloom.errors import InputError
from rankloom.rankers.image.torch_weights import MAGIC, read_torch_weights


class Named:
    """Pickles as a name in a module that need not exist."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments


class Storage:
    def __init__(self, kind, key, values):
        self.kind, self.key, self.values = kind, key, np.asarray(values, "<f4" if kind == "FloatStorage" else "<i8")


class Writer(pickle._Pickler):
    """Writes names without importing them, as torch would write its own."""

    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", Named("torch", value.kind), value.key, "cpu", value.values.size, None)
        return None

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Named):
            return self.write(b"c" + f"{value.module}\n{value.name}\n".encode())
        if isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            return self.write(b"R")
        return super().save(value, save_persistent_id)


def tensor(storage, offset, shape, stride):
    rebuild = Named("torch._utils", "_rebuild_tensor_v2")
    return Call(rebuild, storage, offset, shape, stride, False, collections.OrderedDict())


def written(path, tensors, storages, magic=MAGIC):
    out = io.BytesIO()
    for header in (magic, 1001, {"little_endian": True}):
        Writer(out, 2).dump(header)
    Writer(out, 2).dump(tensors)
    Writer(out, 2).dump([storage.key for storage in storages])
    for storage in storages:
        out.write(struct.pack("<q", storage.values.size) + storage.values.tobytes())
    path.write_bytes(out.getvalue())
    return path


def test_tensors_are_read_with_offset_and_strides(tmp_path):
    floats, longs = Storage("FloatStorage", "a", np.arange(10)), Storage("LongStorage", "b", [7])
    tensors = collections.OrderedDict(
        x=tensor(floats, 0, (2, 3), (3, 1)), t=tensor(floats, 4, (3, 2), (1, 3)), n=tensor(longs, 0, (), ())
    )
    found = read_torch_weights(written(tmp_path / "w.pth", tensors, [floats, longs]))
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["t"].tolist() == [[4, 7], [5, 8], [6, 9]]
    assert found["n"].item() == 7
    assert (found["x"].dtype, found["n"].dtype) == (np.float32, np.int64)


@pytest.mark.parametrize(
    "function",
    [Named("os", "system"), Named("builtins", "eval"), Named("torch", "load"), Named("collections", "deque")],
)
def test_other_names_are_rejected_and_not_called(tmp_path, monkeypatch, function):
    monkeypatch.setattr(os, "system", lambda command: pytest.fail(f"{command} was run"))
    path = written(tmp_path / "w.pth", {"x": Call(function, "touch here")}, [])
    with pytest.raises(InputError, match=rf"it names {function.module}\.{function.name}, which is not allowed"):
        read_torch_weights(path)


@pytest.mark.parametrize(
    ("offset", "shape", "stride"),
    [(9, (2,), (1,)), (-1, (2,), (1,)), (0, (3, 3), (4, 1)), (0, (2,), (-1,)), (0, (-2,), (1,))],
)
def test_tensors_outside_their_storage_are_rejected(tmp_path, offset, shape, stride):
    storage = Storage("FloatStorage", "a", np.arange(10))
    path = written(tmp_path / "w.pth", {"x": tensor(storage, offset, shape, stride)}, [storage])
    with pytest.raises(InputError, match="exceeds its storage"):
        read_torch_weights(path)


def test_other_and_truncated_files_are_rejected(tmp_path):
    storage = Storage("FloatStorage", "a", np.arange(10))
    path = written(tmp_path / "w.pth", {"x": tensor(storage, 0, (2,), (1,))}, [storage])
    content = path.read_bytes()
    for bad in (b"", b"PK\x03\x04", content[:-5], content[: len(content) // 2]):
        path.write_bytes(bad)
        with pytest.raises(InputError, match="is not a file of weights"):
            read_torch_weights(path)
    with pytest.raises(InputError, match="another magic number"):
        read_torch_weights(written(path, {}, [], magic=5))
