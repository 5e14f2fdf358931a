"""Registries of named entries, to which plug-ins add theirs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from rankloom.errors import InputError, RankloomWarning, UnknownNameError
from rankloom.registry.options import Option, Options, check_names, options_of
from rankloom.registry.plugins import described, loading, module_of, note_use, source
from rankloom.registry.spelling import Call

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
U = TypeVar("U")


class Registry(Mapping[str, T], Generic[T]):
    """Named entries of one kind; plug-ins register theirs, through the entry-point group `group` if there is one.

    An entry that is a class of `Options`, or a function, is a factory: `make` calls it with the options of a spelling
    such as ``rrf(constant=20)``. `adapt` turns what is registered into an entry, or raises InputError.
    Importing the module `home`, if there is one, registers our own entries; it and plug-ins are loaded on the first
    lookup. A plug-in that fails to load, or whose name is taken, is skipped with a warning, so that it does not affect
    the others.

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

    def __init__(
        self,
        kind: str,
        *,
        group: str | None = None,
        home: str | None = None,
        entries: Any = object,
        adapt: Callable[[Any], object] | None = None,
    ) -> None:
        self.kind = kind
        self.group = group
        self._home = home
        self._entries = entries
        self._adapt = adapt
        self._known: dict[str, T] = {}
        self._sources: dict[str, str] = {}  # entry -> the plug-in it is from
        self._plugins_loaded = False
        self._lock = RLock()

    def register(self, name: str) -> Callable[[U], U]:
        """Return a decorator that registers its argument as `name`."""

        def add(given: U) -> U:
            if module_of(given).partition(".")[0] != "rankloom":
                self._load_own()  # a plug-in cannot take their names
            if name in self._known:
                raise InputError(f"The {self.kind} {name!r} is registered twice; choose another name for one of them.")
            entry: Any = given if self._adapt is None else self._adapt(given)
            if not isinstance(entry, self._entries):
                wanted = self._entries.__name__
                raise InputError(f"The {self.kind} {name!r} must be a {wanted}; got {type(entry).__name__}.")
            if isinstance(entry, type) and issubclass(entry, Options):
                entry.entry_name, entry.entry_kind = name, self.kind
            plugin = source(given)
            if plugin is not None:
                self._sources[name] = plugin
            self._known[name] = entry
            return given

        return add

    def options(self, name: str) -> dict[str, Option]:
        """Return the options of an entry by name."""
        return options_of(cast("Callable[..., object]", self[name]))

    def make(self, spelled: str | Call | Options, **options: Any) -> Any:
        """Call the entry that a spelling names with its options, and return the result.

        Parameters
        ----------
        spelled : str, Call or Options
            A name, or a name with options as in ``rrf(constant=20)``; a value is returned as it is.
        **options
            Further options, which override those of the spelling; all are checked against their annotations.
        """
        if isinstance(spelled, Options) and spelled.entry_kind == self.kind:
            if options:
                raise InputError(f"The {self.kind} {spelled} has its options already; leave out {', '.join(options)}.")
            return spelled
        call = Call.given(spelled, self.kind)
        factory: Any = self[call.name]
        given = {**dict(call.options), **options}
        known = options_of(factory)
        check_names(self.kind, call.name, known, given)
        if isinstance(factory, type) and issubclass(factory, Options):  # checks its values itself
            return factory(**given)
        return factory(**{name: known[name].checked(value, self.kind, call.name) for name, value in given.items()})

    def check(self, call: Call) -> None:
        """Raise InputError if an option of a call is not valid."""
        known, given = self.options(call.name), dict(call.options)
        check_names(self.kind, call.name, known, given)
        for name, value in given.items():
            known[name].checked(value, self.kind, call.name)

    def _all(self) -> dict[str, T]:
        with self._lock:  # a second thread waits for the plug-ins
            if self._plugins_loaded:
                return self._known
            self._plugins_loaded = True
            self._load_own()
            if self.group is not None:
                from importlib.metadata import entry_points  # slow to import

                for point in entry_points(group=self.group):
                    self._load(point)
        return self._known

    def _load_own(self) -> None:
        if self._home is not None:
            import_module(self._home)

    def _load(self, point: EntryPoint) -> None:
        name = f"{point.name!r} ({point.value})"
        try:
            with loading(name, point.module.partition(".")[0]):
                entry = point.load()
                if not self._is_from(point.name, point.module, module_of(entry)):
                    self.register(point.name)(entry)
            self._sources[point.name] = name
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the plug-in may raise anything, and exit
            warnings.warn(f"Skipped the plug-in {name}: {described(error)}", RankloomWarning, stacklevel=4)

    def _is_from(self, name: str, *modules: str) -> bool:
        """Return True if an entry is from one of these modules: it was registered when the module was imported."""
        own = module_of(self._known.get(name))
        return own != "" and own in modules

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
