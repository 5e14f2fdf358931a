"""Arrays kept between runs, found again by what they were made from."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.io.atomic_file import atomic_write, make_folder

Arrays = dict[str, NDArray[Any]]


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of .npz files named by digests of their origin; None keeps nothing.

    Attributes
    ----------
    folder : Path or None
    tell : callable
        Told once, in a sentence, where nothing can be written to the folder; by default that is a warning.

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> cache.save("ab12", {"x": np.arange(3)})
    >>> cache.load("ab12")["x"]
    array([0, 1, 2])
    >>> cache.load("cd34") is None
    True
    """

    folder: Path | None
    tell: Callable[[str], None] = field(default=_warn, compare=False, repr=False, kw_only=True)
    _told: list[str] = field(default_factory=list, init=False, compare=False, repr=False)

    @classmethod
    def standard(cls) -> Cache:
        """Return the cache of this user: in ``$RANKLOOM_CACHE``, else where caches are kept."""
        given = os.environ.get("RANKLOOM_CACHE")
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return cls(Path(given) if given else Path(home).expanduser() / "rankloom")

    def load(self, key: str) -> Arrays | None:
        """Return the arrays kept under a key; None where there are none, or the file is damaged."""
        path = self._path(key)
        if path is None or not path.is_file():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return dict(archive)
        except Exception:  # zipfile, zlib and numpy raise a dozen kinds on wrong bytes; it is made again
            return None

    def save(self, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep arrays under a key; where they cannot be written, the work goes on and is not kept."""
        path = self._path(key)
        if path is None:
            return
        try:
            make_folder(path.parent)
            with atomic_write(path, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]  # the stub takes allow_pickle for a name of ours
        except InputError as error:
            if not self._told:
                self._told.append(str(error))
                self.tell(f"{error} Nothing is kept; choose another cache with --cache, or --no-cache.")

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / key[:2] / f"{key}.npz"


def digest_bytes(*parts: bytes | memoryview) -> str:
    """Return 32 hexadecimal digits that stand for some bytes, each part apart from the next."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:32]
