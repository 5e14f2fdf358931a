from importlib.metadata import EntryPoint

import numpy as np
import pytest

from rankloom.errors import InputError, UnknownNameError
from rankloom.registry import Registry, file_options, load_plugin

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


def test_register_gives_back_what_it_decorates():
    def area():
        return 1

    assert Registry("function", group=GROUP).register("area")(area) is area


def test_an_unknown_name_is_an_error_with_the_nearest(shapes):
    with pytest.raises(UnknownNameError, match=r"Unknown shape 'sqare'; choose from square\. Did you mean 'square'\?"):
        shapes["sqare"]


def test_it_is_a_mapping_also_where_a_name_is_missing(shapes):
    assert shapes.get("circle") is None
    assert shapes.get("circle", 0) == 0
    assert dict(shapes) == {"square": 4}


def test_a_name_registered_twice_is_an_error(shapes):
    with pytest.raises(InputError, match="'square' is registered twice"):
        shapes.register("square")(5)


def test_plug_ins_join(shapes, monkeypatch):
    plug_in(monkeypatch, tau="math:tau")
    assert sorted(shapes) == ["square", "tau"]
    assert shapes["tau"] > 6


def test_a_broken_plug_in_is_left_out_with_a_warning(shapes, monkeypatch):
    plug_in(monkeypatch, broken="no_such_module:x", tau="math:tau")
    with pytest.warns(UserWarning, match=r"Skipped the plug-in 'broken' \(no_such_module:x\): No module"):
        assert sorted(shapes) == ["square", "tau"]
    assert "broken" not in shapes


def test_a_plug_in_cannot_take_a_known_name(shapes, monkeypatch):
    plug_in(monkeypatch, square="math:tau")
    with pytest.warns(UserWarning, match="'square' is registered twice"):
        assert shapes["square"] == 4


def test_plug_ins_are_loaded_once(shapes, monkeypatch):
    calls = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: calls.append(group) or [])
    assert len(shapes) == len(list(shapes)) == 1
    assert calls == [GROUP]


def test_an_option_annotated_as_a_path_takes_the_name_of_a_file():
    from rankloom.datasets import COLLECTIONS
    from rankloom.rankers import RANKERS

    assert {name: file_options(COLLECTIONS[name]) for name in ("files", "folder", "soccer", "digits")} == {
        "files": ["labels", "qrels"],
        "folder": ["path"],
        "soccer": ["path"],
        "digits": [],
    }
    found = {name: file_options(RANKERS[name]) for name in ("file", "matrix", "wmd", "vectors")}
    assert found == {"file": ["path", "items"], "matrix": ["path"], "wmd": ["vectors"], "vectors": ["path"]}
    for value in (2024, True, ("a", "b")):
        with pytest.raises(InputError, match="qrels of the collection 'files' must be the name of a file; got"):
            COLLECTIONS.make("files", qrels=value)


@pytest.mark.parametrize(
    ("registry", "name", "options", "why"),
    [
        ("rankers", "okapi", {"k1": "abc"}, "k1 of the ranker 'okapi' must be a finite number; got 'abc'"),
        ("rankers", "okapi", {"k1": float("nan")}, "k1 .* must be a finite number; got nan"),
        ("rankers", "okapi", {"b": True}, "b .* must be a finite number; got True"),
        ("rankers", "gnf-wgu", {"idf": "maybe"}, "idf .* must be yes or no; got 'maybe'"),
        ("rankers", "bic", {"longest_side": 2.5}, "longest_side .* must be a whole number or none; got 2.5"),
        ("rankers", "bow-cosine", {"weights": 3}, 'must be a text; got 3. Put it in quotes: weights="3"'),
        ("datasets", "soccer", {"check": "maybe"}, "check of the collection 'soccer' must be yes or no; got 'maybe'"),
        ("datasets", "table", {"path": "t.csv", "label": 7}, "must be a text or none; got 7. Put it in quotes"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(registry, name, options, why):
    from rankloom.datasets import COLLECTIONS
    from rankloom.rankers import RANKERS

    with pytest.raises(InputError, match=why):
        (RANKERS if registry == "rankers" else COLLECTIONS).make(name, **options)


def test_a_whole_number_will_do_for_any_and_other_types_are_the_makers_own():
    boxes = Registry("box", group=GROUP)

    def box(side: float = 1.0, sizes: "list[int] | None" = None, free=0):
        return side, sizes, free

    boxes.register("box")(box)
    assert boxes.make("box", side=np.int64(2), sizes=(1, 2), free="y") == (2, (1, 2), "y")


def test_make_reads_a_spelling_and_more_options_win_over_it():
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
    ("name", "text", "why"),
    [
        ("none.py", None, "There is no plug-in file"),
        ("notes.txt", "x = 1", "A plug-in is a Python file whose name ends in .py"),
        ("broken.py", "1 / 0", "failed: ZeroDivisionError"),
        ("typo.py", "def", "failed: SyntaxError"),
    ],
)
def test_a_plug_in_file_that_cannot_be_run_is_one_sentence(tmp_path, name, text, why):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=why):
        load_plugin(tmp_path / name)
