"""Options are the fields of a value, checked once against their annotations."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, Lt

from rankloom.errors import InputError
from rankloom.registry import Count, Fraction, Options, Registry, Share, options_of

if TYPE_CHECKING:
    from somewhere import Unknown

BOXES = Registry[type["Box"]]("box", group="rankloom.test_boxes")


@BOXES.register("box")
class Box(Options):
    side: Annotated[float, Gt(0)] = 1.0
    count: Count = 1
    lid: bool = False
    color: Literal["red", "blue"] = "red"
    label: str | None = None
    picture: Path | None = None
    share: Share = 0.5
    fraction: Fraction = 0.5
    layers: Annotated[int, Ge(0), Le(9)] = 0
    low: Annotated[float, Ge(0)] = 0.0
    half: Annotated[float, Ge(0), Lt(0.5)] = 0.0
    sizes: Sequence[float] | None = None
    either: Literal["auto"] | int = "auto"
    anything: Any = None
    unknown: "Unknown | None" = None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side": 0}, "side must be a finite number above 0; got 0."),
        ({"side": "x"}, "side of the box 'box' must be a finite number; got 'x'."),
        ({"side": float("inf")}, "side of the box 'box' must be a finite number; got inf."),
        ({"side": True}, "side of the box 'box' must be a finite number; got True."),
        ({"count": 0}, "count must be a whole number, at least 1; got 0."),
        ({"count": 1.5}, "count of the box 'box' must be a whole number; got 1.5."),
        ({"lid": 1}, "lid of the box 'box' must be yes or no; got 1."),
        ({"color": "rde"}, "Unknown value of color 'rde'; choose from blue, red. Did you mean 'red'?"),
        ({"color": 3}, "Unknown value of color 3; choose from blue, red."),
        ({"label": 20}, "label of the box 'box' must be text or none; got 20. Put it in quotes: label=\"20\"."),
        ({"picture": 7}, "picture of the box 'box' must be the path of a file; got 7. Put it in quotes"),
        ({"share": 2}, "share must be from 0 to 1; got 2."),
        ({"fraction": 1}, "fraction must be above 0 and below 1; got 1."),
        ({"layers": 10}, "layers must be at most 9; got 10."),
        ({"layers": -1}, "layers must be a whole number, at least 0; got -1."),
        ({"low": -1}, "low must be a finite number of at least 0; got -1."),
        ({"half": 0.5}, "half must be at least 0 and below 0.5; got 0.5."),
        ({"either": "none"}, "Unknown value of either 'none'; choose from auto."),
        ({"sied": 1}, "The box 'box' has no option 'sied'; it has side, count, lid, color"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_an_error(options, message):
    with pytest.raises(InputError) as caught:
        BOXES.make("box", **options)
    assert message in str(caught.value)


def test_values_that_options_take_are_kept():
    given = {"side": np.float32(2), "count": np.int64(3), "picture": "a.png", "either": 4, "anything": 5, "unknown": 6}
    box = Box(**given)
    assert {name: getattr(box, name) for name in given} == given
    assert type(box.count) is int
    assert Box(sizes=[1, 2]).sizes == (1, 2)


def test_a_value_spells_what_differs_from_the_defaults():
    box = Box(side=2, color="blue", label="a b", picture=Path("a.png"), sizes=[1, 0.5])
    assert str(box) == 'box(color=blue, label="a b", picture=a.png, side=2, sizes=[1, 0.5])'
    assert str(Box(side=1)) == str(Box()) == "box"
    assert BOXES.make(str(Box(side=2, sizes=[1, 0.5]))) == Box(side=2, sizes=(1, 0.5))
    assert pickle.loads(pickle.dumps(box)) == box  # noqa: S301 - our own


def test_a_derived_class_has_its_options_before_those_of_its_bases():
    class Crate(Box):
        weight: float
        side: float = 3.0

    assert list(options_of(Crate))[:3] == ["weight", "side", "count"]
    assert (Crate(weight=1, side=0).side, options_of(Crate)["side"].default) == (0, 3.0)
    registry = Registry[type[Crate]]("box", group="rankloom.test_boxes")
    registry.register("crate")(Crate)
    with pytest.raises(InputError, match=r"The box 'crate' needs the option 'weight': crate\(weight=...\)"):
        registry.make("crate")


def test_a_value_is_checked_once(monkeypatch):
    from rankloom.registry.options import Option

    calls = []
    original = Option.checked
    monkeypatch.setattr(Option, "checked", lambda self, *rest: calls.append(self.name) or original(self, *rest))
    BOXES.make("box(side=2, lid=yes)", count=3)
    assert sorted(calls) == ["count", "lid", "side"]
