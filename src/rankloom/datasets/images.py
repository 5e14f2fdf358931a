"""Image files as RGB arrays: every supported file decodes to the same form, or raises one clear error."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from rankloom.errors import InputError, needs_extra, whole_number
from rankloom.io.cache import digest_bytes
from rankloom.ranks.arrays import Bytes, Int64s

if TYPE_CHECKING:
    from PIL import Image as Pillow

#: RGB from 0 to 255, of shape (height, width, 3).
Pixels = Bytes
#: Left, top, right and bottom in pixels, as in Pillow: right and bottom are exclusive.
Box = tuple[int, int, int, int]
#: The bytes of a file, and its media type.
File = tuple[bytes, str]

MAX_PIXELS = 50_000_000  # a file of a few kilobytes may decompress to gigabytes
#: Formats to read. Others are rejected: EPS, for example, would start another program.
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
SUFFIXES = frozenset(
    {".avif", ".bmp", ".gif", ".jpg", ".jpeg", ".jp2", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"}
)
MAX_SCANS = 100  # of a JPEG; a progressive one has about ten, and each takes as long as decoding the whole image
MAX_SEGMENTS = 2000  # of a JPEG, searched for scans; a large color profile takes 255
ORIENTATION = 0x0112  # EXIF tag
WHITE = (255, 255, 255, 255)
#: Of the darkest channel: white in spite of JPEG noise; noise next to white; and how far below white a pixel at the
#: edge is opaque. Chosen on the emoji, whose transparency is known from the original images, seen on dark gray.
WHITE_LEVEL, NOISE_LEVEL, OPAQUE_DEPTH = 246, 236, 192
NEIGHBORS = np.ones((3, 3), bool)  # diagonal ones too, or noise would cut white corners off
_HEADERS = threading.Lock()  # warning filters are global to all threads


class ImageError(InputError):
    """An image that cannot be used; the message names the file and the reason."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file, or a block of one; loaded on demand.

    Attributes
    ----------
    path : Path
    box : (left, top, right, bottom), optional
        A block of the upright image, in pixels; right and bottom are exclusive.
    on_white : bool
        Whether its background is white, so that a page may show it on another, see `on_transparent`.

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
    on_white: bool = False

    def load(self) -> Pixels:
        """Return the pixels. Raise ImageError if the image cannot be read."""
        if self.box is None:
            return decode(self.path)
        whole = _last_decoded(self.path, _stamp(self.path))
        left, top, right, bottom = self.box
        if not (0 <= left < right <= whole.shape[1] and 0 <= top < bottom <= whole.shape[0]):
            size = f"{whole.shape[1]} x {whole.shape[0]}"
            raise ImageError(f"{self.path} has {size} pixels; the block {self.box} is outside.")
        return whole[top:bottom, left:right].copy()

    def stamp(self) -> tuple[int, ...]:
        """Return time, size and inode of the file, which change when it is rewritten."""
        return _stamp(self.path)

    def digest(self) -> str:
        """Return a digest of its content: equal bytes and block, equal digest, wherever the file is."""
        return digest_bytes(_file_digest(self.path, _stamp(self.path)).encode(), repr(self.box).encode())


def decode(
    source: str | os.PathLike[str] | bytes,
    *,
    max_pixels: int = MAX_PIXELS,
    longest_side: int | None = None,
    formats: Sequence[str] = FORMATS,
) -> Pixels:
    """Decode an image to RGB.

    Gray is repeated three times, 16 bits become 8, CMYK and palettes become RGB, and transparency is composited on
    white. An animation yields its first frame. EXIF rotation is applied.

    Parameters
    ----------
    source : path or bytes
        A file, or the content of one.
    max_pixels : int
        An image with more is rejected before it is decompressed.
    longest_side : int, optional
        Shrink a larger image to this, see `reduced`.
    formats : sequence of str
        The formats to accept, of those in `FORMATS`.

    Returns
    -------
    uint8 array of shape (height, width, 3)

    Raises
    ------
    ImageError
        If the image is missing, empty, truncated, too large or in another format, or a JPEG of over 100 scans.

    Examples
    --------
    >>> decode(b"")
    Traceback (most recent call last):
    rankloom.datasets.images.ImageError: The image is empty.
    """
    name = "The image" if isinstance(source, bytes) else os.fspath(source)
    try:
        content = source if isinstance(source, bytes) else _regular(Path(source)).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise ImageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if not content:
        raise ImageError(f"{name} is empty.")
    upright = _upright(name, content, whole_number("max_pixels", max_pixels), formats)
    return upright if longest_side is None else reduced(upright, longest_side)


