"""A file for each finished step of an experiment, so that an interrupted experiment resumes."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rankloom.errors import InputError, RankloomError
from rankloom.experiment.results import TIMED, Record, from_json, to_json
from rankloom.experiment.spec import digest
from rankloom.io.atomic_file import TEMPORARY, atomic_write, make_folder
from rankloom.io.version import __version__
from rankloom.threads import report, running

R = TypeVar("R", bound=Record)

FOLDER = "steps"
STEP = re.compile(r"[0-9a-f]{32}\.json")
#: What else a results folder may contain before the first step is finished.
KNOWN = {FOLDER, "experiment.toml", "results.jsonl"}


class StepError(InputError):
    """A step failed; the others can still run."""


@dataclass(slots=True)
class StepCache:
    """Records of finished steps on disk, each under a digest of its inputs."""

    folder: Path
    environment: str  #: machine, threads and versions of this run; stored with timed records
    stage: str = ""
    total: int = 0
    done: int = 0

    def start_stage(self, name: str, total: int) -> None:
        """Start a stage of `total` steps."""
        self.stage, self.total, self.done = name, total, 0

    def get(self, key: object, compute: Callable[[], R]) -> R:
        """Return the record stored under `key`, or compute and store it; raise StepError if that fails."""
        path = self.folder / f"{digest([__version__, key])}.json"
        record = self._read(path)
        if record is None:
            record = self._computed(compute)
            with atomic_write(path) as file:
                json.dump(to_json(record), file, ensure_ascii=False)
        self.advance()
        return record  # type: ignore[return-value]  # the kind is part of the key

    def _computed(self, compute: Callable[[], R]) -> Record:
        try:
            with running(progress=lambda stage, done, total: None):  # only whole steps are reported
                record = compute()
        except RankloomError as error:
            raise StepError(str(error)) from error
        return replace(record, made=self.environment) if isinstance(record, TIMED) else record

    def advance(self) -> None:
        """Report one more step as done."""
        self.done += 1
        report(self.stage, self.done, self.total)

    def _read(self, path: Path) -> Record | None:
        if not path.is_file():
            return None
        try:
            return from_json(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, OSError, RecursionError):  # damaged: compute it again
            return None


def make_steps_folder(folder: Path) -> Path:
    """Create the results folder, unless it contains files that are not of an experiment, and the one of steps in it."""
    if not _is_usable(folder):
        raise InputError(f"{folder} contains files that are not of an experiment; choose a new folder.")
    return make_folder(folder / FOLDER)


def _is_usable(folder: Path) -> bool:
    """Return True if a folder is empty or contains the steps of an experiment."""
    names, steps = _names(folder), _names(folder / FOLDER)
    if not names:
        return True
    if not (folder / FOLDER).is_dir() or not all(map(STEP.fullmatch, steps)):
        return False
    return bool(steps) or names <= KNOWN


def _names(folder: Path) -> set[str]:
    try:
        found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read the folder {folder}: {getattr(error, 'strerror', None) or error}.") from None
    return {name for name in found if not TEMPORARY.fullmatch(name)}
