"""Images within the limits on bytes and pixels that take very long to decode."""

import io

from PIL import Image


def many_scans(scans, side=4900):
    """Return a progressive JPEG whose last scan is repeated: each takes as long as all of the image, in 40 bytes."""
    out = io.BytesIO()
    Image.new("L", (side, side), 128).save(out, "JPEG", progressive=True)
    content = out.getvalue()
    last = content.rindex(b"\xff\xda")
    return content[:last] + content[last:-2] * scans + content[-2:]


def endless_comment():
    """Return a PPM with a header that Pillow reads byte by byte."""
    return b"P3\n" + b"#" * 9_900_000
