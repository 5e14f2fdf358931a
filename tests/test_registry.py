from importlib.metadata import EntryPoint

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.errors import InputError, UnknownNameError
from rankloom.registry import Call, Registry, file_options, load_plugin, parse_value, show_value

GROUP = "rankloom.test_shapes"


@pytest.fixture
def shapes() -> Registry[int]:
    known = Registry[int]("shape", group=GROUP)
    known.register("square")(4)
    return known


def plug_in(monkeypatch, **values: str) -> None:
    points = [EntryPoint(name, value, GROUP) for name, value in values.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == GROUP else [])


def test_a_registered_name_is_found(shapes):
    assert shapes["square"] == 4
    assert "square" in shapes
    assert list(shapes) == ["square"]
    assert len(shapes) == 1


def test_register_returns_what_it_decorates():
    def area():
        return 1

    assert Registry("function", group=GROUP).register("area")(area) is area


def test_an_unknown_name_is_an_error_that_suggests_the_nearest(shapes):
    with pytest.raises(UnknownNameError, match=r"Unknown shape 'sqare'; choose from square\. Did you mean 'square'\?"):
        shapes["sqare"]


def test_a_registry_is_a_mapping(shapes):
    assert shapes.get("circle") is None
    assert shapes.get("circle", 0) == 0
    assert dict(shapes) == {"square": 4}


def test_a_name_registered_twice_is_an_error(shapes):
    with pytest.raises(InputError, match="'square' is registered twice"):
        shapes.register("square")(5)


def test_plug_ins_are_registered(shapes, monkeypatch):
    plug_in(monkeypatch, tau="math:tau")
    assert sorted(shapes) == ["square", "tau"]
    assert shapes["tau"] > 6


def test_a_broken_plug_in_is_skipped_with_a_warning(shapes, monkeypatch):
    plug_in(monkeypatch, broken="no_such_module:x", tau="math:tau")
    with pytest.warns(
        UserWarning, match=r"Skipped the plug-in 'broken' \(no_such_module:x\): ModuleNotFoundError: No module"
    ):
        assert sorted(shapes) == ["square", "tau"]
    assert "broken" not in shapes


def test_a_plug_in_cannot_replace_an_entry(shapes, monkeypatch):
    plug_in(monkeypatch, square="math:tau")
    with pytest.warns(UserWarning, match="'square' is registered twice"):
        assert shapes["square"] == 4


def test_an_entry_point_may_name_what_its_module_registers(shapes, monkeypatch, tmp_path):
    (tmp_path / "registers_itself.py").write_text("def cube(side=1):\n    return side**3\n")
    monkeypatch.syspath_prepend(tmp_path)
    import registers_itself

    shapes.register("cube")(registers_itself.cube)  # as a decorator does, when the module is imported
    plug_in(monkeypatch, cube="registers_itself:cube")
    assert shapes["cube"](2) == 8
    assert sorted(shapes) == ["cube", "square"]


def test_plug_ins_are_loaded_once(shapes, monkeypatch):
    calls = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: calls.append(group) or [])
    assert len(shapes) == len(list(shapes)) == 1
    assert calls == [GROUP]


def test_a_registry_without_a_group_looks_for_no_entry_points(monkeypatch):
    monkeypatch.delattr("importlib.metadata.entry_points")
    boxes = Registry[int]("box")
    boxes.register("cube")(6)
    assert dict(boxes) == {"cube": 6}


def test_entry_points_add_methods_rankers_measures_and_collections():
    from rankloom.datasets import COLLECTIONS
    from rankloom.evaluation import CORRELATIONS, MEASURES
    from rankloom.fusion_graph import COMPARATORS, WEIGHTINGS
    from rankloom.methods import METHODS, NORMALIZATIONS, SUPERVISED
    from rankloom.rankers import RANKERS

    groups = [registry.group for registry in (METHODS, RANKERS, MEASURES, COLLECTIONS)]
    assert groups == ["rankloom.methods", "rankloom.rankers", "rankloom.measures", "rankloom.collections"]
    others = (COMPARATORS, WEIGHTINGS, NORMALIZATIONS, SUPERVISED, CORRELATIONS)
    assert [registry.group for registry in others] == [None] * 5


def test_an_option_annotated_as_a_path_must_be_the_path_of_a_file():
    from rankloom.datasets import COLLECTIONS
    from rankloom.rankers import RANKERS

    assert {name: file_options(COLLECTIONS[name]) for name in ("files", "folder", "soccer", "digits")} == {
        "files": ["labels", "qrels"],
        "folder": ["path"],
        "soccer": ["path"],
        "digits": [],
    }
    found = {name: file_options(RANKERS[name]) for name in ("file", "matrix", "wmd", "vectors")}
    assert found == {
        "file": ["path", "items", "list_file"],
        "matrix": ["path", "list_file"],
        "wmd": ["vectors"],
        "vectors": ["path", "list_file", "queries", "queries_list_file"],
    }
    for value in (2024, True, ("a", "b")):
        with pytest.raises(InputError, match="qrels of the collection 'files' must be the path of a file; got"):
            COLLECTIONS.make("files", qrels=value)


