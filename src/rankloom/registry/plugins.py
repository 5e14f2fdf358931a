"""Plug-in files, and which plug-in an error comes from."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from pathlib import Path
from sys import modules as loaded
from traceback import walk_tb

from rankloom.errors import InputError, RankloomError

_LOADING: ContextVar[str | None] = ContextVar("loading", default=None)  # the plug-in that is being loaded
_modules: dict[str, str] = {}  # module or package -> the plug-in it is from
_used: dict[str, None] = {}  # entries of plug-ins that were looked up


@contextmanager
def loading(name: str, module: str) -> Iterator[None]:
    """Note that the code of a module, and what is registered meanwhile, is from a plug-in."""
    _modules[module] = name
    token = _LOADING.set(name)
    try:
        yield
    finally:
        _LOADING.reset(token)


def source(entry: object) -> str | None:
    """Return the plug-in that registers an entry; None for one of ours, which a plug-in may be the first to import."""
    plugin = _LOADING.get()
    return plugin if plugin is not None and module_of(entry).partition(".")[0] != "rankloom" else None


def module_of(entry: object) -> str:
    """Return the module of a function or a class, or of the function that a value of ours wraps."""
    if is_dataclass(entry) and not isinstance(entry, type):
        entry = next(
            (part for part in (getattr(entry, field.name) for field in fields(entry)) if callable(part)), entry
        )
    return str(getattr(entry, "__module__", ""))


def note_use(entry: str) -> None:
    """Note that an entry of a plug-in was looked up."""
    _used[entry] = None


def forget_uses() -> None:
    """Forget which entries were looked up: a new command starts."""
    _used.clear()


def blame(error: BaseException) -> str | None:
    """Return a sentence about an error that comes from a plug-in, or probably does; None if no plug-in was used.

    Errors of ours and of the system explain themselves, and are from a plug-in only if its code raised them.
    """
    modules = [str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__)]
    found = [_modules[name] for module in modules for name in (module, module.partition(".")[0]) if name in _modules]
    if isinstance(error, RankloomError):
        return f"The plug-in {found[-1]}: {error}" if found else None
    if found:
        return f"The plug-in {found[-1]} failed: {described(error)}"
    if not _used or isinstance(error, OSError) or not isinstance(error, Exception):
        return None
    return f"This failed, probably because of {' or '.join(_used)}: {described(error)}"


def described(error: BaseException) -> str:
    """Return the type of any error and its message, even if its `str` fails."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else f"{type(error).__name__}."


def load_plugin(path: str | Path) -> None:
    """Run a Python file that registers methods, rankers, measures or other plug-ins.

    The file runs with the permissions of this process: load only files that you trust. A file runs only once.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise InputError(f"There is no plug-in file {path}; give the path of a Python file.")
    if file.suffix != ".py":
        raise InputError(f"A plug-in must be a Python file (.py); got {path}.")
    name = f"rankloom_plugin_{file.stem}_{zlib.crc32(str(file).encode()):08x}"
    spec = spec_from_file_location(name, file)
    if name in loaded or spec is None or spec.loader is None:
        return
    loaded[name] = module = module_from_spec(spec)
    try:
        with loading(str(path), name):
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the plug-in may raise anything, and exit
        del loaded[name]
        raise InputError(f"The plug-in {path} failed: {described(error)}") from error
