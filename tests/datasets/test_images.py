"""Pictures of every odd kind are read alike, or refused by name."""

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
from rankloom.datasets.images import FORMATS, SUFFIXES, ImageError, ImageFile, decode, reduced
from rankloom.errors import InputError

Image = pytest.importorskip("PIL.Image")
PngImagePlugin = pytest.importorskip("PIL.PngImagePlugin")

RED, WHITE = [255, 0, 0], [255, 255, 255]


def packed(picture, form="PNG", **options):
    """Return the bytes of a file with that picture."""
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def noise(height=12, width=16, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def test_a_png_comes_back_bit_by_bit(tmp_path):
    pixels = noise()
    Image.fromarray(pixels).save(tmp_path / "a.png")
    loaded = ImageFile(tmp_path / "a.png").load()
    assert loaded.dtype == np.uint8
    np.testing.assert_array_equal(loaded, pixels)


def test_gray_is_repeated_three_times():
    assert decode(packed(Image.new("L", (2, 1), 7))).tolist() == [[[7, 7, 7], [7, 7, 7]]]


def test_one_bit_is_black_or_white():
    assert decode(packed(Image.new("1", (1, 1), 1))).tolist() == [[WHITE]]


def test_16_bit_gray_becomes_8_bits():
    levels = np.array([[0, 65535, 32768, 257]], np.uint16)
    for form in ("PNG", "TIFF"):
        assert decode(packed(Image.fromarray(levels), form))[0, :, 0].tolist() == [0, 255, 128, 1]


def test_palette_becomes_colors():
    assert decode(packed(Image.new("RGB", (2, 2), "red").convert("P"), "GIF")).tolist() == [[RED] * 2] * 2


def test_cmyk_becomes_colors():
    assert decode(packed(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), "JPEG"))[0, 0].tolist() == WHITE


def test_what_shows_through_is_laid_on_white():
    picture = Image.new("RGBA", (2, 1), (255, 0, 0, 255))
    picture.putpixel((1, 0), (0, 0, 255, 0))
    assert decode(packed(picture)).tolist() == [[RED, WHITE]]


def test_transparent_palette_and_gray_are_laid_on_white():
    palette = Image.new("P", (1, 1), 0)
    palette.putpalette([0, 0, 0])
    assert decode(packed(palette, "PNG", transparency=0)).tolist() == [[WHITE]]
    assert decode(packed(Image.new("LA", (1, 1), (0, 0)))).tolist() == [[WHITE]]


def test_of_an_animation_the_first_frame_is_read():
    frames = [Image.new("RGB", (2, 2), color) for color in ("red", "blue")]
    assert decode(packed(frames[0], "GIF", save_all=True, append_images=frames[1:]))[0, 0].tolist() == RED


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_picture_is_set_upright_as_pillow_does(orientation, form):
    from PIL import ImageOps

    picture = Image.fromarray(noise(3, 5))
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = packed(picture, form, exif=exif)
    expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(content))))
    np.testing.assert_array_equal(decode(content), expected)


def test_damaged_tags_do_not_make_a_picture_useless():
    content = packed(Image.new("RGB", (4, 4), "red"), "JPEG", exif=b"Exif\0\0MM\0\x2a\xff\xff\xff\xff", quality=95)
    assert decode(content).shape == (4, 4, 3)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty: it has no bytes"),
        (b"hello, I am a text", "is not a picture in one of the formats"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is not a picture in one of the formats"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(tmp_path, content, why):
    path = tmp_path / "odd.jpg"
    path.write_bytes(content)
    with pytest.raises(ImageError, match=rf"odd\.jpg {why}"):
        decode(path)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP"])
def test_a_file_that_is_cut_off_is_refused_by_name(tmp_path, form):
    content = packed(Image.fromarray(noise(64, 64)), form)
    path = tmp_path / "cut"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ImageError, match="cut "):
        decode(path)


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path):
    for path in (tmp_path / "none.png", tmp_path, "a\0b.png"):
        with pytest.raises(InputError, match="cannot be read"):
            decode(path)
    for ask in (ImageFile(tmp_path / "none.png").load, ImageFile(tmp_path / "none.png").digest):
        with pytest.raises(ImageError, match=r"none\.png cannot be read: No such file"):
            ask()


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "c.jpg")
    for ask in (lambda: decode(tmp_path / "c.jpg"), ImageFile(tmp_path / "c.jpg").digest):
        with pytest.raises(ImageError, match=r"c\.jpg cannot be read: it is not a regular file"):
            ask()


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked():
    with pytest.raises(ImageError, match=r"too large: 30 x 20 pixels, of 599 at most"):
        decode(packed(Image.new("RGB", (30, 20))), max_pixels=599)
    assert decode(packed(Image.new("RGB", (30, 20))), max_pixels=600).shape == (20, 30, 3)


