"""Archives of NumPy arrays (.npz), read within limits: a zip file of a few kilobytes can unpack to gigabytes."""

import math
import os
from zipfile import ZipFile, ZipInfo

import numpy as np

from rankloom.errors import InputError
from rankloom.io.text_file import FilePath, opened
from rankloom.ranks.arrays import Array

MAX_UNPACKED_BYTES = 1 << 30  # a larger archive may unpack to MAX_RATIO times its size
MAX_RATIO = 100  # zeros reach 1032
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}

Arrays = dict[str, Array]


def load_arrays(path: FilePath) -> Arrays:
    """Return the arrays of an .npz file; nothing is unpickled.

    All sizes are checked before anything is unpacked: those in the directory of the archive, and that each array has
    as many bytes as its header declares.
    """
    with opened(path) as file:
        try:
            with ZipFile(file) as archive:
                members = _members(archive, file.seek(0, os.SEEK_END))
                _check_ratio(path, members)
                return {name: _read(path, name, archive, member) for name, member in members.items()}
        except InputError:
            raise
        except MemoryError:
            raise InputError(f"{path} needs more memory than is available.") from None
        except Exception:  # zipfile, zlib and numpy raise a dozen types for damaged files
            raise InputError(f"{path} is damaged, or not an .npz file; write it again.") from None


def _members(archive: ZipFile, length: int) -> dict[str, ZipInfo]:
    """Return the members by name; raise ValueError if two have the same name or share their bytes."""
    listed = archive.infolist()
    members = {member.filename.removesuffix(".npy"): member for member in listed}
    if len(members) < len(listed) or sum(member.compress_size for member in listed) > length:
        raise ValueError
    return members


def _check_ratio(path: FilePath, members: dict[str, ZipInfo]) -> None:
    packed = os.stat(path).st_size  # noqa: PTH116  # a path of any kind
    unpacked = sum(member.file_size for member in members.values())
    if unpacked > max(MAX_UNPACKED_BYTES, MAX_RATIO * packed):
        raise InputError(
            f"{path} has {packed:,} bytes and would unpack to {unpacked:,}, more than {MAX_RATIO} times as many; if "
            "that is intended, write it with numpy.savez, which does not compress."
        )


def _read(path: FilePath, name: str, archive: ZipFile, member: ZipInfo) -> Array:
    with archive.open(member) as file:
        shape, _, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        if dtype.hasobject:
            raise InputError(
                f"{path}: {name} has Python objects, which are not read; write numbers, or strings as in "
                "numpy.array(ids, dtype=str)."
            )
        if file.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError
    with archive.open(member) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array
