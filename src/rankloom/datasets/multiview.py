"""Labeled items described by several feature matrices, in one file."""

from pathlib import Path

import numpy as np

from rankloom.datasets.collection import Collection, register_collection
from rankloom.errors import InputError
from rankloom.io.archive import Arrays, load_arrays
from rankloom.io.text_file import FilePath
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Floats


@register_collection("multiview")
def multiview(path: FilePath, *, standardize: bool = False) -> Collection:
    """Return items with a part for each view: an .npz file with labels y and matrices X0, X1, ...

    Parameters
    ----------
    path : file
        Each matrix has a row for each item. The parts have the names in the array ``names``, if there is one, else
        they are ``view0``, ``view1`` and so on.
    standardize : bool
        Whether to scale each column to mean 0 and standard deviation 1; constant columns become 0.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "pets.npz")
    >>> np.savez(path, y=[1, 2], X0=[[0.0], [1.0]], X1=[[3.0, 4.0], [5.0, 6.0]])
    >>> multiview(path)
    Collection('pets', n=2, parts: view0, view1; labels)
    """
    arrays = load_arrays(path)
    if "y" not in arrays or "X0" not in arrays or arrays["y"].ndim != 1:
        raise InputError(f"{path} must have labels y and matrices X0, X1, ...; got {', '.join(arrays) or 'nothing'}.")
    views = [_view(path, arrays, name, standardize) for name in _names(arrays)]
    labels = tuple(map(str, arrays["y"].tolist()))
    about = f"{len(labels)} items with {len(views)} views, in {len(set(labels))} classes"
    ids = Ids(map(str, range(1, len(labels) + 1)))
    parts = dict(zip(_parts(path, arrays, len(views)), views, strict=True))
    return Collection(Path(path).name.split(".")[0], ids, parts, labels=labels, about=about)


def _names(arrays: Arrays) -> list[str]:
    names = (f"X{number}" for number in range(len(arrays)))
    return [name for name in names if name in arrays]


def _parts(path: FilePath, arrays: Arrays, n_views: int) -> list[str]:
    if "names" not in arrays:
        return [f"view{number}" for number in range(n_views)]
    names = list(map(str, arrays["names"].ravel().tolist()))
    if len(names) != n_views or len({*names, "ids"}) != n_views + 1:
        raise InputError(f"{path} must have a different name for each of {n_views} views; got {', '.join(names)}.")
    return names


def _view(path: FilePath, arrays: Arrays, name: str, standardize: bool) -> Floats:
    matrix, n_items = arrays[name], len(arrays["y"])
    if matrix.ndim != 2 or len(matrix) != n_items or matrix.dtype.kind not in "fiub":
        raise InputError(f"{path}: {name} must be a matrix with a row for each of {n_items} items.")
    view = matrix.astype(np.float64)
    if not standardize:
        return view
    deviation = view.std(axis=0)
    return np.asarray((view - view.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