@pytest.mark.parametrize("side", [10_000, 60_000])  # Pillow warns of the one, and refuses the other itself
def test_a_decompression_bomb_is_our_error_and_no_warning(side):
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ImageError, match="too large"):
            decode(bomb)


def test_a_bomb_is_not_unpacked_at_all(monkeypatch):
    unpacked = []
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", lambda picture: unpacked.append(picture.size))
    with pytest.raises(ImageError, match="too large: 30 x 20 pixels"):
        decode(packed(Image.new("RGB", (30, 20))), max_pixels=599)
    assert unpacked == []


def test_pictures_are_unpacked_outside_of_the_lock(monkeypatch):
    locked = []
    load = PngImagePlugin.PngImageFile.load

    def watched(picture):
        if picture.fp is not None:  # not unpacked before
            locked.append(images._HEADERS.locked())
        return load(picture)

    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", watched)
    assert decode(packed(Image.new("RGB", (30, 20)))).shape == (20, 30, 3)
    assert locked
    assert not any(locked)


def test_eight_bits_saved_as_32_keep_their_levels():
    gray = np.array([[0, 100, 255]], np.int32)
    assert decode(packed(Image.fromarray(gray), "TIFF"))[0, :, 0].tolist() == [0, 100, 255]
    assert decode(packed(Image.fromarray(gray * 257), "TIFF"))[0, :, 0].tolist() == [0, 100, 255]
    with pytest.raises(ImageError, match="its gray levels are -5 to 250"):
        decode(packed(Image.fromarray(gray - 5), "TIFF"))


def test_floating_point_pixels_are_refused_with_advice():
    with pytest.raises(ImageError, match="save it with 8 or 16 bits"):
        decode(packed(Image.new("F", (2, 2), 0.5), "TIFF"))


@given(st.binary(max_size=200), st.integers(0, 400))
def test_damaged_bytes_give_pixels_or_our_error(junk, place):
    content = bytearray(packed(Image.fromarray(noise(9, 9)), "PNG"))
    content[place : place + len(junk)] = junk
    try:
        result = decode(bytes(content)).shape[2]
    except ImageError as error:
        result = str(error)
    assert result == 3 or result.startswith("The picture ")


def test_a_large_picture_is_reduced_to_the_side_asked_for():
    pixels = np.zeros((40, 20, 3), np.uint8)
    pixels[::2] = 100
    assert reduced(pixels, 10).tolist() == np.full((10, 5, 3), 50).tolist()
    assert reduced(pixels, 40) is pixels
    assert decode(packed(Image.fromarray(pixels)), longest_side=10).shape == (10, 5, 3)
    assert reduced(np.zeros((1000, 1, 3), np.uint8), 10).shape == (10, 1, 3)


def test_blocks_are_cut_from_the_picture(tmp_path):
    pixels = noise(20, 30)
    path = tmp_path / "a.png"
    Image.fromarray(pixels).save(path)
    np.testing.assert_array_equal(ImageFile(path, (10, 5, 30, 20)).load(), pixels[5:20, 10:30])
    with pytest.raises(ImageError, match=r"a\.png is of 30 x 20 pixels; the block \(0, 0, 31, 5\) is not inside"):
        ImageFile(path, (0, 0, 31, 5)).load()


def test_a_block_of_a_file_written_anew_is_the_new_one(tmp_path):
    path = tmp_path / "a.png"
    for seed in (0, 1):
        pixels = noise(seed=seed)
        Image.fromarray(pixels).save(path)
        np.testing.assert_array_equal(ImageFile(path, (0, 0, 4, 4)).load(), pixels[:4, :4])


def test_a_digest_stands_for_content_and_block_and_not_for_the_place(tmp_path):
    for name, seed in (("a.png", 0), ("b.png", 0), ("c.png", 1)):
        Image.fromarray(noise(seed=seed)).save(tmp_path / name)
    a, b, c = (ImageFile(tmp_path / name) for name in ("a.png", "b.png", "c.png"))
    assert isinstance(a, Content)
    assert a.digest() == b.digest() != c.digest()
    assert a.digest() != ImageFile(a.path, (0, 0, 1, 1)).digest() != ImageFile(a.path, (0, 0, 2, 2)).digest()


def test_threads_read_alike_and_leave_the_filters_of_warnings():
    before = list(warnings.filters)
    content = packed(Image.fromarray(noise(50, 50)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: decode(content), range(64)))
    assert all(np.array_equal(one, found[0]) for one in found)
    assert warnings.filters == before


def test_suffixes_are_those_of_the_formats_read():
    Image.init()
    of_formats = {suffix for suffix, form in Image.EXTENSION.items() if form in FORMATS}
    assert of_formats >= SUFFIXES - {".avif"}
