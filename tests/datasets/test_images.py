"""Decoding of image files of every kind, and errors that name the file."""

import io
import os
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.datasets import Content, images
from rankloom.datasets.images import FORMATS, SUFFIXES, ImageError, ImageFile, decode, on_transparent, reduced
from rankloom.errors import InputError

Image = pytest.importorskip("PIL.Image")
PngImagePlugin = pytest.importorskip("PIL.PngImagePlugin")

RED, WHITE = [255, 0, 0], [255, 255, 255]


def encoded(image, form="PNG", **options):
    """Return the bytes of an image file."""
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def noise(height=12, width=16, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def test_a_png_round_trips(tmp_path):
    pixels = noise()
    Image.fromarray(pixels).save(tmp_path / "a.png")
    loaded = ImageFile(tmp_path / "a.png").load()
    assert loaded.dtype == np.uint8
    np.testing.assert_array_equal(loaded, pixels)


def test_gray_is_repeated_three_times():
    assert decode(encoded(Image.new("L", (2, 1), 7))).tolist() == [[[7, 7, 7], [7, 7, 7]]]


def test_one_bit_becomes_black_or_white():
    assert decode(encoded(Image.new("1", (1, 1), 1))).tolist() == [[WHITE]]


def test_16_bit_gray_becomes_8_bits():
    levels = np.array([[0, 65535, 32768, 257]], np.uint16)
    for form in ("PNG", "TIFF"):
        assert decode(encoded(Image.fromarray(levels), form))[0, :, 0].tolist() == [0, 255, 128, 1]


def test_palette_becomes_rgb():
    assert decode(encoded(Image.new("RGB", (2, 2), "red").convert("P"), "GIF")).tolist() == [[RED] * 2] * 2


def test_cmyk_becomes_rgb():
    assert decode(encoded(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), "JPEG"))[0, 0].tolist() == WHITE


def test_transparency_is_composited_on_white():
    image = Image.new("RGBA", (2, 1), (255, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 255, 0))
    assert decode(encoded(image)).tolist() == [[RED, WHITE]]


def test_transparent_palette_and_gray_are_composited_on_white():
    palette = Image.new("P", (1, 1), 0)
    palette.putpalette([0, 0, 0])
    assert decode(encoded(palette, "PNG", transparency=0)).tolist() == [[WHITE]]
    assert decode(encoded(Image.new("LA", (1, 1), (0, 0)))).tolist() == [[WHITE]]


def test_an_animation_yields_its_first_frame():
    frames = [Image.new("RGB", (2, 2), color) for color in ("red", "blue")]
    assert decode(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))[0, 0].tolist() == RED


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_as_in_pillow(orientation, form):
    from PIL import ImageOps

    image = Image.fromarray(noise(3, 5))
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(image, form, exif=exif)
    expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(content))))
    np.testing.assert_array_equal(decode(content), expected)


def test_damaged_exif_is_ignored():
    content = encoded(Image.new("RGB", (4, 4), "red"), "JPEG", exif=b"Exif\0\0MM\0\x2a\xff\xff\xff\xff", quality=95)
    assert decode(content).shape == (4, 4, 3)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"hello, I am a text", "is not an image in one of the formats"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is not an image in one of the formats"),
    ],
)
def test_a_file_that_is_not_an_image_is_named(tmp_path, content, why):
    path = tmp_path / "odd.jpg"
    path.write_bytes(content)
    with pytest.raises(ImageError, match=rf"odd\.jpg {why}"):
        decode(path)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP"])
def test_a_truncated_file_is_named(tmp_path, form):
    content = encoded(Image.fromarray(noise(64, 64)), form)
    path = tmp_path / "cut"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ImageError, match="cut "):
        decode(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    for path in (tmp_path / "none.png", tmp_path, "a\0b.png"):
        with pytest.raises(InputError, match="cannot be read"):
            decode(path)
    for read in (ImageFile(tmp_path / "none.png").load, ImageFile(tmp_path / "none.png").digest):
        with pytest.raises(ImageError, match=r"none\.png cannot be read: No such file"):
            read()


def test_a_pipe_is_rejected_without_blocking(tmp_path):
    os.mkfifo(tmp_path / "c.jpg")
    for read in (lambda: decode(tmp_path / "c.jpg"), ImageFile(tmp_path / "c.jpg").digest):
        with pytest.raises(ImageError, match=r"c\.jpg cannot be read: it is not a regular file"):
            read()


def test_an_image_with_too_many_pixels_is_rejected():
    with pytest.raises(ImageError, match=r"too large: 30 x 20 pixels; the limit is 599"):
        decode(encoded(Image.new("RGB", (30, 20))), max_pixels=599)
    assert decode(encoded(Image.new("RGB", (30, 20))), max_pixels=600).shape == (20, 30, 3)


@pytest.mark.parametrize("side", [10_000, 60_000])  # Pillow warns about the first and rejects the second itself
def test_a_decompression_bomb_raises_image_error_without_a_warning(side):
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ImageError, match="too large"):
            decode(bomb)


def test_a_too_large_image_is_not_decompressed(monkeypatch):
    decompressed = []
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", lambda image: decompressed.append(image.size))
    with pytest.raises(ImageError, match="too large: 30 x 20 pixels"):
        decode(encoded(Image.new("RGB", (30, 20))), max_pixels=599)
    assert decompressed == []


def test_images_are_decompressed_outside_the_lock(monkeypatch):
    locked = []
    load = PngImagePlugin.PngImageFile.load

    def watched(image):
        if image.fp is not None:  # not decompressed before
            locked.append(images._HEADERS.locked())
        return load(image)

    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", watched)
    assert decode(encoded(Image.new("RGB", (30, 20)))).shape == (20, 30, 3)
    assert locked
    assert not any(locked)


