"""Names and what they stand for, with 'did you mean' and entry points for plug-ins."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rankloom.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from inspect import Parameter

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Known things of one kind by name; plug-ins join through the entry-point group `group`.

    Plug-ins are loaded when a name is first looked up. One that cannot be loaded, or that takes a name which is
    known already, is left out with a warning: it must not stop the others.

    Examples
    --------
    >>> shapes = Registry[int]("shape", group="rankloom.shapes")
    >>> _ = shapes.register("square")(4)
    >>> shapes["square"]
    4
    >>> shapes["sqare"]
    Traceback (most recent call last):
    rankloom.errors.UnknownNameError: Unknown shape 'sqare'; choose from square. Did you mean 'square'?
    """

    def __init__(self, kind: str, *, group: str) -> None:
        self.kind = kind
        self.group = group
        self._known: dict[str, T] = {}
        self._plugins_loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Give `name` to the thing decorated."""

        def add(thing: T) -> T:
            if name in self._known:
                raise InputError(f"The {self.kind} {name!r} is registered twice; give the second another name.")
            self._known[name] = thing
            return thing

        return add

    def _all(self) -> dict[str, T]:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            from importlib.metadata import entry_points  # slow to import, and seldom needed

            for point in entry_points(group=self.group):
                self._load(point)
        return self._known

    def _load(self, point: "EntryPoint") -> None:
        try:
            self.register(point.name)(point.load())
        except Exception as error:  # whatever the plug-in's own code raises
            warnings.warn(f"The plug-in {point.name!r} ({point.value}) is left out: {error}", stacklevel=4)

    def __getitem__(self, name: str) -> T:
        known = self._all()
        if name not in known:
            raise UnknownNameError(self.kind, name, known)
        return known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self)})"

    def __len__(self) -> int:
        return len(self._all())


def make(makers: Registry[Callable[..., T]], name: str, options: Mapping[str, Any]) -> T:
    """Return what the maker of that name makes with these options; one that it does not have is an `InputError`.

    So is a value that is not of the type the option is annotated with: bool, int, float, str or a path, or None.

    Examples
    --------
    >>> boxes = Registry[Callable[..., int]]("box", group="rankloom.boxes")
    >>> _ = boxes.register("cube")(lambda *, side=1: side**3)
    >>> make(boxes, "cube", {"side": 2})
    8
    >>> make(boxes, "cube", {"size": 2})
    Traceback (most recent call last):
    rankloom.errors.InputError: The box 'cube' has no option 'size'; it has side. Did you mean 'side'?
    """
    import inspect

    maker = makers[name]
    known = inspect.signature(maker).parameters
    for option in options:
        if option not in known:
            hint = str(UnknownNameError("option", option, known)).partition(".")[2]
            has = ", ".join(known) or "none"
            raise InputError(f"The {makers.kind} {name!r} has no option {option!r}; it has {has}.{hint}")
    missing = [key for key, one in known.items() if one.default is one.empty and key not in options]
    if missing:
        raise InputError(f"The {makers.kind} {name!r} needs the option {missing[0]!r}: {name}({missing[0]}=...).")
    files = file_options(maker)
    for option, value in options.items():
        wanted = "the name of a file" if option in files else _annotation(known[option])
        if not _fits(value, wanted):
            asked = " or ".join(WANTED.get(one, one) for one in wanted.split(" | "))
            quoted = type(value) in (int, float) and ("file" in wanted or "str" in wanted)
            advice = f' Put it in quotes: {option}="{value}".' if quoted else ""
            raise InputError(f"{option} of the {makers.kind} {name!r} must be {asked}; got {value!r}.{advice}")
    return maker(**options)


#: How a type that an option is annotated with is called in a message.
WANTED = {"bool": "yes or no", "int": "a whole number", "float": "a finite number", "str": "a text", "None": "none"}


def _annotation(parameter: "Parameter") -> str:
    import inspect

    given = parameter.annotation
    if given is parameter.empty:
        return ""
    return given if isinstance(given, str) else inspect.formatannotation(given)


def _fits(value: Any, wanted: str) -> bool:
    """Tell whether a value is of an annotated type; types other than those of `WANTED` are the maker's own to check."""
    if wanted == "the name of a file":
        return not isinstance(value, bool | int | float | list | tuple)
    kinds = wanted.split(" | ")
    if not WANTED.keys() >= set(kinds):
        return True
    if value is None or isinstance(value, bool | str):
        return {bool: "bool", str: "str"}.get(type(value), "None") in kinds
    if isinstance(value, Integral):
        return "int" in kinds or "float" in kinds
    return isinstance(value, Real) and "float" in kinds and math.isfinite(value)


def file_options(maker: Callable[..., Any]) -> list[str]:
    """Return the options of a maker that name a file or a folder: those annotated as a path.

    Examples
    --------
    >>> from pathlib import Path
    >>> def table(path: Path, column: str = "text", labels: Path | None = None): ...
    >>> file_options(table)
    ['path', 'labels']
    """
    import inspect

    known = inspect.signature(maker).parameters
    return [name for name, one in known.items() if "Path" in _annotation(one)]
