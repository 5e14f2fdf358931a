"""Registries of named entries, to which plug-ins add theirs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rankloom.errors import InputError, RankloomWarning, UnknownNameError, brief
from rankloom.registry.plugins import described, loading, note_use, source
from rankloom.registry.spelling import Call

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from inspect import Parameter

T = TypeVar("T")
U = TypeVar("U")


class Registry(Mapping[str, T], Generic[T]):
    """Named entries of one kind; plug-ins register through the entry-point group `group`.

    A callable entry is a factory: `make` calls it with the options of a spelling such as ``rrf(constant=20)``.
    Plug-ins are loaded on the first lookup. A plug-in that fails to load, or whose name is taken, is skipped with a
    warning, so that it does not affect the others.

    Examples
    --------
    >>> boxes = Registry[Callable[..., int]]("box", group="rankloom.boxes")
    >>> _ = boxes.register("cube")(lambda *, side=1: side**3)
    >>> boxes.make("cube(side=2)"), boxes.make("cube", side=3)
    (8, 27)
    >>> boxes.make("cube(size=2)")
    Traceback (most recent call last):
    rankloom.errors.InputError: The box 'cube' has no option 'size'; it has side. Did you mean 'side'?
    >>> boxes["cub"]
    Traceback (most recent call last):
    rankloom.errors.UnknownNameError: Unknown box 'cub'; choose from cube. Did you mean 'cube'?
    """

    def __init__(self, kind: str, *, group: str, entries: Any = object) -> None:
        self.kind = kind
        self.group = group
        self._entries = entries
        self._known: dict[str, T] = {}
        self._sources: dict[str, str] = {}  # entry -> the plug-in it is from
        self._plugins_loaded = False
        self._lock = RLock()

    def register(self, name: str) -> Callable[[U], U]:
        """Return a decorator that registers its argument as `name`."""

        def add(entry: U) -> U:
            if name in self._known:
                raise InputError(f"The {self.kind} {name!r} is registered twice; choose another name for one of them.")
            if not isinstance(entry, self._entries):
                wanted = self._entries.__name__
                raise InputError(f"The {self.kind} {name!r} must be a {wanted}; got {type(entry).__name__}.")
            plugin = source()
            if plugin is not None:
                self._sources[name] = plugin
            self._known[name] = entry
            return entry

        return add

    def make(self, spelled: str | Call, **options: Any) -> Any:
        """Call the entry that a spelling names with its options, and return the result.

        Parameters
        ----------
        spelled : str or Call
            A name, or a name with options as in ``rrf(constant=20)``.
        **options
            Further options; they override those of the spelling.

        Raises
        ------
        InputError
            If a name or an option does not exist, a required option is missing, or a value does not have the type
            that the option is annotated with (bool, int, float, str, a path, or None).
        """
        call = self.checked(spelled, **options)
        factory: Any = self[call.name]
        return factory(**dict(call.options), **options)

    def checked(self, spelled: str | Call, **options: Any) -> Call:
        """Return the call that a spelling describes, with its options checked but without calling it."""
        call = Call.given(spelled, self.kind)
        remaining = Call(call.name, tuple(pair for pair in call.options if pair[0] not in options))
        _check_options(self.kind, call.name, self[call.name], {**dict(remaining.options), **options})
        return remaining

    def _all(self) -> dict[str, T]:
        with self._lock:  # a second thread waits for the plug-ins
            if self._plugins_loaded:
                return self._known
            self._plugins_loaded = True
            from importlib.metadata import entry_points  # slow to import

            for point in entry_points(group=self.group):
                self._load(point)
        return self._known

    def _load(self, point: EntryPoint) -> None:
        name = f"{point.name!r} ({point.value})"
        try:
            with loading(name, point.module.partition(".")[0]):
                self.register(point.name)(point.load())
            self._sources[point.name] = name
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the plug-in may raise anything, and exit
            warnings.warn(f"Skipped the plug-in {name}: {described(error)}", RankloomWarning, stacklevel=4)

    def __getitem__(self, name: str) -> T:
        known = self._all()
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError(self.kind, name, known)
        if name in self._sources:
            note_use(f"the {self.kind} {name!r} of the plug-in {self._sources[name]}")
        return known[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self)})"

    def __len__(self) -> int:
        return len(self._all())


def _check_options(kind: str, name: str, factory: Any, options: Mapping[str, Any]) -> None:
    import inspect

    known = inspect.signature(factory).parameters
    for option in options:
        if option not in known:
            hint = str(UnknownNameError("option", option, known)).partition(".")[2]
            has = ", ".join(known) or "none"
            raise InputError(f"The {kind} {name!r} has no option {option!r}; it has {has}.{hint}")
    missing = [key for key, parameter in known.items() if parameter.default is parameter.empty and key not in options]
    if missing:
        raise InputError(f"The {kind} {name!r} needs the option {missing[0]!r}: {name}({missing[0]}=...).")
    files = file_options(factory)
    for option, value in options.items():
        wanted = FILE if option in files else _annotation(known[option])
        if not _fits(value, wanted):
            expected = " or ".join(TYPE_NAMES.get(one, one) for one in wanted.split(" | "))
            unquoted = type(value) in (int, float) and (wanted == FILE or "str" in wanted)
            advice = f' Put it in quotes: {option}="{value}".' if unquoted else ""
            raise InputError(f"{option} of the {kind} {name!r} must be {expected}; got {brief(value)}.{advice}")


FILE = "the path of a file"
#: The types of options in error messages.
TYPE_NAMES = {"bool": "yes or no", "int": "a whole number", "float": "a finite number", "str": "text", "None": "none"}


def _annotation(parameter: Parameter) -> str:
    import inspect

    given = parameter.annotation
    if given is parameter.empty:
        return ""
    return given if isinstance(given, str) else inspect.formatannotation(given)


def _fits(value: Any, wanted: str) -> bool:
    """Return True if a value has an annotated type; types not in `TYPE_NAMES` are left to the factory."""
    if wanted == FILE:
        return not isinstance(value, bool | int | float | list | tuple)
    kinds = wanted.split(" | ")
    if not TYPE_NAMES.keys() >= set(kinds):
        return True
    if value is None or isinstance(value, bool | str):
        return {bool: "bool", str: "str"}.get(type(value), "None") in kinds
    if isinstance(value, Integral):
        return "int" in kinds or "float" in kinds
    return isinstance(value, Real) and "float" in kinds and math.isfinite(value)


def file_options(factory: Callable[..., Any]) -> list[str]:
    """Return the options that are annotated as a path.

    Examples
    --------
    >>> def table(path: Path, column: str = "text", labels: Path | None = None): ...
    >>> file_options(table)
    ['path', 'labels']
    """
    import inspect

    known = inspect.signature(factory).parameters
    return [name for name, parameter in known.items() if "Path" in _annotation(parameter)]
