"""Any file of ranks, the format told by its name."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from rankloom.io.npz import read_npz, write_npz
from rankloom.io.text_file import FilePath
from rankloom.io.trec import read_run, write_run
from rankloom.io.udlf import read_udlf_ranks, write_udlf_ranks
from rankloom.ranks import Ranks
from rankloom.registry import Registry


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of file is read and written, and the endings of its names."""

    read: Callable[[FilePath], Ranks]
    write: Callable[[Ranks, FilePath], None]
    endings: tuple[str, ...] = ()


#: Formats of files by name; a plug-in adds one through the entry-point group ``rankloom.formats``.
FORMATS = Registry[Format]("format", group="rankloom.formats")
FORMATS.register("trec")(Format(read_run, write_run, (".trec", ".run")))
FORMATS.register("npz")(Format(read_npz, write_npz, (".npz",)))
FORMATS.register("udlf")(Format(read_udlf_ranks, write_udlf_ranks))

DEFAULT = "trec"


def read_ranks(path: FilePath, *, format: str | None = None) -> Ranks:
    """Read ranks from a file.

    Parameters
    ----------
    path : str or path
    format : str, optional
        A name in `FORMATS`: "trec", "npz" or "udlf" (lists of numbers). By default as the name of the file ends,
        a last ``.gz`` apart: ``.npz`` is npz, anything else trec.

    Raises
    ------
    InputError
        For an unknown format, and as the format's own reader does.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "bm25.npz")
    >>> write_ranks(Ranks([[1, 0]]), path)
    >>> read_ranks(path)
    Ranks(n_queries=1, depth=2, n_items=2, scores=no)
    >>> read_ranks(path, format="npy")
    Traceback (most recent call last):
    rankloom.errors.UnknownNameError: Unknown format 'npy'; choose from npz, trec, udlf. Did you mean 'npz'?
    """
    return FORMATS[format or format_of(path)].read(path)


def write_ranks(ranks: Ranks, path: FilePath, *, format: str | None = None) -> None:
    """Write ranks to a file; the format is chosen as by `read_ranks`.

    Raises
    ------
    InputError
        For an unknown format, and as the format's own writer does.
    """
    FORMATS[format or format_of(path)].write(ranks, path)


def format_of(path: FilePath) -> str:
    """Return the name of the format that a file's name tells."""
    name = os.fspath(path).lower().removesuffix(".gz")
    return next((known for known, form in FORMATS.items() if name.endswith(form.endings)), DEFAULT)
