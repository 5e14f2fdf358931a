"""Wrong options of the methods that need the lists of all items raise in a sentence."""

import pytest

import rankloom as rl
from rankloom.errors import InputError

ONCE = ("corgraph", "bfstree", "recknngraph", "rlrecom")  # methods without iterations
REPEATED = ("rkgraph", "recknngraphccs", "rfe", "cprr", "lhrr", "rdpac", "rlsim_udl", "contextrr")
A = rl.Ranks([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        *((name, {"neighbors": 0}, "neighbors must be a whole number, at least ") for name in ONCE + REPEATED),
        *((name, {"depth": 1.5}, f"depth of the method {name!r} must be a whole number") for name in ONCE + REPEATED),
        *((name, {"iterations": 0}, "iterations must be a whole number") for name in REPEATED),
        ("rkgraph", {"persistence": 1}, "persistence must be above 0 and below 1; got 1."),
        ("rkgraph", {"pool": "lst"}, "Unknown value of pool 'lst'; choose from last, union. Did you mean 'last'?"),
        ("corgraph", {"start": 1.0}, "start must be above 0 and below 1; got 1.0."),
        ("corgraph", {"step": 0}, "step must be a finite number above 0; got 0."),
        ("corgraph", {"correlation": "pearsn"}, "Unknown value of correlation 'pearsn'"),
        ("corgraph", {"exponent": "ids"}, "Unknown value of exponent 'ids'; choose from numbers, positions."),
        ("corgraph", {"distances": "scores"}, "distances='scores' needs ranks with scores"),
        ("recknngraphccs", {"fusion": "max"}, "Unknown value of fusion 'max'; choose from product, sum."),
        ("recknngraphccs", {"backward_from": 2}, "backward_from must be at most 1; got 2."),
        ("recknngraphccs", {"collection": [A]}, "This method cannot answer external queries"),
        ("cprr", {"neighbors": 9, "depth": 8}, "neighbors must be at most depth; got 9 and 8."),
        ("lhrr", {"neighbors": 1}, "neighbors must be a whole number, at least 2; got 1."),
        ("rfe", {"neighbors": 1}, "neighbors must be a whole number, at least 2; got 1."),
        ("rfe", {"slope": 0}, "slope must be a finite number above 0; got 0."),
        ("rfe", {"edges": 1.5}, "edges must be above 0 and below 1; got 1.5."),
        ("rlrecom", {"strength": -1}, "strength must be a finite number above 0; got -1."),
        ("recknngraph", {"epsilon": 0}, "epsilon must be above 0 and below 1; got 0."),
        ("bfstree", {"persistence": 1}, "persistence must be above 0 and below 1; got 1."),
        ("rdpac", {"damping": 1}, "damping must be above 0 and below 1; got 1."),
        ("rdpac", {"pool": "lst"}, "Unknown value of pool 'lst'; choose from last, union. Did you mean 'last'?"),
        ("rlsim_udl", {"measure": "kendall"}, "Unknown value of measure 'kendall'; choose from goodman, "),
        ("rlsim_udl", {"distances": "scores"}, "distances='scores' needs ranks with scores; ranker 1 has none."),
        ("contextrr", {"neighbors": 25}, "neighbors must be less than depth; got 25 and 25."),
        ("contextrr", {"collection": [A]}, "This method cannot answer external queries"),
    ],
)
def test_wrong_options_raise(method, options, message):
    with pytest.raises(InputError) as caught:
        rl.fuse([A], method, **options)
    assert message in str(caught.value)