@pytest.mark.parametrize(
    ("registry", "name", "options", "message"),
    [
        ("rankers", "okapi", {"k1": "abc"}, "k1 of the ranker 'okapi' must be a finite number; got 'abc'"),
        ("rankers", "okapi", {"k1": float("nan")}, "k1 .* must be a finite number; got nan"),
        ("rankers", "okapi", {"b": True}, "b .* must be a finite number; got True"),
        ("rankers", "gnf-wgu", {"idf": "maybe"}, "idf .* must be yes or no; got 'maybe'"),
        ("rankers", "bic", {"longest_side": 2.5}, "longest_side .* must be a whole number or none; got 2.5"),
        ("rankers", "bow-cosine", {"weights": 3}, "Unknown value of weights 3; choose from binary, log-tf"),
        ("datasets", "soccer", {"check": "maybe"}, "check of the collection 'soccer' must be yes or no; got 'maybe'"),
        ("datasets", "table", {"path": "t.csv", "label": 7}, "must be text or none; got 7. Put it in quotes"),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error(registry, name, options, message):
    from rankloom.datasets import COLLECTIONS
    from rankloom.rankers import RANKERS

    with pytest.raises(InputError, match=message):
        (RANKERS if registry == "rankers" else COLLECTIONS).make(name, **options)


def test_whole_numbers_are_accepted_as_floats_and_other_types_are_not_checked():
    boxes = Registry("box", group=GROUP)

    def box(side: float = 1.0, sizes: "list[int] | None" = None, free=0):
        return side, sizes, free

    boxes.register("box")(box)
    assert boxes.make("box", side=np.int64(2), sizes=(1, 2), free="y") == (2, (1, 2), "y")


def test_options_of_make_override_those_of_the_spelling():
    boxes = Registry("box", group=GROUP)
    boxes.register("box")(lambda *, side=1, lid=False: (side, lid))
    assert boxes.make("box(side=2)", side=3, lid=True) == (3, True)
    with pytest.raises(InputError, match="The box must be a name, or a name with options; got 7"):
        boxes.make(7)


def test_a_plug_in_file_is_run_once(tmp_path):
    file = tmp_path / "counting.py"
    file.write_text("from pathlib import Path\nwith Path(__file__).with_suffix('.txt').open('a') as f: f.write('x')\n")
    load_plugin(file)
    load_plugin(file)
    assert file.with_suffix(".txt").read_text() == "x"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.py", None, "There is no plug-in file"),
        ("notes.txt", "x = 1", "A plug-in must be a Python file \\(.py\\)"),
        ("broken.py", "1 / 0", "failed: ZeroDivisionError"),
        ("typo.py", "def", "failed: SyntaxError"),
    ],
)
def test_a_plug_in_file_that_fails_is_an_error(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        load_plugin(tmp_path / name)


# Spelling

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.text('\\",()[]= a1_.'),
    st.sampled_from(["1_000", "inf", "-inf", "nan", "1e999", "٣", "9" * 5000, "yes", "a\\"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3).map(tuple))
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)


@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=4))
def test_a_spelling_parses_back(name, options):
    call = Call.of(name, options)
    assert Call.parse(str(call)) == call


@given(SCALARS)
def test_a_value_keeps_its_type(value):
    again = parse_value(show_value(value))
    assert (again, type(again)) == (value, type(value))


def test_options_are_sorted_so_that_equal_calls_are_equal():
    assert Call.parse("f(b=1, a=2)") == Call.parse("f(a=2,b=1)")
    assert hash(Call.parse("f(w=[1, 2])")) == hash(Call.of("f", {"w": [1, 2]}))


def test_commas_in_brackets_and_quotes_do_not_separate():
    call = Call.parse('file(path="a, (b).run", weights=[1, 2])')
    assert dict(call.options) == {"path": "a, (b).run", "weights": (1, 2)}


@pytest.mark.parametrize("text", ["", "(a=1)", "f(", "f(a=1", "f)", "f(a)", "f(=1)", "f(a=1, a=2)", "f(1a=2)", "f g"])
def test_the_error_for_an_invalid_spelling_shows_it(text):
    with pytest.raises(InputError, match=r"got|twice|Got"):
        Call.parse(text)


def test_a_trailing_backslash_is_escaped():
    call = Call.of("f", {"a": "a b\\", "z": 1})
    assert str(call) == r'f(a="a b\\", z=1)'
    assert Call.parse(str(call)) == call


@pytest.mark.parametrize(
    "text",
    ["a(b=1)(c=2)", 'a(b="x)', "a(b=[1)", "a(b=[1))", "a(b=(1])", 'a(b="x"y)', "f(a=" + "[" * 3000 + "]" * 3000 + ")"],
)
def test_brackets_and_quotes_must_be_balanced(text):
    with pytest.raises(InputError, match=r"Unmatched|Unclosed|Quote text|more than 20 deep"):
        Call.parse(text)


def test_number_syntax_is_stricter_than_pythons():
    assert [parse_value(text) for text in ("2019_01", "٣", "1e999", "nan")] == ["2019_01", "٣", "1e999", "nan"]
    assert [parse_value(text) for text in ("+7", "-.5", "1e3", "inf")] == [7, -0.5, 1000.0, float("inf")]
    with pytest.raises(InputError, match="cannot be NaN"):
        Call.of("f", {"a": (1, float("nan"))})


def test_a_lone_surrogate_is_an_error():
    with pytest.raises(InputError, match="Quote text as in"):
        Call.parse(r'f(a="\ud800")')
