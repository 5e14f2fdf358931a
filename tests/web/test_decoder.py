"""Uploads are decoded in a child process that ends in time."""

import gc
import io
import os
import signal
import time

import numpy as np
import pytest
from hostile_images import endless_comment, many_scans
from PIL import Image

from rankloom.datasets.images import ImageError, decode
from rankloom.web.decoder import MAX_SIDE, Decoder


def png(width, height):
    out = io.BytesIO()
    Image.fromarray(np.arange(width * height * 3, dtype=np.uint8).reshape(height, width, 3)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def decoder():
    decoder = Decoder(seconds=20)
    yield decoder
    decoder.close()


def test_pixels_are_those_of_decode(decoder):
    for size in ((1, 1), (31, 17), (MAX_SIDE, 2), (700, 900)):
        content = png(*size)
        np.testing.assert_array_equal(decoder.decode(content), decode(content, longest_side=MAX_SIDE))


def test_errors_of_the_child_are_image_errors(decoder):
    for content, message in ((b"", "empty"), (b"junk", "not an image"), (png(30, 30)[:100], "cannot be read")):
        with pytest.raises(ImageError, match=message):
            decoder.decode(content)
    assert decoder.decode(png(3, 2)).shape == (2, 3, 3)


def test_too_many_pixels_are_refused():
    with pytest.raises(ImageError, match="too large: 20 x 20"):
        Decoder(max_pixels=399).decode(png(20, 20))


@pytest.mark.parametrize(
    "content",
    [many_scans(200_000), many_scans(101, side=8), endless_comment()],
    ids=["many scans", "101 scans", "endless comment"],  # older pytest puts ids into the environment of processes
)
def test_hostile_image_is_refused_without_decoding_it(decoder, content):
    with pytest.raises(ImageError, match=r"more than 100 scans|one of the formats BMP, GIF, JPEG, PNG, TIFF, WEBP"):
        decoder.decode(content)


def test_time_limit_ends_the_work_and_the_next_image_is_decoded():
    decoder = Decoder(seconds=0.2)
    decoder.decode(png(1, 1))
    child = decoder._child
    with pytest.raises(ImageError, match=r"too large to decode within 0\.2 seconds"):
        decoder.decode(many_scans(90))
    assert child.poll() is not None
    assert decoder.decode(png(3, 2)).shape == (2, 3, 3)
    decoder.close()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_child_ends_by_itself_if_the_server_cannot_end_it(decoder):
    decoder._seconds = 0.2
    decoder.decode(png(1, 1))
    child = decoder._child
    child.kill = lambda: None  # as if the server had been killed
    with pytest.raises(ImageError, match="too large to decode"):
        decoder.decode(many_scans(90))
    assert child.returncode == -signal.SIGALRM


def test_crash_of_the_child_is_an_image_error_and_the_next_image_is_decoded(decoder):
    decoder.decode(png(1, 1))
    os.kill(decoder._child.pid, signal.SIGSTOP)  # so that it cannot answer before it is killed
    os.kill(decoder._child.pid, signal.SIGKILL)
    time.sleep(0.1)
    assert decoder.decode(png(3, 2)).shape == (2, 3, 3)  # found dead: started again
    decoder._child.stdout.close()
    decoder._child.stdout = io.BytesIO(b"\xff" * 100)  # a child that was taken over
    with pytest.raises(ImageError, match="the decoder crashed"):
        decoder.decode(png(1, 1))
    assert decoder.decode(png(3, 2)).shape == (2, 3, 3)


def test_child_ends_with_its_decoder():
    decoder = Decoder()
    decoder.decode(png(1, 1))
    child = decoder._child
    del decoder
    gc.collect()
    assert child.poll() is not None
