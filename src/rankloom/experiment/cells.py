"""The steps of an experiment, each done once and kept: an experiment that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rankloom.errors import InputError
from rankloom.experiment.results import Record, from_json, to_json
from rankloom.experiment.spec import digest
from rankloom.io.aside import written_aside
from rankloom.version import __version__

R = TypeVar("R", bound=Record)


@dataclass(slots=True)
class Cells:
    """A folder with a file for each step done, named by what went into it.

    Attributes
    ----------
    folder : Path
    total : int
        How many steps there are.
    progress : callable
    """

    folder: Path
    total: int
    progress: Callable[[str, int, int], None]
    done: int = 0
    found: int = 0

    def get(self, ingredients: Any, make: Callable[[], R]) -> R:
        """Return the record of a step: read where it was done before with the same ingredients, else made now."""
        path = self.folder / f"{digest([__version__, ingredients])}.json"
        record = self._read(path)
        if record is None:
            record = make()
            with written_aside(path) as file:
                json.dump(to_json(record), file, ensure_ascii=False)
        self.done += 1
        self.progress("Experiment", self.done, self.total)
        return record  # type: ignore[return-value]  # the kind is part of the ingredients

    def _read(self, path: Path) -> Record | None:
        if not path.is_file():
            return None
        try:
            record = from_json(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError):  # damaged: made again
            return None
        self.found += 1
        return record


def cells_folder(folder: Path) -> Path:
    """Make the folder of results and that of the steps in it.

    Raises
    ------
    InputError
        Where it can't be made, or is a folder of something else.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "experiment.toml").is_file():
        raise InputError(f"{folder} has files in it that are not of an experiment; choose a new folder.")
    try:
        (folder / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {folder}: {error.strerror}.") from None
    return folder / "cells"
