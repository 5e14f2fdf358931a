"""One number for many tables: winning numbers, and gains in percent."""

from collections.abc import Hashable, Mapping

from rankloom.errors import InputError


def winning_numbers(table: Mapping[Hashable, Mapping[str, float]]) -> dict[str, int]:
    r"""Count, for each method, how many others it beats in all configurations together.

    .. math:: W_m = \sum_{d} \sum_{c} \sum_{i} [P_m(d, c) > P_i(d, c)]

    Parameters
    ----------
    table : {configuration: {method: value}}
        A configuration is a collection and what was fused, however it is named; higher values are better. Equal
        values beat nobody. A method that a configuration has not wins and loses nothing there.

    Returns
    -------
    dict
        Method -> winning number, highest first, then by name.

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
    return dict(sorted(wins.items(), key=lambda entry: (-entry[1], entry[0])))


def gain(ours: float, theirs: float) -> float:
    """Return by how many percent ours is above theirs.

    Examples
    --------
    >>> gain(3.0, 2.0)
    50.0
    """
    if not theirs > 0:
        raise InputError(f"A gain is over a value above 0; got {theirs!r}.")
    return 100 * (ours - theirs) / theirs


def _check(configuration: Hashable, values: Mapping[str, float]) -> None:
    odd = next((method for method, value in values.items() if value != value), None)  # NaN alone differs from itself
    if odd is not None:
        raise InputError(f"The value of {odd!r} in {configuration!r} is NaN; leave the method out there.")
