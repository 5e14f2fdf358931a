"""What a command writes: checked against its inputs, and said when the command is interrupted."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from rankloom.errors import InputError, RankloomError
from rankloom.io import check_target, format_of
from rankloom.io.text_file import numbered_lines
from rankloom.registry import Call

#: A note of `writes` on an output of several files.
INCOMPLETE = "{path} may be incomplete; run the command again"

_outputs: list[tuple[Path, object, str]] = []  # of the running command: what it writes, its state before, a note


def writes(path: Path, note: str = "{path} is written") -> None:
    """Note what the command writes, and what to say if it is interrupted and this has changed."""
    _outputs.append((path, _state(path), note.format(path=path)))


def stopped() -> str:
    """Return what to say when the command is interrupted: what is written."""
    changed = (note for path, before, note in _outputs if _state(path) != before)
    return f"Stopped; {next(changed, 'nothing written')}."


def _state(path: Path) -> object:
    """Return what changes if a file, or a file in a folder, is written."""
    try:
        if not path.is_dir():
            return path.stat().st_ino, path.stat().st_mtime_ns
        return {file.name: _state(file) if file.is_file() else file.stat().st_mtime_ns for file in path.glob("[!.]*")}
    except OSError:
        return None


def forget() -> None:
    """Forget what was written: a new command starts."""
    _outputs.clear()


def check_output(output: Path, *inputs: object) -> None:
    """Raise InputError if an output is also an input, by any path or link, or is inside one that rankloom wrote.

    Inputs are paths, also as NAME=FILE or among the options of a spelling; what is not the path of a file is ignored.
    """
    target = Path(os.path.realpath(output))  # x/../file is written to even if there is no folder x
    for path in _paths(inputs):
        same = target.exists() and path.exists() and target.samefile(path)
        if same or _is_written_inside(output, path) or _is_written_inside(path, output):
            raise InputError(f"The input {path} would be overwritten; write to another path than {output}.")


def check_file(output: Path, kind: str, *inputs: object) -> None:
    """Check a file of one of `KINDS` to write, as `check_output` does; a file of another kind is not replaced."""
    check_target(output)
    check_output(output, *inputs)
    check_kind(output, kind)
    writes(output)


def check_kind(output: Path, kind: str) -> None:
    """Raise InputError if there is a file of another kind, such as a document; an empty one may be replaced."""
    if output.is_file() and output.stat().st_size and not KINDS[kind](output):
        raise InputError(f"{output} exists and is not {kind}; write to another path, or remove it first.")


def _is_run(path: Path) -> bool:
    """Return True if a file starts like a run in the format of its name."""
    if format_of(path) == "npz":
        return _starts_with(b"PK", path)
    with suppress(RankloomError, ValueError):
        _, _, _, rank, score, _ = next(columns for _, line in numbered_lines(path) if (columns := line.split()))
        return rank.isdigit() and float(score) == float(score)
    return False


def _starts_with(start: bytes, path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(start)) == start


#: How to tell whether an existing file is of the kind that a command writes.
KINDS: dict[str, Callable[[Path], bool]] = {
    "a run": _is_run,
    "an SVG file": partial(_starts_with, b"<svg"),
    "a page": partial(_starts_with, b"<!DOCTYPE"),
}


def _paths(given: object) -> Iterator[Path]:
    """Yield the existing files and folders that arguments name."""
    if isinstance(given, list | tuple):
        for part in given:
            yield from _paths(part)
    elif isinstance(given, str | Path):
        _, _, named = str(given).partition("=")
        for text in (str(given), named):
            with suppress(RankloomError):  # the spelling of a ranker or a collection may name files in its options
                yield from _paths([value for _, value in Call.parse(text).options if isinstance(value, str)])
            if text and os.path.lexists(text):
                yield Path(text)


def _is_written_inside(path: Path, folder: Path) -> bool:
    """Return True if a path leads into a folder written by rankloom, which is replaced or read as a whole."""
    return kind_of_folder(folder) is not None and folder.resolve() in path.resolve().parents


def kind_of_folder(path: Path) -> str | None:
    """Return what a folder written by rankloom is, from its meta.json; None if it is something else."""
    try:
        kind = json.loads((path / "meta.json").read_bytes()).get("kind")
    except (OSError, ValueError, AttributeError):
        return None
    return kind if isinstance(kind, str) else None
