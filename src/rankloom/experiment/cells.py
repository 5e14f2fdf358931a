"""The steps of an experiment, each done once and kept: an experiment that was stopped goes on where it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rankloom.errors import InputError, RankloomError
from rankloom.experiment.results import TIMED, Record, from_json, to_json
from rankloom.experiment.spec import digest
from rankloom.io.atomic import atomic_write, make_folder
from rankloom.version import __version__

R = TypeVar("R", bound=Record)

CELL = re.compile(r"[0-9a-f]{32}\.json")
ASIDE = re.compile(r"\.rankloom-[0-9a-f]+\.tmp")  # what a process that was killed leaves of a file
#: What else there may be in a folder whose first step is not done yet.
OURS = {"cells", "experiment.toml", "results.jsonl"}


class StepError(InputError):
    """A step that could not be done; the others can."""


@dataclass(slots=True)
class Cells:
    """A folder with a file for each step done, named by what went into it.

    Attributes
    ----------
    folder : Path
    made : str
        By what and where a step is done now; kept with those that are timed.
    progress : callable
    """

    folder: Path
    made: str
    progress: Callable[[str, int, int], None]
    name: str = ""
    total: int = 0
    done: int = 0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many steps."""
        self.name, self.total, self.done = name, total, 0

    def get(self, ingredients: Any, make: Callable[[], R]) -> R:
        """Return the record of a step: read where it was done before with the same ingredients, else made now.

        Raises
        ------
        StepError
            Where it can't be made.
        """
        path = self.folder / f"{digest([__version__, ingredients])}.json"
        record = self._read(path)
        if record is None:
            record = self._made(make)
            with atomic_write(path) as file:
                json.dump(to_json(record), file, ensure_ascii=False)
        self.step()
        return record  # type: ignore[return-value]  # the kind is part of the ingredients

    def _made(self, make: Callable[[], R]) -> Record:
        try:
            record = make()
        except RankloomError as error:
            raise StepError(str(error)) from error
        return replace(record, made=self.made) if isinstance(record, TIMED) else record

    def step(self) -> None:
        """Count a step."""
        self.done += 1
        self.progress(self.name, self.done, self.total)

    def _read(self, path: Path) -> Record | None:
        if not path.is_file():
            return None
        try:
            return from_json(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, OSError, RecursionError):  # damaged: made again
            return None


def cells_folder(folder: Path) -> Path:
    """Make the folder of results and that of the steps in it.

    Raises
    ------
    InputError
        Where it can't be made, or is a folder of something else.
    """
    if not _ours(folder):
        raise InputError(f"{folder} has files in it that are not of an experiment; choose a new folder.")
    return make_folder(folder / "cells")


def _ours(folder: Path) -> bool:
    """Tell whether a folder is empty, or one that an experiment began to fill: its steps are its mark."""
    inside, cells = _names(folder), _names(folder / "cells")
    if not inside:
        return True
    if not (folder / "cells").is_dir() or not all(map(CELL.fullmatch, cells)):
        return False
    return bool(cells) or inside <= OURS


def _names(folder: Path) -> set[str]:
    try:
        found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read the folder {folder}: {getattr(error, 'strerror', None) or error}.") from None
    return {name for name in found if not ASIDE.fullmatch(name)}
