import pytest

from rankloom.aggregate import METHODS
from rankloom.errors import InputError
from rankloom.evaluation import Measure
from rankloom.experiment import EXAMPLE, Experiment
from rankloom.experiment.spec import PAPER_METHODS, SWEPT_NEIGHBORS, variants
from rankloom.registry import Call

MINIMAL = {"name": "n", "collection": "digits", "rankers": ["vectors(part=pixels)"]}


def test_the_example_has_every_method_of_the_paper():
    example = Experiment.from_toml(EXAMPLE)
    assert example.methods[:17] == PAPER_METHODS
    assert {"weft", "vote", "sca"} < {str(call) for call in example.methods}
    assert len(example.ranker_names) == 5
    assert all(call.name in METHODS for call in example.methods)


def test_toml_and_dict_round_trip():
    spec = Experiment.from_dict(
        {
            **MINIMAL,
            "methods": ["fg(comparator=mcs)", "combsum(weights=[1, 2])"],
            "measures": ["map", "ndcg@5"],
            "selections": ["all", "pair(authority)"],
            "rankers": {'a "quoted" name': 'file(path="a, b.run")', "ü": "vectors(part=x)"},
            "k": 7,
        }
    )
    assert Experiment.from_toml(spec.to_toml()) == spec
    assert Experiment.from_dict(spec.to_dict()) == spec


def test_equal_specifications_have_equal_hashes_and_digests():
    one, two = Experiment.from_dict(MINIMAL), Experiment.from_dict(dict(reversed(MINIMAL.items())))
    assert (hash(one), one.digest) == (hash(two), two.digest)
    assert Experiment.from_dict({**MINIMAL, "seed": 2}).digest != one.digest


def test_rankers_in_a_list_are_named_by_their_spelling():
    spec = Experiment.from_dict(MINIMAL)
    assert spec.rankers == (("vectors(part=pixels)", Call.parse("vectors(part=pixels)")),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methosd": []}, "Unknown key of an experiment 'methosd'.*Did you mean 'methods'"),
        ({"methods": ["rff"]}, "Unknown method 'rff'"),
        ({"methods": ["rrf(constnt=2)"]}, "has no option 'constnt'"),
        ({"methods": "rrf"}, "methods must be a list of strings"),
        ({"methods": [1]}, "each of methods must be a string; got 1"),
        ({"methods": ["fg(progress=yes)"]}, "sets the progress of 'fg' in methods"),
        ({"methods": ["fg(threads=7)"]}, "sets the threads of 'fg' in methods"),
        ({"curve": ["fg(cutoff=3)"]}, "sets the cutoff of 'fg' in curve"),
        ({"curve": ["rrf", "rrf"]}, "curve must not repeat"),
        ({"cutoffs": [5, 5]}, "cutoffs must not repeat"),
        ({"rankers": ["vectors", "vectors"]}, "ranker names must not repeat"),
        ({"rankers": [["a"]]}, "rankers must be a list"),
        ({"rankers": [1]}, "rankers must be a list"),
        ({"name": "\ud800"}, "lone surrogate"),
        ({"methods": []}, "methods must not be empty"),
        ({"methods": ["rrf(neighbors=sweep)"]}, "has no option 'neighbors'"),
        ({"curve": ["sca(neighbors=sweep)"]}, "neighbors of the method 'sca'"),
        ({"shuffle": 1}, "shuffle must be true or false; got 1"),
        ({"methods": ["rrf", "rrf"]}, "methods must not repeat"),
        ({"measures": ["ndcg10"]}, "Unknown measure"),
        ({"selections": ["best"]}, "needs a count"),
        ({"correlations": ["pearson"]}, "Unknown correlation 'pearson'"),
        ({"comparators": ["wgo"]}, "Unknown comparator 'wgo'"),
        ({"test": "z"}, "Unknown test 'z'"),
        ({"correction": "bonferoni"}, "Did you mean 'bonferroni'"),
        ({"alpha": 2}, "alpha must be a number between 0 and 1"),
        ({"alpha": "low"}, "alpha must be a number between 0 and 1"),
        ({"cutoff": 0}, "cutoff must be a whole number"),
        ({"cutoffs": [2, "x"]}, "each of cutoffs must be a whole number"),
        ({"cutoffs": 5}, "cutoffs must be a list of numbers"),
        ({"k": 0}, "k must be a whole number"),
        ({"rankers": {}}, "has no rankers"),
        ({"rankers": {"a": 1}}, "rankers must be a list"),
        ({"collection": 3}, "collection must be a string"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_invalid_values_are_rejected(change, message):
    with pytest.raises(InputError, match=message):
        Experiment.from_dict({**MINIMAL, **change})


def test_missing_keys_are_named():
    for key in MINIMAL:
        with pytest.raises(InputError, match=f"has no {key}"):
            Experiment.from_dict({name: value for name, value in MINIMAL.items() if name != key})


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "spec.toml"
    with pytest.raises(InputError, match="There is no file"):
        Experiment.read(path)
    path.write_text("name = ")
    with pytest.raises(InputError, match=r"spec\.toml: This is not TOML"):
        Experiment.read(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        Experiment.read(path)


def test_python_values_are_checked_and_converted():
    spec = Experiment(
        name="n",
        collection="digits",
        rankers={"x": Call.parse("vectors(part=pixels)")},
        methods=["fg", Call("rrf")],
        measures=[Measure("ndcg", 10)],
        cutoffs=[2, 4],
    )
    assert spec == Experiment.from_dict({**spec.to_dict(), "collection": "digits"})
    assert hash(spec) == hash(Experiment.from_toml(spec.to_toml()))
    assert (spec.collection, spec.cutoffs) == (Call("digits"), (2, 4))
    with pytest.raises(InputError, match="collection must be a string"):
        Experiment(name="n", collection=3, rankers=["vectors"])


def test_any_character_of_a_name_is_written_as_toml():
    spec = Experiment.from_dict({**MINIMAL, "name": "del \x7f", "rankers": {"😀\x01": 'file(path="😀 \\\\.run")'}})
    assert Experiment.from_toml(spec.to_toml()) == spec


def test_toml_that_the_parser_rejects_is_an_input_error():
    for text in ("cutoff = " + "9" * 5000, "rankers = " + "[" * 5000):
        with pytest.raises(InputError, match="This is not TOML"):
            Experiment.from_toml(text)


def test_deep_measures():
    measures = ["ndcg@10", "p@20", "map", "bullseye", "ns"]
    assert [str(one) for one in Experiment.from_dict({**MINIMAL, "measures": measures}).deep_measures] == [
        "p@20",
        "map",
        "bullseye",
    ]
    for more in ({"cutoff": 1000}, {"cutoff": 50, "depth": 50}, {"k": 10}):
        assert Experiment.from_dict({**MINIMAL, "measures": measures, **more}).deep_measures == ()


def test_a_sweep_stands_for_several_neighborhoods():
    call = Call.parse("rkgraph(neighbors=sweep, iterations=2)")
    assert [dict(one.options) for one in variants(call)] == [
        {"neighbors": neighbors, "iterations": 2} for neighbors in SWEPT_NEIGHBORS
    ]
    assert variants(Call("rkgraph")) == [Call("rkgraph")]
