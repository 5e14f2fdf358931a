import pickle

import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError
from rankloom.methods import cross_validate, optimize

A = rl.Ranks.from_dict({"q1": ["a", "b", "c"], "q2": ["d", "e"]})
B = rl.Ranks.from_dict({"q1": ["b", "a"], "q2": ["e", "f"]})
QRELS = {"q1": {"b": 1}, "q2": {"e": 1}}


def test_a_trained_method_is_a_method_of_fuse():
    trained = rl.train([A, B], QRELS, "posfuse")
    assert rl.fuse([A, B], trained, 2).to_dict() == {"q1": {"b": 2.0, "a": 0.0}, "q2": {"e": 2.0, "d": 0.0}}


def test_a_trained_method_equals_only_itself():
    trained, other = (rl.train([A, B], QRELS, "posfuse") for _ in range(2))
    assert trained == trained
    assert trained != other


def test_options_are_spelled_or_given():
    assert str(rl.train([A, B], QRELS, "probfuse(segments=7)")) == "probfuse(segments=7)"
    assert str(rl.train([A, B], QRELS, "probfuse(segments=7)", segments=9)) == "probfuse(segments=9)"


def test_named_rankers_are_matched_by_name():
    trained = rl.train({"one": A, "two": B}, QRELS, "posfuse")
    swapped = rl.fuse({"two": B, "one": A}, trained)
    assert swapped.to_dict() == rl.fuse({"one": A, "two": B}, trained).to_dict()
    with pytest.raises(InputError, match="The ranker 'three' is unknown; expected one, two"):
        rl.fuse({"one": A, "three": B}, trained)


def test_ranks_without_ids_are_judged_by_number():
    trained = rl.train([rl.Ranks([[0, 1], [1, 0], [0, 1]])], {"2": {"1": 1}}, "posfuse")
    assert trained.learned[0].tolist() == [0.0, 1.0]


def test_a_trained_method_can_be_pickled():
    trained = rl.train({"one": A, "two": B}, QRELS, "slidefuse(window=1)")
    again = pickle.loads(pickle.dumps(trained))  # noqa: S301 - our own
    assert str(again) == str(trained)
    assert rl.fuse([A, B], again).to_dict() == rl.fuse([A, B], trained).to_dict()
    assert repr(again) == "Trained(slidefuse(window=1), 2 rankers)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.fuse([A, B], "probfuse"), "The method 'probfuse' learns from judged queries: trained ="),
        (lambda: rl.fuse([A, B], rl.fuse), "The method must be a name, or a name with options; got <function"),
        (lambda: rl.train([A, B], QRELS, "rrf"), "The method 'rrf' learns nothing; fuse runs it"),
        (lambda: rl.train([A, B], QRELS, "probfus"), "Did you mean 'probfuse'?"),
        (lambda: rl.train([A, B], QRELS, "probfuse(parts=3)"), "has no option 'parts'; it has segments."),
        (
            lambda: rl.train([A, B], QRELS, "probfuse(segments=0)"),
            "segments must be a whole number, at least 1; got 0.",
        ),
        (lambda: rl.train([A, B], QRELS, "segfuse(segments=both)"), "Unknown value of segments 'both'"),
        (lambda: rl.train([A, B], QRELS, "segfuse(normalization=z)"), "Unknown normalization 'z'"),
        (lambda: rl.train([A, B], QRELS, "bayesfuse(floor=0.9)"), "floor must be above 0 and below 0.5; got 0.9."),
        (lambda: rl.train([A, B], QRELS, "slidefuse(window=-1)"), "window must be a whole number, at least 0; got -1."),
        (lambda: rl.train([A, B], {"q9": {"a": 1}}, "posfuse"), "The qrels judge none of the queries"),
        (lambda: rl.fuse([A], rl.train([A, B], QRELS, "posfuse")), "was trained on 2 rankers; got 1."),
        (
            lambda: rl.fuse([A, B], rl.train([A, B], QRELS, "posfuse"), depth=3),
            "has its options already; leave out dep",
        ),
        (lambda: rl.fuse([A, B], rl.train([A, B], QRELS, "posfuse"), collection=[A, B]), "needs no collection"),
    ],
)
def test_bad_input_raises(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


def test_training_on_many_queries_equals_training_on_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    ranks = [rl.Ranks([rng.permutation(20)[:9] for _ in range(30)], n_items=20) for _ in range(2)]
    qrels = {str(q): {str(i): 1 for i in rng.permutation(20)[:5]} for q in range(30)}
    whole = rl.train(ranks, qrels, "posfuse")
    monkeypatch.setattr("rankloom.evaluation.truth.BLOCK_CELLS", 20)
    parts = rl.train(ranks, qrels, "posfuse")
    assert all(np.array_equal(one, other) for one, other in zip(whole.learned, parts.learned, strict=True))


@pytest.mark.parametrize("method", [5, None, []])
def test_a_method_is_a_name(method):
    for learn in (rl.train, optimize, cross_validate):
        with pytest.raises(InputError, match="The method must be a name, or a name with options"):
            learn([A, B], QRELS, method)
