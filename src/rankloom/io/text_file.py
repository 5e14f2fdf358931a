"""Text files read line by line, with file problems told in one sentence."""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from rankloom.errors import InputError, UnknownNameError

#: What a reader or a writer takes for a file.
FilePath = str | os.PathLike[str]

BOM = b"\xef\xbb\xbf"
FLOAT32_MAX = 3.4028234663852886e38
BUFFER_BYTES = 1 << 20
SHOWN_CHARACTERS = 80  # of a wrong line in a message


@contextmanager
def opened(path: FilePath) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, unpacked where the name ends in ``.gz``.

    Raises
    ------
    InputError
        Where there is no such file, it is a folder, it cannot be read, or it is not whole gzip.
    """
    if "\0" in os.fspath(path):
        raise InputError(f"Cannot read {os.fspath(path)!r}: a name can't have a NUL in it.")
    try:
        with ExitStack() as stack:
            file = stack.enter_context(Path(path).open("rb"))
            if os.fspath(path).endswith(".gz"):
                unpacked = stack.enter_context(gzip.GzipFile(fileobj=file))
                # GzipFile goes through its lines in Python, the buffer does in C: four times as fast
                file = stack.enter_context(io.BufferedReader(unpacked, BUFFER_BYTES))
            yield cast(BinaryIO, file)
    except FileNotFoundError:
        raise InputError(f"There is no file {path}; check the name.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give a file.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file: {error}.") from None
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.") from None


def numbered_lines(path: FilePath) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line as UTF-8 bytes) of a text file, without a byte-order mark.

    Lines stay bytes so that only ASCII white space parts columns, as in the C programs that made these
    formats, and so that a name met a million times is decoded once.

    Raises
    ------
    InputError
        As `opened`; and for a line that is not UTF-8.
    """
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if number == 1:
                line = line.removeprefix(BOM)
            if not line.isascii():
                _check_utf8(path, number, line)
            yield number, line


def _check_utf8(path: FilePath, number: int, line: bytes) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        bad = line[error.start]
        raise InputError(f"{path}:{number}: byte 0x{bad:02x} is not UTF-8; save the file as UTF-8.") from None


def shown(line: bytes) -> str:
    """Return a line as it stands in a message: quoted, cut where it is long."""
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


def whole_number(text: bytes) -> int:
    """Return the whole number written, or raise ValueError; Python's own ``1_000`` is none."""
    if b"_" in text:
        raise ValueError(text)
    return int(text)


def is_number(text: bytes) -> bool:
    """Tell whether a number is written that float32 can hold; Python's own ``1_000`` is none."""
    try:
        return b"_" not in text and abs(float(text)) <= FLOAT32_MAX
    except ValueError:
        return False


def unknown_item(place: str, item: bytes, known: dict[bytes, int]) -> InputError:
    """Return the error for an item that the collection has not, with the nearest one that it has."""
    message = str(UnknownNameError("item", item.decode(), map(bytes.decode, known)))
    return InputError(f"{place}: {message[0].lower()}{message[1:]}")


def check_written(kind: str, name: str) -> None:
    """Refuse a name that would not come back whole from a text file with white space between columns."""
    try:
        raw = name.encode()
    except UnicodeEncodeError:
        raise InputError(f"The {kind} {name!r} cannot be written as UTF-8.") from None
    if raw.split() != [raw]:
        raise InputError(
            f"The {kind} {name!r} is empty or has white space, which parts columns here; rename it, or write an .npz "
            "file, which takes any name."
        )
    if raw.startswith(BOM):
        raise InputError(f"The {kind} {name!r} starts with a byte-order mark, which readers drop; rename it.")
