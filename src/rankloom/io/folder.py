"""Folders of arrays, as readers see them: one generation of a folder, from its `meta.json`.

`meta.json` names the files of the arrays. These never change, and `folder_writer` replaces `meta.json` by one rename,
so a reader has the arrays of one generation. The checksums are stored in the folder: they detect damage, not tampering.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rankloom.errors import IndexFileError, check_flag, hint
from rankloom.io.array_file import NAME, ArrayFile, is_description, open_array
from rankloom.io.atomic_file import resolved
from rankloom.io.text_file import Plain
from rankloom.ranks.arrays import Array

META = "meta.json"
FORMAT = 3  # of every kind of folder
MAX_GENERATION = 1 << 53
ATTEMPTS = 3  # to open a folder that other processes write to


@dataclass(frozen=True)
class Head:
    """What `meta.json` says of a folder."""

    meta: Plain
    generation: int
    files: Mapping[str, ArrayFile]  #: by the name of the array
    previous: tuple[str, ...] = ()  #: files of the generation before that are not in this one
    checksum: str = ""


@dataclass(frozen=True)
class Snapshot:
    """One generation of a folder, and its arrays; the folder may have a later one by now."""

    path: Path
    head: Head
    arrays: Mapping[str, Array]
    _files: dict[int, ArrayFile] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        files = {id(array): self.head.files[name] for name, array in self.arrays.items()}
        object.__setattr__(self, "_files", files)

    @property
    def meta(self) -> Plain:
        """What was saved with the arrays."""
        return self.head.meta

    def file_of(self, array: Array) -> ArrayFile | None:
        """Return the file of one of its arrays, the very same object; None for any other."""
        return self._files.get(id(array))


def open_folder(path: Path, *, kind: str, verify: bool = False) -> Snapshot:
    """Return the arrays of a folder of a kind, memory-mapped, and its metadata.

    The digests of all files are compared (`verify`), or only their names and sizes. If files that `meta.json` named
    are gone by the time they are opened, because other processes have written two generations, it is read again.
    """
    check_flag(verify=verify)
    for attempt in range(1, ATTEMPTS + 1):
        text = read_meta(path)
        head = parsed_head(path, text, kind)
        try:
            return Snapshot(resolved(path), head, _opened(path, head, verify))
        except IndexFileError:
            if attempt == ATTEMPTS or read_meta(path) == text:
                raise
    raise AssertionError  # the last attempt returns or raises


def _opened(path: Path, head: Head, verify: bool) -> dict[str, Array]:
    with ThreadPoolExecutor() as pool:
        arrays = pool.map(lambda about: open_array(path, about, verify), head.files.values())
        return dict(zip(head.files, arrays, strict=True))


def verify_folder(path: Path) -> Head:
    """Raise IndexFileError unless all files of a folder of any kind are as they were saved; return what it says."""
    kind = parsed_meta(path, read_meta(path)).get("kind")
    return open_folder(path, kind=str(kind), verify=True).head


def read_meta(path: Path) -> bytes:
    """Return the bytes of `meta.json`."""
    try:
        return (path / META).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        why = "" if path.exists() else ", which does not exist"
        near = hint(path.name, (meta.parent.name for meta in path.parent.glob(f"*/{META}")))
        raise IndexFileError(
            f"There is no searcher or index at {path}{why}; make one with 'rankloom build' or 'rankloom index'.{near}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise IndexFileError(f"Cannot read {path / META}: {getattr(error, 'strerror', None) or error}.") from None


def parsed_meta(path: Path, text: bytes) -> Plain:
    """Return the JSON object of `meta.json`."""
    try:
        meta = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise IndexFileError(f"{path / META} is damaged: it is not JSON; build the index again.") from None
    if not isinstance(meta, dict):
        raise IndexFileError(f"{path / META} is damaged: it is not a JSON object; build the index again.")
    return meta


def parsed_head(path: Path, text: bytes, kind: str) -> Head:
    """Return what `meta.json` says of a folder of a kind; raise IndexFileError if that is not valid."""
    meta = parsed_meta(path, text)
    if meta.get("kind") != kind:
        raise IndexFileError(f"{path} is not a {kind}: {META} says {meta.get('kind')!r}.")
    check_format(path, meta)
    checksum = meta.pop("checksum", None)
    if checksum != meta_checksum(meta):
        raise IndexFileError(f"{path / META} was modified after it was saved; build the index again.")
    generation, files, previous = (meta.pop(name, None) for name in ("generation", "files", "previous"))
    valid = (
        type(generation) is int
        and 0 < generation < MAX_GENERATION
        and isinstance(files, dict)
        and isinstance(previous, list)
    )
    if not valid or not all(map(is_description, files.values())) or not all(map(_is_name, previous)):
        raise IndexFileError(f"{path / META} is damaged: it does not describe the files; build the index again.")
    return Head(meta, generation, files, tuple(previous), str(checksum))


def check_format(path: Path, meta: Plain) -> None:
    """Raise IndexFileError unless a folder has the format that this version reads."""
    number = meta.get("format")
    if number in (1, 2):
        raise IndexFileError(f"{path} was made by a version before 0.1; remove it and build it again.")
    if number != FORMAT:
        raise IndexFileError(
            f"{path} has format {number}; this version reads {FORMAT}. Build it again, or use the rankloom that wrote "
            "it."
        )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def meta_checksum(meta: Mapping[str, object]) -> str:
    """Return the checksum of metadata."""
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def sync_folder(folder: Path) -> None:
    """Flush a folder's directory entries to disk, on systems that can open a folder."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
