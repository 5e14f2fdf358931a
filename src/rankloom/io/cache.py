"""A cache of arrays on disk, keyed by digests of their inputs."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rankloom.errors import InputError, RankloomWarning
from rankloom.io.archive import Arrays, load_arrays
from rankloom.io.atomic_file import atomic_write, make_folder
from rankloom.ranks.arrays import Array


def _warn(message: str) -> None:
    warnings.warn(message, RankloomWarning, stacklevel=4)


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of .npz files, each named by its key."""

    folder: Path | None  #: None disables the cache
    #: Called with a message the first time that the folder cannot be written to; by default it issues a warning.
    warn: Callable[[str], None] = field(default=_warn, compare=False, repr=False, kw_only=True)
    _warnings: list[str] = field(default_factory=list, init=False, compare=False, repr=False)

    @classmethod
    def standard(cls) -> Cache:
        """Return the user's cache: in ``$RANKLOOM_CACHE``, else in the user's cache folder."""
        given = os.environ.get("RANKLOOM_CACHE")
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return cls(Path(given) if given else Path(home).expanduser() / "rankloom")

    def load(self, key: str) -> Arrays | None:
        """Return the arrays cached under a key; None if there are none or the file is damaged."""
        path = self._path(key)
        if path is None or not path.is_file():
            return None
        try:
            return load_arrays(path)
        except InputError:
            return None

    def save(self, key: str, arrays: Mapping[str, Array]) -> None:
        """Cache arrays under a key; if they cannot be written, warn once and continue without."""
        path = self._path(key)
        if path is None:
            return
        try:
            make_folder(path.parent)
            with atomic_write(path, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]  # the stub checks them against allow_pickle
        except InputError as error:
            if not self._warnings:
                self._warnings.append(str(error))
                self.warn(f"{error} Nothing is cached.")

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / key[:2] / f"{key}.npz"


def digest_bytes(*parts: bytes | memoryview) -> str:
    """Return a digest of 32 hexadecimal digits; how the bytes are divided into parts matters."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:32]