def test_8_bit_levels_stored_in_32_bits_are_kept():
    gray = np.array([[0, 100, 255]], np.int32)
    assert decode(encoded(Image.fromarray(gray), "TIFF"))[0, :, 0].tolist() == [0, 100, 255]
    assert decode(encoded(Image.fromarray(gray * 257), "TIFF"))[0, :, 0].tolist() == [0, 100, 255]
    with pytest.raises(ImageError, match="its gray levels are -5 to 250"):
        decode(encoded(Image.fromarray(gray - 5), "TIFF"))


def test_floating_point_pixels_are_rejected():
    with pytest.raises(ImageError, match="save it with 8 or 16 bits"):
        decode(encoded(Image.new("F", (2, 2), 0.5), "TIFF"))


@given(st.binary(max_size=200), st.integers(0, 400))
def test_damaged_bytes_decode_or_raise_image_error(junk, start):
    content = bytearray(encoded(Image.fromarray(noise(9, 9)), "PNG"))
    content[start : start + len(junk)] = junk
    try:
        result = decode(bytes(content)).shape[2]
    except ImageError as error:
        result = str(error)
    assert result == 3 or result.startswith("The image ")


def test_a_large_image_is_reduced_to_the_longest_side():
    pixels = np.zeros((40, 20, 3), np.uint8)
    pixels[::2] = 100
    assert reduced(pixels, 10).tolist() == np.full((10, 5, 3), 50).tolist()
    assert reduced(pixels, 40) is pixels
    assert decode(encoded(Image.fromarray(pixels)), longest_side=10).shape == (10, 5, 3)
    assert reduced(np.zeros((1000, 1, 3), np.uint8), 10).shape == (10, 1, 3)


def test_a_box_selects_a_block(tmp_path):
    pixels = noise(20, 30)
    path = tmp_path / "a.png"
    Image.fromarray(pixels).save(path)
    np.testing.assert_array_equal(ImageFile(path, (10, 5, 30, 20)).load(), pixels[5:20, 10:30])
    with pytest.raises(ImageError, match=r"a\.png has 30 x 20 pixels; the block \(0, 0, 31, 5\) is outside"):
        ImageFile(path, (0, 0, 31, 5)).load()


def test_a_block_follows_a_rewritten_file(tmp_path):
    path = tmp_path / "a.png"
    for seed in (0, 1):
        pixels = noise(seed=seed)
        Image.fromarray(pixels).save(path)
        np.testing.assert_array_equal(ImageFile(path, (0, 0, 4, 4)).load(), pixels[:4, :4])


def test_digest_depends_on_content_and_block_but_not_on_the_path(tmp_path):
    for name, seed in (("a.png", 0), ("b.png", 0), ("c.png", 1)):
        Image.fromarray(noise(seed=seed)).save(tmp_path / name)
    a, b, c = (ImageFile(tmp_path / name) for name in ("a.png", "b.png", "c.png"))
    assert isinstance(a, Content)
    assert a.digest() == b.digest() != c.digest()
    assert a.digest() != ImageFile(a.path, (0, 0, 1, 1)).digest() != ImageFile(a.path, (0, 0, 2, 2)).digest()


def test_threads_decode_alike_and_restore_warning_filters():
    before = list(warnings.filters)
    content = encoded(Image.fromarray(noise(50, 50)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: decode(content), range(64)))
    assert all(np.array_equal(one, found[0]) for one in found)
    assert warnings.filters == before


def test_suffixes_belong_to_the_supported_formats():
    Image.init()
    of_formats = {suffix for suffix, form in Image.EXTENSION.items() if form in FORMATS}
    assert of_formats >= SUFFIXES - {".avif"}


def segment(marker, content=b""):
    return b"\xff" + bytes([marker]) + (len(content) + 2).to_bytes(2) + content


def test_jpeg_of_too_many_scans_is_refused_before_it_is_decoded():
    content = encoded(Image.new("L", (16, 16), 9), "JPEG", progressive=True)
    last = content.rindex(b"\xff\xda")
    scans = content.count(b"\xff\xda")
    repeated = content[:last] + content[last:-2] * (101 - scans) + content[-2:]
    assert decode(repeated).shape == (16, 16, 3)
    with pytest.raises(ImageError, match="more than 100 scans; save it again as a baseline JPEG"):
        decode(repeated[:-2] + content[last:])


def test_scans_are_not_counted_inside_segments_or_after_the_image():
    content = encoded(Image.new("L", (16, 16), 9), "JPEG")
    metadata = segment(0xEF, b"\xff\xda" * 30_000)
    assert decode(content[:2] + metadata + content[2:] + b"\xff\xda" * 200).shape == (16, 16, 3)


def test_jpeg_of_too_many_segments_is_refused():
    content = encoded(Image.new("L", (16, 16), 9), "JPEG")
    assert decode(content[:2] + segment(0xFE) * 1900 + content[2:]).shape == (16, 16, 3)
    with pytest.raises(ImageError, match="more than 2000 segments"):
        decode(content[:2] + segment(0xFE) * 2001 + content[2:])


def test_other_formats_than_those_given_are_refused():
    content = encoded(Image.new("L", (2, 2)), "PPM")
    assert decode(content).shape == (2, 2, 3)
    with pytest.raises(ImageError, match="not an image in one of the formats PNG, GIF"):
        decode(content, formats=["PNG", "GIF"])


def test_a_pixel_at_the_border_of_an_image_is_an_edge_next_to_white():
    image = np.full((5, 5, 3), 255, np.uint8)
    image[2] = 230  # as light as white that a blur mixes with color
    alpha = on_transparent(image)[:, :, 3]
    assert 0 < alpha[2, 0] == alpha[2, 2] < 64
