import pytest

from rankloom.aggregate import METHODS
from rankloom.errors import InputError
from rankloom.evaluation import Measure
from rankloom.experiment import EXAMPLE, Experiment
from rankloom.registry import Call

LEAST = {"name": "n", "collection": "digits", "rankers": ["vectors(part=pixels)"]}


def test_the_example_is_a_specification_of_every_paper_method():
    example = Experiment.from_toml(EXAMPLE)
    assert len(example.methods) == 17
    assert len(example.ranker_names) == 5
    assert all(call.name in METHODS for call in example.methods)


def test_toml_and_dict_parse_back():
    spec = Experiment.from_dict(
        {
            **LEAST,
            "methods": ["fg(comparator=mcs)", "combsum(weights=[1, 2])"],
            "measures": ["map", "ndcg@5"],
            "selections": ["all", "pair(authority)"],
            "rankers": {'a "quoted" name': 'file(path="a, b.run")', "ü": "vectors(part=x)"},
            "k": 7,
        }
    )
    assert Experiment.from_toml(spec.to_toml()) == spec
    assert Experiment.from_dict(spec.to_dict()) == spec


def test_equal_specifications_hash_and_digest_alike():
    one, two = Experiment.from_dict(LEAST), Experiment.from_dict(dict(reversed(LEAST.items())))
    assert (hash(one), one.digest) == (hash(two), two.digest)
    assert Experiment.from_dict({**LEAST, "seed": 2}).digest != one.digest


def test_a_list_of_rankers_names_them_as_they_are_spelled():
    spec = Experiment.from_dict(LEAST)
    assert spec.rankers == (("vectors(part=pixels)", Call.parse("vectors(part=pixels)")),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methosd": []}, "Unknown key of an experiment 'methosd'.*Did you mean 'methods'"),
        ({"methods": ["rff"]}, "Unknown method 'rff'"),
        ({"methods": ["rrf(constnt=2)"]}, "has no option 'constnt'"),
        ({"methods": "rrf"}, "methods must be a list of texts"),
        ({"methods": [1]}, "each of methods must be a text; got 1"),
        ({"methods": ["fg(progress=yes)"]}, "gives 'fg' its progress in methods"),
        ({"methods": ["fg(threads=7)"]}, "gives 'fg' its threads in methods"),
        ({"curve": ["fg(cutoff=3)"]}, "gives 'fg' its cutoff in curve"),
        ({"curve": ["rrf", "rrf"]}, "curve must differ"),
        ({"cutoffs": [5, 5]}, "cutoffs must differ"),
        ({"rankers": ["vectors", "vectors"]}, "ranker names must differ"),
        ({"rankers": [["a"]]}, "rankers must be a list"),
        ({"rankers": [1]}, "rankers must be a list"),
        ({"name": "\ud800"}, "half of a surrogate pair"),
        ({"methods": []}, "methods must not be empty"),
        ({"methods": ["rrf", "rrf"]}, "methods must differ"),
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
        ({"rankers": {}}, "needs rankers"),
        ({"rankers": {"a": 1}}, "rankers must be a list"),
        ({"collection": 3}, "collection must be a text"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(change, message):
    with pytest.raises(InputError, match=message):
        Experiment.from_dict({**LEAST, **change})


def test_what_is_missing_is_named():
    for key in LEAST:
        with pytest.raises(InputError, match=f"needs a {key}"):
            Experiment.from_dict({name: value for name, value in LEAST.items() if name != key})


def test_a_file_is_named_in_its_errors(tmp_path):
    path = tmp_path / "spec.toml"
    with pytest.raises(InputError, match="Cannot read"):
        Experiment.read(path)
    path.write_text("name = ")
    with pytest.raises(InputError, match=r"spec\.toml: This is not TOML"):
        Experiment.read(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        Experiment.read(path)


def test_python_values_are_checked_as_those_of_a_file_are():
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
    with pytest.raises(InputError, match="collection must be a text"):
        Experiment(name="n", collection=3, rankers=["vectors"])


def test_every_letter_of_a_name_is_written_as_toml():
    spec = Experiment.from_dict({**LEAST, "name": "del \x7f", "rankers": {"😀\x01": 'file(path="😀 \\\\.run")'}})
    assert Experiment.from_toml(spec.to_toml()) == spec


def test_toml_that_no_parser_takes_is_told_of():
    for text in ("cutoff = " + "9" * 5000, "rankers = " + "[" * 5000):
        with pytest.raises(InputError, match="This is not TOML"):
            Experiment.from_toml(text)


def test_measures_that_look_deeper_than_the_cutoff_are_known():
    measures = ["ndcg@10", "p@20", "map", "bullseye", "ns"]
    assert [str(one) for one in Experiment.from_dict({**LEAST, "measures": measures}).deeper] == [
        "p@20",
        "map",
        "bullseye",
    ]
    for more in ({"cutoff": 1000}, {"cutoff": 50, "depth": 50}, {"k": 10}):
        assert Experiment.from_dict({**LEAST, "measures": measures, **more}).deeper == ()
