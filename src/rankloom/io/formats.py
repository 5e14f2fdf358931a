"""Reading and writing ranks in any format, chosen by the file name."""

from collections.abc import Callable
from dataclasses import dataclass

from rankloom.errors import InputError
from rankloom.io.npz import read_npz, write_npz
from rankloom.io.rows import Duplicates, check_duplicates_policy
from rankloom.io.text_file import FilePath, as_path
from rankloom.io.trec import read_run, write_run
from rankloom.io.udlf import read_udlf_ranks, write_udlf_ranks
from rankloom.ranks import Kind, Ranks
from rankloom.registry import Registry


@dataclass(frozen=True, slots=True)
class Format:
    """The reader and the writer of a file format."""

    read: Callable[..., Ranks]
    write: Callable[[Ranks, FilePath], None]
    endings: tuple[str, ...] = ()
    duplicates: bool = False  #: whether `read` has this option; otherwise an item twice in a list is an error


#: File formats by name.
FORMATS = Registry[Format]("format")
FORMATS.register("trec")(Format(read_run, write_run, (".trec", ".run"), duplicates=True))
FORMATS.register("npz")(Format(read_npz, write_npz, (".npz",)))
FORMATS.register("udlf")(Format(read_udlf_ranks, write_udlf_ranks, duplicates=True))

DEFAULT = "trec"


def read_ranks(
    path: FilePath, *, format: str | None = None, kind: Kind | None = None, duplicates: Duplicates = "error"
) -> Ranks:
    """Read ranks from a file.

    Parameters
    ----------
    format : str, optional
        A name in `FORMATS`: "trec", "npz" or "udlf" (lists of numbers). By default the suffix of the file decides,
        ignoring a final ``.gz``: ``.npz`` is npz, anything else trec.
    kind : {"collection", "queries"}, optional
        Whether these are the lists of the items of a collection, or of queries; by default as stated in the file, if
        its format allows.
    duplicates : {"error", "first"}
        How to treat an item that a query lists twice: raise an error, or use the better-ranked. An npz file cannot
        have duplicates: they are always an error.

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
    check_duplicates_policy(duplicates)
    form = FORMATS[format or format_of(path)]
    ranks = form.read(path, duplicates=duplicates) if form.duplicates else form.read(path)
    if kind is None or kind == ranks.kind:
        return ranks
    if ranks.kind is not None:
        raise InputError(f"{path} has lists of kind {ranks.kind!r}; got kind={kind!r}.")
    return ranks.of_kind(kind)


def write_ranks(ranks: Ranks, path: FilePath, *, format: str | None = None) -> None:
    """Write ranks to a file; the format is chosen as in `read_ranks`."""
    FORMATS[format or format_of(path)].write(ranks, path)


def format_of(path: FilePath) -> str:
    """Return the name of the format that the suffix of a file implies."""
    name = str(as_path(path)).lower().removesuffix(".gz")
    return next((known for known, form in FORMATS.items() if name.endswith(form.endings)), DEFAULT)
