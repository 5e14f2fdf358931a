"""Any folder of pictures or texts: a sub-folder for each class, or none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from rankloom.datasets.collection import Collection, Part, register_collection
from rankloom.datasets.images import SUFFIXES, ImageFile
from rankloom.datasets.layout import files_in
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.lines import FilePath
from rankloom.ranks import Ids

#: What the files of a folder are.
Kind = Literal["images", "texts"]
ENDINGS: dict[Kind, frozenset[str]] = {"images": SUFFIXES, "texts": frozenset({".txt"})}


@register_collection("folder")
def folder(path: FilePath, *, kind: Kind | None = None) -> Collection:
    """Return the pictures or the texts (.txt, UTF-8) of a folder; the class of each is its sub-folder.

    Files are looked for in sub-folders of any depth, and named by their path in the folder. Where no file is in a
    sub-folder there are no classes: the files can be ranked, but the ranks not evaluated. A text that cannot be
    read is an error that names it; a picture is opened only when it is ranked.

    Parameters
    ----------
    path : folder
    kind : {"images", "texts"}, optional
        Needed only where the folder has both.
    """
    if kind is not None and kind not in get_args(Kind):
        raise UnknownNameError("kind of files", kind, get_args(Kind))
    top = Path(str(path)).expanduser()
    if not top.is_dir():
        raise InputError(f"{path} {'is not a folder' if top.exists() else 'does not exist'}; give a folder of files.")
    found = {one: names for one in get_args(Kind) if kind in (None, one) and (names := files_in(top, ENDINGS[one]))}
    if not found:
        raise InputError(f"{path} has no {kind or 'pictures or texts'}; looked for files that end in {_endings(kind)}.")
    if len(found) > 1:
        raise InputError(
            f"{path} has both pictures and texts; choose by kind=images or kind=texts, as in "
            f"'folder(path={path}, kind=images)'."
        )
    [(what, names)] = found.items()
    return _collection(top, what, names)


def _collection(top: Path, kind: Kind, names: Sequence[str]) -> Collection:
    part: Part = (
        [ImageFile(top / name) for name in names] if kind == "images" else [_text(top / name) for name in names]
    )
    classes = [name.rpartition("/")[0] for name in names]
    flat = not any(classes)
    if not flat and not all(classes):
        odd = names[classes.index("")]
        raise InputError(f"{top} has files in sub-folders, one for each class, but {odd!r} is in none; move it.")
    what = "pictures" if kind == "images" else "texts"
    about = f"{len(names)} {what}" + ("" if flat else f", in {len(set(classes))} classes")
    title = top.absolute().name or str(top)  # "." has no name of its own
    return Collection(title, Ids(names), {kind: part}, labels=None if flat else tuple(classes), about=about)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8.") from None
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.") from None


def _endings(kind: Kind | None) -> str:
    return ", ".join(sorted(suffix for one, suffixes in ENDINGS.items() if kind in (None, one) for suffix in suffixes))
