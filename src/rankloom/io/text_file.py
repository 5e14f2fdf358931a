"""Text files read line by line; problems with the file become an InputError."""

import codecs
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO

from rankloom.errors import InputError, UnknownNameError, brief, check_type

#: A JSON object, read or to be written.
Plain = dict[str, Any]
#: A path that a reader or a writer accepts.
FilePath = str | os.PathLike[str]

BOM = b"\xef\xbb\xbf"
FLOAT32_MAX = 3.4028234663852886e38
BUFFER_BYTES = 1 << 20
MAX_SHOWN = 80  # characters of a line in a message
MAX_NAME_BYTES = 255  # of a file or a folder, on Linux and macOS
MAX_DIGITS = 300  # of a whole number in JSON, which any reader can hold
MAX_LINE_BYTES = 1 << 24  # a few MB of gzip can expand to gigabytes without a line feed


def as_path(path: FilePath) -> Path:
    """Return a path; raise InputError if it is something else."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError(f"A path must be a string or a Path; got {brief(path)}.")
    try:
        name = os.fsencode(path)
        wrong = b"\0" in name or max(map(len, name.split(b"/"))) > MAX_NAME_BYTES
    except UnicodeEncodeError:  # half of a character
        wrong = True
    if wrong:
        raise InputError(f"No path can have such a name; got {brief(os.fspath(path))}.")
    return Path(path)


def expanded_path(path: FilePath) -> Path:
    """Return a path with the user's folder in place of ``~``; without it if there is none."""
    return as_path(os.path.expanduser(as_path(path)))  # noqa: PTH111  # Path.expanduser raises RuntimeError


@contextmanager
def opened(path: FilePath) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed if the name ends in ``.gz``; raise InputError if that fails."""
    try:
        with ExitStack() as stack:
            file = stack.enter_context(as_path(path).open("rb"))
            if os.fspath(path).endswith(".gz"):
                decompressed = stack.enter_context(gzip.GzipFile(fileobj=file))
                # GzipFile iterates over lines in Python, BufferedReader in C, which is four times as fast
                file = stack.enter_context(io.BufferedReader(decompressed, BUFFER_BYTES))
            yield file
    except FileNotFoundError:
        raise InputError(f"There is no file {path}; check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give a file.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a valid gzip file: {error}.") from None
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.") from None


def decoded(path: FilePath, file: BinaryIO, encoding: str, newline: str) -> io.TextIOWrapper:
    """Return an open file as text, without a byte-order mark; raise InputError if there is no such encoding."""
    try:
        known = codecs.lookup(encoding).name
        return io.TextIOWrapper(file, "utf-8-sig" if known == "utf-8" else known, newline=newline)
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        raise InputError(f"Unknown encoding {encoding!r}; use a name such as utf-8, cp1252 or utf-16.") from None


def read_text(path: FilePath, encoding: str = "utf-8") -> str:
    """Return the content of a text file, with its line breaks."""
    with opened(path) as file, decoded(path, file, encoding, newline="") as text:
        try:
            return text.read()
        except UnicodeError:
            raise wrong_encoding(path, encoding) from None


def wrong_encoding(path: FilePath, encoding: str) -> InputError:
    """Return the error for a file that an encoding cannot decode, with the line."""
    decoder, number = codecs.getincrementaldecoder(encoding)(), 0
    with opened(path) as file:
        try:
            for number, line in enumerate(limited_lines(path, file), 1):  # noqa: B007
                decoder.decode(line)
            decoder.decode(b"", final=True)
        except UnicodeError as error:
            byte = f"byte 0x{error.object[error.start]:02x} " if isinstance(error, UnicodeDecodeError) else ""
            wrong = f"{path}:{number}: {byte}is not {'UTF-8' if encoding == 'utf-8' else encoding}"
            return InputError(f"{wrong}; save the file as UTF-8, or give its encoding, as in encoding='cp1252'.")
    return InputError(f"{path} is not {encoding}; save the file as UTF-8.")


def numbered_lines(path: FilePath) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line as UTF-8 bytes) of a text file, without a byte-order mark.

    Lines stay bytes so that only ASCII whitespace separates columns, as in the C programs that introduced these
    formats, and so that an id that occurs a million times is decoded once.
    """
    with opened(path) as file:
        for number, line in enumerate(limited_lines(path, file), 1):
            if number == 1:
                line = line.removeprefix(BOM)
            if not line.isascii():
                _check_utf8(path, number, line)
            yield number, line


def limited_lines(path: FilePath, file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Yield the lines of an open file; raise InputError at one longer than `MAX_LINE_BYTES`."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"{path}:{number}: a line may have at most {MAX_LINE_BYTES:,} bytes; this one is longer.")
        yield line


def _check_utf8(path: FilePath, number: int, line: bytes) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        bad = line[error.start]
        raise InputError(f"{path}:{number}: byte 0x{bad:02x} is not UTF-8; save the file as UTF-8.") from None


def shown(line: bytes) -> str:
    """Return a line for an error message: quoted, and truncated if it is long."""
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "...")


def is_float32(text: bytes) -> bool:
    """Return True if the text is a number that float32 can hold; ``1_000`` is not."""
    try:
        return b"_" not in text and abs(float(text)) <= FLOAT32_MAX
    except ValueError:
        return False


def unknown_item(location: str, item: bytes, known: dict[bytes, int]) -> InputError:
    """Return the error for an item that is not in the collection; it suggests the nearest."""
    message = str(UnknownNameError("item", item.decode(), map(bytes.decode, known)))
    return InputError(f"{location}: {message[0].lower()}{message[1:]}")


def check_field(kind: str, value: str) -> None:
    """Raise InputError if `value` cannot be a field of a text file with whitespace between columns."""
    check_type(str, **{kind: value})
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        raise InputError(f"The {kind} {value!r} cannot be written as UTF-8.") from None
    if raw.split() != [raw]:
        raise InputError(
            f"The {kind} {value!r} is empty or contains whitespace, the column separator; change it, or write an .npz "
            "file, which can hold any id."
        )
    if raw.startswith(BOM):
        raise InputError(f"The {kind} {value!r} starts with a byte-order mark, which readers drop; change it.")


def encoded_lines(path: FilePath, encoding: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file in any encoding as `numbered_lines` does."""
    with opened(path) as file, decoded(path, file, encoding, "\n") as text:
        try:
            for number, line in enumerate(limited_lines(path, text), 1):
                yield number, line.encode()
        except UnicodeError:
            raise wrong_encoding(path, encoding) from None


def json_lines(path: FilePath, encoding: str = "utf-8") -> Iterator[tuple[int, bytes, object]]:
    """Yield the number, text and JSON value of each line that is not blank; the value is None if it is not JSON."""
    for number, line in encoded_lines(path, encoding):
        if not line.strip():
            continue
        try:
            yield number, line, parse_json(line)
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
        except ValueError:
            yield number, line, None


def parse_json(text: str | bytes, parse_constant: Callable[[str], object] | None = None) -> object:
    """Return the value of a JSON text, in which no key is given twice and every whole number is also a float.

    Readers of JSON differ in which of two equal keys counts, and in whether they read larger numbers.
    """
    try:
        value: object = json.loads(text, object_pairs_hook=_object, parse_int=_whole, parse_constant=parse_constant)
    except RecursionError:
        raise InputError("it is nested too deeply.") from None
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InputError(f"The key {next(key for key in keys if keys.count(key) > 1)!r} is given twice; give it once.")
    return found


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise InputError(f"A whole number may have {MAX_DIGITS} digits; got {len(digits)}.")
    return int(digits)