def reduced(image: Pixels, longest_side: int) -> Pixels:
    """Return the image shrunk so that its longer side is at most `longest_side`, averaging pixels.

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


def on_transparent(image: Pixels) -> Pixels:
    """Return an image on white as RGBA: white that is connected to the border is transparent, its edges partly.

    Examples
    --------
    >>> ring = np.full((5, 5, 3), 255, np.uint8)
    >>> ring[1:4, 1:4] = 0
    >>> ring[2, 2] = 255
    >>> on_transparent(ring)[2, :, 3]
    array([  0, 255, 255, 255,   0], dtype=uint8)
    """
    from scipy import ndimage

    depth = 255.0 - image.min(axis=2)
    regions = ndimage.label(np.pad(depth <= 255 - WHITE_LEVEL, 1, constant_values=True), NEIGHBORS)[0]
    ground = (regions == regions[0, 0])[1:-1, 1:-1]
    ground |= ndimage.binary_dilation(ground, NEIGHBORS) & (depth <= 255 - NOISE_LEVEL)
    edge = ndimage.binary_dilation(ground, NEIGHBORS, border_value=1) & ~ground
    alpha = np.where(ground, 0.0, np.where(edge, np.minimum(depth / OPAQUE_DEPTH, 1.0), 1.0))[:, :, None]
    color = 255.0 - (255.0 - image) / np.maximum(alpha, 1 / 255)  # what gives the image again, seen on white
    shown: Pixels = np.rint(np.concatenate([color.clip(0, 255), 255 * alpha], axis=2)).astype(np.uint8)
    return shown


def encoded(image: Pixels, max_side: int, max_lossless_side: int = 128) -> File:
    """Return an image as a small file: PNG if its longer side is at most `max_lossless_side`, else JPEG.

    An image with transparency is always a PNG.

    Examples
    --------
    >>> encoded(np.zeros((400, 200, 3), np.uint8), 320)[1]
    'image/jpeg'
    """
    small = np.ascontiguousarray(reduced(image, max_side))
    kind = "PNG" if max(small.shape[:2]) <= max_lossless_side or small.shape[2] == 4 else "JPEG"
    out = io.BytesIO()
    _pillow().fromarray(small).save(out, kind, **({"quality": 85} if kind == "JPEG" else {}))
    return out.getvalue(), f"image/{kind.lower()}"


def _upright(name: str, content: bytes, max_pixels: int, formats: Sequence[str]) -> Pixels:
    pillow = _pillow()
    try:
        _check_scans(content)
        image = _opened(pillow, content, formats)
        width, height = image.size
        if width * height <= max_pixels:
            return _rotated(_rgb(pillow, image), _orientation(image))
    except pillow.UnidentifiedImageError:
        raise ImageError(f"{name} is not an image in one of the formats {', '.join(formats)}.") from None
    except pillow.DecompressionBombError as error:
        raise ImageError(f"{name} is too large: {error}") from None
    except MemoryError:
        raise ImageError(f"{name} needs more memory than is available.") from None
    except Exception as error:  # Pillow raises many types on damaged files
        raise ImageError(f"{name} cannot be read as an image: {str(error).rstrip('.')}.") from None
    raise ImageError(f"{name} is too large: {width} x {height} pixels; the limit is {max_pixels}. Shrink it first.")


def _opened(pillow: ModuleType, content: bytes, formats: Sequence[str]) -> Pillow.Image:
    """Return the image with only its header read: its size is known."""
    pillow.init()
    known = [name for name in formats if name in pillow.OPEN]
    with _HEADERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sizes, which are checked here
        return cast("Pillow.Image", pillow.open(io.BytesIO(content), formats=known))


def _check_scans(content: bytes) -> None:
    """Raise ValueError for a JPEG with so many scans that decoding it would take hours."""
    if not content.startswith(SOI):
        return
    scans = 0
    for n_segments, marker in enumerate(_jpeg_markers(content), 1):
        scans += marker == SOS
        if scans > MAX_SCANS or n_segments > MAX_SEGMENTS:
            found = f"{MAX_SCANS} scans" if scans > MAX_SCANS else f"{MAX_SEGMENTS} segments"
            raise ValueError(f"it is a JPEG of more than {found}; save it again as a baseline JPEG or PNG")


SOI, SOS, EOI = b"\xff\xd8", 0xDA, 0xD9
JPEG_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd7\xff]")  # a marker with a length, not a stuffed byte


def _jpeg_markers(content: bytes) -> Iterator[int]:
    """Yield the marker of each segment of a JPEG; pixels between segments contain no markers."""
    position = len(SOI)
    while found := JPEG_MARKER.search(content, position):
        marker, start = content[found.end() - 1], found.end()
        if marker == EOI:
            return
        yield marker
        position = start + int.from_bytes(content[start : start + 2])


def _orientation(image: Pillow.Image) -> int:
    """Return the EXIF orientation. Call it after decoding: Pillow decodes a PNG to find its tags."""
    with _HEADERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about tags, which are not needed
        try:
            return int(image.getexif().get(ORIENTATION, 1))
        except Exception:  # damaged tags do not make the image useless
            return 1


def _rgb(pillow: ModuleType, image: Pillow.Image) -> Pixels:
    if image.mode == "F":
        raise ValueError("it has floating-point pixels of unknown range; save it with 8 or 16 bits")
    if image.mode.startswith("I"):
        gray = np.asarray(image).astype(np.int64)
        # A 32-bit TIFF does not define white: levels up to 255 are 8-bit data.
        small = image.mode == "I" and image.format == "TIFF" and gray.max(initial=0) <= 255
        return _from_gray(gray, 255 if small else 65535)
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        return np.asarray(pillow.alpha_composite(pillow.new("RGBA", layer.size, WHITE), layer).convert("RGB"))
    return np.array(image.convert("RGB"))


def _from_gray(gray: Int64s, white: int) -> Pixels:
    if gray.min(initial=0) < 0 or gray.max(initial=0) > 65535:
        raise ValueError(f"its gray levels are {gray.min()} to {gray.max()}; only 8 or 16 bits are supported")
    levels = ((gray * 255 + white // 2) // white).astype(np.uint8)
    return np.repeat(levels[:, :, None], 3, axis=2)


def _rotated(pixels: Pixels, orientation: int) -> Pixels:
    """Return the image upright; EXIF numbers eight orientations."""
    transforms = {
        2: lambda p: p[:, ::-1],
        3: lambda p: p[::-1, ::-1],
        4: lambda p: p[::-1],
        5: lambda p: p.swapaxes(0, 1),
        6: lambda p: np.rot90(p, -1),
        7: lambda p: p[::-1, ::-1].swapaxes(0, 1),
        8: lambda p: np.rot90(p),
    }
    return np.ascontiguousarray(transforms[orientation](pixels)) if orientation in transforms else pixels


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        stat = os.stat(path)  # noqa: PTH116 - a collection may be one file, and is asked thousands of times
    except (OSError, ValueError) as error:
        raise ImageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _regular(path: Path) -> Path:
    """Raise OSError for a pipe or a device: reading one may block."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return path


@lru_cache(maxsize=4)
def _last_decoded(path: Path, stamp: tuple[int, ...]) -> Pixels:
    """Return the image to cut blocks from: consecutive blocks share one, and decoding is the slowest step."""
    return decode(path)


@lru_cache(maxsize=4)
def _file_digest(path: Path, stamp: tuple[int, ...]) -> str:
    try:
        with _regular(Path(path)).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ImageError(f"{path} cannot be read: {error.strerror or error}.") from None


def _pillow() -> ModuleType:
    with needs_extra("Reading images", "Pillow", "images"):
        from PIL import Image
    return Image
