"""Winning numbers, which summarize many tables, and gains in percent."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from rankloom.errors import InputError, brief

Key = TypeVar("Key", bound=Hashable)


def winning_numbers(table: Mapping[Key, Mapping[str, float]]) -> dict[str, int]:
    r"""Count how many other methods each method beats, over all configurations.

    .. math:: W_m = \sum_{d} \sum_{c} \sum_{i} [P_m(d, c) > P_i(d, c)]

    Parameters
    ----------
    table : {configuration: {method: value}}
        A configuration is a collection and a set of rankers, under any key; higher values are better. Ties count for
        neither method. A method missing from a configuration neither wins nor loses there.

    Returns
    -------
    dict
        From method to winning number, highest first, then by name.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (10) and (11), doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    >>> winning_numbers({"digits": {"fg": 0.98, "rrf": 0.97, "borda": 0.97}, "soccer": {"fg": 0.6, "rrf": 0.7}})
    {'fg': 2, 'rrf': 1, 'borda': 0}
    """
    wins: dict[str, int] = {}
    for configuration, values in table.items():
        _check(configuration, values)
        for method, value in values.items():
            wins[method] = wins.get(method, 0) + sum(value > other for other in values.values())
    return dict(sorted(wins.items(), key=lambda pair: (-pair[1], pair[0])))


def gain(ours: float, theirs: float) -> float:
    """Return how much higher ours is than theirs, in percent.

    Examples
    --------
    >>> gain(3.0, 2.0)
    50.0
    """
    if not theirs > 0:
        raise InputError(f"A gain needs a baseline above 0; got {brief(theirs)}.")
    return 100 * (ours - theirs) / theirs


def _check(configuration: Hashable, values: Mapping[str, float]) -> None:
    undefined = next((method for method, value in values.items() if value != value), None)  # NaN
    if undefined is not None:
        raise InputError(f"The value of {undefined!r} in {configuration!r} is NaN; leave the method out there.")
