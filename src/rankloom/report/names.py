"""Names for people: what a report shows beside the names that specifications use."""

from rankloom.aggregate import METHODS
from rankloom.errors import InputError
from rankloom.evaluation import MEASURES, Measure
from rankloom.evaluation.selection import Selection
from rankloom.experiment.spec import SWEEP, TUNED, Experiment
from rankloom.registry import Call
from rankloom.registry.docstrings import summary

HOW: dict[object, str] = {SWEEP: "best of sweep", TUNED: "tuned"}  # a number of neighbors was chosen
COUNTS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def selection_name(spelled: str) -> str:
    """Return a selection in words.

    Examples
    --------
    >>> [selection_name(spelled) for spelled in ("all", "best(2)", "pair", "pair(authority)", "only(bic, gch)")]
    ['all rankers', 'best two', 'balanced pair', 'balanced pair by authority', 'bic + gch']
    """
    try:
        selection = Selection.parse(spelled)
    except InputError:  # of a plug-in that is not loaded
        return spelled
    if selection.names:
        return " + ".join(selection.names)
    count = COUNTS[selection.count] if selection.count and selection.count < len(COUNTS) else selection.count
    name = {"all": "all rankers", "best": f"best {count}", "pair": "balanced pair"}.get(selection.kind, spelled)
    return name if selection.estimate is None else f"{name} by {selection.estimate}"


def method_name(spelled: str) -> str:
    """Return the name of a method in the literature; empty if it is unknown or only a matter of spelling.

    Examples
    --------
    >>> method_name("fg"), method_name("rkgraph(neighbors=5)"), method_name("weft")
    ('Fusion graphs', 'RkGraph', '')
    """
    try:
        name = Call.parse(spelled).name
        title = summary(METHODS[name]).rstrip(".").partition(":")[0]
    except InputError:  # a ranker, or the method of a plug-in that is not loaded
        return ""
    return "" if title.casefold() == spelled.casefold() else title


def display_names(experiment: Experiment) -> dict[str, str]:
    """Return what tables call methods, by spelling: the names of the specification, and of a sweep how it was chosen.

    Examples
    --------
    >>> methods = ["fg", "sca(neighbors=sweep)"]
    >>> spec = {"name": "x", "collection": "soccer", "rankers": ["bic"], "methods": methods, "names": {"fg": "FG"}}
    >>> display_names(Experiment.from_dict(spec))
    {'sca(neighbors=sweep)': 'sca (best of sweep)', 'fg': 'FG'}
    """
    found: dict[str, str] = {}
    for call in experiment.methods:
        how = HOW.get(dict(call.options).get("neighbors"))
        rest = {name: value for name, value in call.options if name != "neighbors"}
        found |= {str(call): f"{Call.of(call.name, rest)} ({how})"} if how else {}
    return found | dict(experiment.names)


def measure_meaning(measure: Measure) -> str:
    """Return what a measure is, in a phrase.

    Examples
    --------
    >>> measure_meaning(Measure.parse("p@10"))
    'p@10: relevant items among the first k, divided by k (even if the list is shorter), with k = 10'
    """
    phrase = summary(MEASURES[measure.name].compute).rstrip(".")
    lowered = phrase if phrase[:2].isupper() else phrase[0].lower() + phrase[1:]
    if measure.cutoff is None or MEASURES[measure.name].cutoff == "recall":
        return f"{measure}: {lowered}"
    cut = f"with k = {measure.cutoff}" if " k" in lowered else f"of the first {measure.cutoff} items"
    return f"{measure}: {lowered}, {cut}"
