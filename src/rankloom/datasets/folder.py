"""Any folder of images or texts, with or without a subfolder for each class."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from rankloom.datasets.collection import Collection, Part, register_collection
from rankloom.datasets.images import SUFFIXES, ImageFile
from rankloom.datasets.layout import list_files
from rankloom.errors import InputError, UnknownNameError
from rankloom.io.text_file import FilePath, expanded_path, read_text
from rankloom.ranks import Ids

#: The kind of files to read from a folder.
Kind = Literal["images", "texts"]
ENDINGS: dict[Kind, frozenset[str]] = {"images": SUFFIXES, "texts": frozenset({".txt", ".md"})}


@register_collection("folder")
def folder(path: FilePath, *, kind: Kind | None = None, encoding: str = "utf-8") -> Collection:
    """Return the images or the texts (.txt and .md) of a folder; the class of each is its subfolder.

    Subfolders are searched at any depth, and an item's id is its path in the folder. If any file is in no subfolder,
    there are no classes: the files can be ranked but not evaluated by class. An unreadable text is an error that names
    the file; images are opened only when they are ranked.

    Parameters
    ----------
    path : folder
    kind : {"images", "texts"}, optional
        Required only if the folder has both. By default, Markdown and images are texts with images if there are more
        texts than images, else images with notes on them.
    encoding : str
        Of the texts, as in "cp1252" or "utf-16".
    """
    if kind is not None and kind not in get_args(Kind):
        raise UnknownNameError("kind of files", kind, get_args(Kind))
    top = expanded_path(path)
    if not top.is_dir():
        raise InputError(f"{path} {'is not a folder' if top.exists() else 'does not exist'}; give a folder of files.")
    found = {one: names for one in get_args(Kind) if kind in (None, one) and (names := list_files(top, ENDINGS[one]))}
    if len(found) > 1 and all(name.lower().endswith(".md") for name in found["texts"]):
        del found["images" if len(found["texts"]) > len(found["images"]) else "texts"]
    if not found:
        raise InputError(f"{path} has no {kind or 'images or texts'}; looked for files that end in {_endings(kind)}.")
    if len(found) > 1:
        raise InputError(
            f"{path} has both images and texts; choose with kind=images or kind=texts, as in "
            f"'folder(path={path}, kind=images)'."
        )
    [(what, names)] = found.items()
    return _collection(top, what, names, encoding)


def single_file(path: FilePath, name: str, encoding: str = "utf-8") -> Collection | None:
    """Return one text or image as it is in the folder called `name`, or else in its own; None for other files."""
    file = expanded_path(path).absolute()
    kind = next((kind for kind, suffixes in ENDINGS.items() if file.suffix.lower() in suffixes), None)
    if kind is None or not file.is_file():
        return None
    top = next((parent for parent in file.parents if parent.name == name), file.parent)
    return _collection(top, kind, [file.relative_to(top).as_posix()], encoding)


def _collection(top: Path, kind: Kind, names: Sequence[str], encoding: str) -> Collection:
    paths = [top / name for name in names]
    part: Part = [*map(ImageFile, paths)] if kind == "images" else [read_text(path, encoding) for path in paths]
    classes = [name.rpartition("/")[0] for name in names]
    flat = not all(classes)
    about = f"{len(names)} {kind}" + ("" if flat else f", in {len(set(classes))} classes")
    title = top.absolute().name or str(top)  # Path(".").name is empty
    return Collection(title, Ids(names), {kind: part}, labels=None if flat else tuple(classes), about=about)


def _endings(kind: Kind | None) -> str:
    return ", ".join(sorted(suffix for one, suffixes in ENDINGS.items() if kind in (None, one) for suffix in suffixes))
