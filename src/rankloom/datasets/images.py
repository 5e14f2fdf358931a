"""Pictures in files, as arrays of red, green and blue: every odd file is read alike, or refused in one sentence."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import threading
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, MissingExtraError, whole_number
from rankloom.io.cache import digest_bytes

if TYPE_CHECKING:
    from PIL import Image as Pillow

#: Red, green and blue of 0 to 255, of shape (height, width, 3).
Pixels = NDArray[np.uint8]
#: Left, top, right and bottom in pixels, as Pillow has it: right and bottom are outside.
Box = tuple[int, int, int, int]

MAX_PIXELS = 50_000_000  # a file of a few kilobytes may unpack to gigabytes
#: What is read. Others are refused: EPS and the like would start other programs.
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
SUFFIXES = frozenset(
    {".avif", ".bmp", ".gif", ".jpg", ".jpeg", ".jp2", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"}
)
ORIENTATION = 0x0112  # the tag of EXIF
WHITE = (255, 255, 255, 255)
_HEADERS = threading.Lock()  # filters of warnings belong to all threads


class ImageError(InputError):
    """A file that is not a picture that can be used; the message has its name and why."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """A picture in a file, or a block of it; read when it is needed.

    Attributes
    ----------
    path : Path
    box : (left, top, right, bottom), optional
        A block of the upright picture, in pixels; right and bottom are outside of it.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> path = Path(tempfile.mkdtemp(), "red.png")
    >>> Image.new("RGB", (4, 2), "red").save(path)
    >>> ImageFile(path, box=(0, 0, 1, 2)).load().shape
    (2, 1, 3)
    """

    path: Path
    box: Box | None = None

    def load(self) -> Pixels:
        """Return its pixels, or raise an `ImageError`."""
        if self.box is None:
            return decode(self.path)
        whole = _last_decoded(self.path, _stamp(self.path))
        left, top, right, bottom = self.box
        if not (0 <= left < right <= whole.shape[1] and 0 <= top < bottom <= whole.shape[0]):
            size = f"{whole.shape[1]} x {whole.shape[0]}"
            raise ImageError(f"{self.path} is of {size} pixels; the block {self.box} is not inside.")
        return whole[top:bottom, left:right].copy()

    def stamp(self) -> tuple[int, ...]:
        """Return what differs when the file is written anew, without reading it."""
        return _stamp(self.path)

    def digest(self) -> str:
        """Return what stands for its content: equal bytes and block, equal digest, wherever the file is."""
        return digest_bytes(_file_digest(self.path, _stamp(self.path)).encode(), repr(self.box).encode())


def decode(
    source: str | os.PathLike[str] | bytes, *, max_pixels: int = MAX_PIXELS, longest_side: int | None = None
) -> Pixels:
    """Read a picture as red, green and blue.

    Gray is repeated three times, 16 bits become 8, CMYK and palettes become colors, and what shows through is laid
    on white. Of an animation the first frame is read. A picture that its EXIF says is turned is set upright.

    Parameters
    ----------
    source : path or bytes
        A file, or the content of one.
    max_pixels : int
        A picture of more is refused before it is unpacked.
    longest_side : int, optional
        A larger picture is reduced to it, as `reduced`.

    Returns
    -------
    uint8 array of shape (height, width, 3)

    Raises
    ------
    ImageError
        For what is missing, empty, cut off, too large or not a picture in one of `FORMATS`.

    Examples
    --------
    >>> decode(b"")
    Traceback (most recent call last):
    rankloom.datasets.images.ImageError: The picture is empty: it has no bytes.
    """
    name = "The picture" if isinstance(source, bytes) else os.fspath(source)
    try:
        content = source if isinstance(source, bytes) else _regular(Path(source)).read_bytes()
    except (OSError, ValueError) as error:  # a ValueError for a NUL in the name
        raise ImageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if not content:
        raise ImageError(f"{name} is empty: it has no bytes.")
    upright = _upright(name, content, whole_number("max_pixels", max_pixels))
    return upright if longest_side is None else reduced(upright, longest_side)


def reduced(image: Pixels, longest_side: int) -> Pixels:
    """Return a picture whose longer side is at most `longest_side`, each pixel the mean of those it replaces.

    Examples
    --------
    >>> reduced(np.zeros((40, 20, 3), np.uint8), 10).shape
    (10, 5, 3)
    """
    height, width = image.shape[:2]
    longest = max(height, width)
    if whole_number("longest_side", longest_side) >= longest:
        return image
    pillow = _pillow()
    size = (max(1, round(width * longest_side / longest)), max(1, round(height * longest_side / longest)))
    return np.asarray(pillow.fromarray(image).resize(size, pillow.Resampling.BOX))


def _upright(name: str, content: bytes, max_pixels: int) -> Pixels:
    pillow = _pillow()
    try:
        picture = _opened(pillow, content)
        width, height = picture.size
        if width * height <= max_pixels:
            return _turned(_rgb(pillow, picture), _orientation(picture))
    except pillow.UnidentifiedImageError:
        raise ImageError(f"{name} is not a picture in one of the formats {', '.join(FORMATS)}.") from None
    except pillow.DecompressionBombError as error:
        raise ImageError(f"{name} is too large: {error}") from None
    except MemoryError:
        raise ImageError(f"{name} needs more memory than there is.") from None
    except Exception as error:  # a damaged file makes Pillow raise a dozen kinds
        raise ImageError(f"{name} cannot be read as a picture: {str(error).rstrip('.')}.") from None
    raise ImageError(f"{name} is too large: {width} x {height} pixels, of {max_pixels} at most. Reduce it first.")


def _opened(pillow: Any, content: bytes) -> Pillow.Image:
    """Return the picture before it is unpacked: its size is known."""
    pillow.init()
    formats = [name for name in FORMATS if name in pillow.OPEN]
    with _HEADERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sizes, which are checked here
        return cast("Pillow.Image", pillow.open(io.BytesIO(content), formats=formats))


def _orientation(picture: Pillow.Image) -> int:
    """Return how a picture lies; after it is unpacked, for Pillow unpacks a PNG to look for its tags."""
    with _HEADERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tags, which are not needed
        try:
            return int(picture.getexif().get(ORIENTATION, 1))
        except Exception:  # damaged tags do not make the picture useless
            return 1


def _rgb(pillow: Any, picture: Pillow.Image) -> Pixels:
    if picture.mode == "F":
        raise ValueError("it has floating-point pixels, whose range is not known; save it with 8 or 16 bits")
    if picture.mode.startswith("I"):
        gray = np.asarray(picture).astype(np.int64)
        # A TIFF of 32 bits does not say what is white: levels up to 255 are 8 bits saved so.
        small = picture.mode == "I" and picture.format == "TIFF" and gray.max(initial=0) <= 255
        return _from_gray(gray, 255 if small else 65535)
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        return np.asarray(pillow.alpha_composite(pillow.new("RGBA", layer.size, WHITE), layer).convert("RGB"))
    return np.array(picture.convert("RGB"))


def _from_gray(gray: NDArray[np.int64], white: int) -> Pixels:
    if gray.min(initial=0) < 0 or gray.max(initial=0) > 65535:
        raise ValueError(f"its gray levels are {gray.min()} to {gray.max()}; only 8 or 16 bits are read")
    levels = ((gray * 255 + white // 2) // white).astype(np.uint8)
    return np.repeat(levels[:, :, None], 3, axis=2)


def _turned(pixels: Pixels, orientation: int) -> Pixels:
    """Return the picture upright; EXIF numbers the eight ways it may lie."""
    ways = {
        2: lambda p: p[:, ::-1],
        3: lambda p: p[::-1, ::-1],
        4: lambda p: p[::-1],
        5: lambda p: p.swapaxes(0, 1),
        6: lambda p: np.rot90(p, -1),
        7: lambda p: p[::-1, ::-1].swapaxes(0, 1),
        8: lambda p: np.rot90(p),
    }
    return np.ascontiguousarray(ways[orientation](pixels)) if orientation in ways else pixels


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        raise ImageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _regular(path: Path) -> Path:
    """Refuse a pipe or a device: reading it may not end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return path


@lru_cache(maxsize=4)
def _last_decoded(path: Path, stamp: tuple[int, ...]) -> Pixels:
    """Return the picture that blocks are cut from: they come one after the other, and unpacking it takes longest."""
    return decode(path)


@lru_cache(maxsize=4)
def _file_digest(path: Path, stamp: tuple[int, ...]) -> str:
    try:
        with _regular(Path(path)).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ImageError(f"{path} cannot be read: {error.strerror or error}.") from None


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("Reading pictures", "Pillow", "images") from None
    return Image
