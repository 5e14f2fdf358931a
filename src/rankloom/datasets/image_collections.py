"""Readers of published image collections: they list the files; rankers open them.

Each takes `path`, the folder of the collection (by default the folder of its name in ``$RANKLOOM_DATA``), and `check`:
whether to check that nothing is missing.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from rankloom.datasets.collection import Collection, Part, register_collection
from rankloom.datasets.images import SUFFIXES, ImageFile
from rankloom.datasets.layout import check_classes, check_count, find_folder, images_folder, list_files
from rankloom.errors import InputError
from rankloom.io import read_labels
from rankloom.io.text_file import FilePath
from rankloom.ranks import Ids

BLOCK = 160  # pixels: an image of 640 x 640 has 4 x 4 blocks
NUMBERED = re.compile(r"^(?P<stem>.*?)(?P<number>\d+)\.\w+$")


@register_collection("soccer")
def soccer(path: FilePath | None = None, *, check: bool = True) -> Collection:
    """Return the soccer teams: 280 images, 7 teams of 40.

    Layout: ``images/<team>/<number>.jpg``, or the team folders at the top level.

    References
    ----------
    van de Weijer, Schmid (2006), Coloring local feature extraction, doi:10.1007/11744047_26
    """
    needs = "280 images, images/<team>/<number>.jpg for 7 teams (van de Weijer and Schmid, 2006)."
    folder, names = _images(path, ["soccer"], needs)
    names = [name for name in names if "/" in name]
    labels = [name.split("/")[0] for name in names]
    if check:
        check_classes("soccer", labels, 7, 40)
    return _collection("soccer", folder, names, labels, "images of soccer teams")


@register_collection("mpeg7")
def mpeg7(path: FilePath | None = None, *, check: bool = True) -> Collection:
    """Return the MPEG-7 CE-Shape-1 part B silhouettes: 1400, 70 classes of 20.

    Layout: ``images/<class>-<number>.png`` (or .gif, as published), or the files at the top level.

    References
    ----------
    Latecki, Lakämper, Eckhardt (2000), Shape descriptors for non-rigid shapes with a single closed contour,
    doi:10.1109/CVPR.2000.855850
    """
    needs = "1400 silhouettes, images/<class>-<number>.png or .gif (MPEG-7 CE-Shape-1 part B)."
    folder, names = _images(path, ["mpeg7"], needs)
    labels = [name.rpartition("-")[0] for name in names]
    if not all(labels):
        odd = names[labels.index("")]
        raise InputError(f"Name the files of mpeg7 <class>-<number>.png, such as Bone-1.png; got {odd!r} in {folder}.")
    if check:
        check_classes("mpeg7", labels, 70, 20)
    return _collection("mpeg7", folder, names, labels, "silhouettes")


@register_collection("brodatz")
def brodatz(path: FilePath | None = None, *, check: bool = True) -> Collection:
    """Return the Brodatz album: 111 textures, each cut into 16 disjoint blocks of 160 x 160 pixels; 1776 items.

    Layout: ``images/D<number>.gif`` (or any other format) of 640 x 640 pixels, 1 to 112. D14 is skipped, as in the
    usual digitization. Ids are ``D1-01`` to ``D1-16``, row by row.

    References
    ----------
    Brodatz (1966), Textures: a photographic album for artists and designers
    """
    needs = "images/D1.gif to D112.gif, of 640 x 640 pixels (D14 is not used)."
    folder, names = _images(path, ["brodatz"], needs)
    names = [name for name in names if Path(name).stem != "D14"]
    odd = next((name for name in names if not re.fullmatch(r"D\d+", Path(name).stem)), None)
    if odd is not None:
        raise InputError(f"Name the files of brodatz D<number>, such as D1.gif; got {odd!r} in {folder}.")
    if check:
        check_count("brodatz", "textures without D14", 111, len(names))
    starts = range(0, 4 * BLOCK, BLOCK)
    boxes = [(left, top, left + BLOCK, top + BLOCK) for top in starts for left in starts]
    blocks = [ImageFile(folder / name, box) for name in names for box in boxes]
    ids = Ids(f"{Path(name).stem}-{number:02d}" for name in names for number in range(1, 17))
    labels = tuple(Path(name).stem for name in names for _ in range(16))
    about = f"{len(ids)} blocks of 160 x 160 pixels, of {len(names)} textures"
    return Collection("brodatz", ids, {"images": blocks}, labels=labels, about=about)


@register_collection("ukbench")
def ukbench(path: FilePath | None = None, *, check: bool = True) -> Collection:
    """Return UKBench: 10,200 images, four of each object; or a subset in complete groups of four.

    Layout: ``images/ukbench<number>.jpg``, or the files at the top level (such as the published ``full/``). The
    class of an image is its number divided by 4. The default folder is ``$RANKLOOM_DATA/ukbench``, else
    ``$RANKLOOM_DATA/ukbench-1000``, the first 250 objects.

    References
    ----------
    Nistér, Stewénius (2006), Scalable recognition with a vocabulary tree, doi:10.1109/CVPR.2006.264
    """
    needs = "images/ukbench00000.jpg to ukbench10199.jpg, or a subset in complete groups of four."
    folder, names = _images(path, ["ukbench", "ukbench-1000"], needs)
    labels = [str(_number(name, folder) // 4) for name in names]
    if check:
        check_classes("ukbench", labels, len(set(labels)), 4)
    n = len(set(labels))
    what = "images of objects" + ("" if n == 2550 else f" (a subset: {n} of 2550 objects)")
    return _collection("ukbench", folder, names, labels, what)


@register_collection("uw")
def uw(path: FilePath | None = None, *, check: bool = True) -> Collection:
    """Return the University of Washington's images with keywords: 1109, 20 classes of 22 to 255.

    Layout: ``images/<class>/<name>.jpg``, or the class folders at the top level, as published (a folder for each
    location, ``Image01.jpg`` and so on); and the keywords of all images in ``keywords.tsv``, lines of
    ``class/name.jpg<TAB>keywords``. Write that file from the annotations that come with the images: their format
    differs between folders. The parts are ``images`` and ``texts``.

    References
    ----------
    Deselaers, Keysers, Ney (2008), Features for image retrieval: an experimental comparison,
    doi:10.1007/s10791-007-9039-3
    """
    needs = "1109 images, images/<class>/<name>.jpg, and keywords.tsv with lines of 'class/name.jpg<TAB>keywords'."
    top = find_folder(path, ["uw"], needs)
    folder, names = _images(top, ["uw"], needs)
    names = [name for name in names if "/" in name]
    keywords = read_labels(top / "keywords.tsv")
    missing = [name for name in names if name not in keywords]
    if missing:
        raise InputError(f"{top / 'keywords.tsv'} has no line for {missing[0]!r} ({len(missing)} missing).")
    labels = [name.split("/")[0] for name in names]
    if check:
        check_count("uw", "images", 1109, len(names))
        check_classes("uw", labels, 20)
    texts = {"texts": [keywords[name] for name in names]}
    return _collection("uw", folder, names, labels, "images with keywords", texts)


def _images(path: FilePath | None, known: Sequence[str], needs: str) -> tuple[Path, list[str]]:
    """Return the folder of a collection's images, and their names; `known` are names of the collection's own folder."""
    folder = images_folder(find_folder(path, known, needs))
    names = list_files(folder, SUFFIXES)
    if not names:
        raise InputError(f"There are no images in {folder}. The collection {known[0]} needs {needs}")
    return folder, names


def _collection(
    name: str,
    folder: Path,
    names: Sequence[str],
    labels: Sequence[str],
    what: str,
    more: dict[str, list[str]] | None = None,
) -> Collection:
    parts: dict[str, Part] = {"images": [ImageFile(folder / file) for file in names], **(more or {})}
    about = f"{len(names)} {what}, in {len(set(labels))} classes"
    return Collection(name, Ids(names), parts, labels=tuple(labels), about=about)


def _number(name: str, folder: Path) -> int:
    found = NUMBERED.match(name)
    if not found:
        raise InputError(f"Files of ukbench must have a number, such as ukbench00000.jpg; got {name!r} in {folder}.")
    return int(found["number"])
