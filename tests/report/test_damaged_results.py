"""Reports over damaged results: one sentence and exit code 1, and the old page stays as it was."""

import copy
import json
import math

import pytest
import sample_results as sample

from command import run, sentence
from rankloom.errors import InputError
from rankloom.experiment.results import FILE, KINDS, Results, to_json

WRONG = [None, True, -1, 0, 10**400, 1e308, 5e-324, math.nan, math.inf, "", "x", "\ud800", "a\0b", "<b>"]
WRONG += ["x" * 5000, [], [[]], [None], {}, {"a": []}, [[1, 2], [3]]]
RENDERED = 25  # one in so many of the damaged results that can still be read


def small_lines():
    """Return results of four queries, with records of every kind but pairs, as JSON lines."""
    records = [*sample.ranker_records(), *sample.method_records(), *sample.other_records(), *sample.example_records()]
    head = {"kind": "experiment", "format": 1, "experiment": sample.specification().to_dict(), "about": sample.ABOUT}
    lines = [head, *map(to_json, records)]
    for line in lines:
        line |= {"values": {name: one[:4] for name, one in line["values"].items()}} if "values" in line else {}
    return lines


def places(value, path=()):
    """Yield the path of each value inside a JSON value; of a list the first two."""
    yield path
    for key in value if isinstance(value, dict) else range(min(len(value), 2)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def replaced(line, path, value):
    if not path:
        return value
    line = copy.deepcopy(line)
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return line


def without(line, path):
    line = copy.deepcopy(line)
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return line


def damaged(line, step):
    """Yield a JSON object with each of its values wrong in turn, in every way or in one of `step` ways, or missing."""
    for number, path in enumerate(places(line)):
        yield from (replaced(line, path, value) for value in WRONG[number % step :: step])
        if path:
            yield without(line, path)


def write(lines, folder):
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", ["experiment", *(kind for kind in KINDS if kind != "pair")])
def test_every_value_that_is_wrong_is_rejected_or_shown(tmp_path, kind, step):
    lines = small_lines()
    number = next(i for i, line in enumerate(lines) if line["kind"] == kind)
    n_read = n_rejected = 0
    for line in damaged(lines[number], step):
        write([*lines[:number], line], tmp_path)
        if is_rejected(tmp_path):
            n_rejected += 1
            continue
        n_read += 1
        if n_read % RENDERED == 1:
            write([*lines[:number], line, *lines[number + 1 :]], tmp_path)
            assert_one_sentence_or_a_page(tmp_path)
    assert n_rejected > 5
    assert n_read


def is_rejected(folder):
    """Return True if results are rejected, by an error that names the file."""
    try:
        Results.read(folder)
    except InputError as error:
        return str(folder / FILE) in str(error) or pytest.fail(str(error))
    return False


def assert_one_sentence_or_a_page(folder):
    found = run("report", folder)
    if found.exit_code:
        sentence(found)
    else:
        assert (folder / "report.html").read_text(encoding="utf-8").endswith("</html>\n")


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("about", "n_queries"), "many"),
        (("about", "n_items"), math.nan),
        (("about", "notes"), 5),
        (("about", "command"), "\ud800"),
        (("experiment", "measures"), ["no\nsuch"]),
        (("experiment", "cutoff"), -1),
        (("experiment",), None),
        (("format",), 2),
    ],
)
def test_a_damaged_header_is_one_sentence_and_the_old_page_stays(tmp_path, path, value, joint):
    lines, page = small_lines(), tmp_path / "r" / "report.html"
    write([replaced(lines[0], path, value), *lines[1:]], tmp_path / "r")
    page.write_text("old")
    said = sentence(run("report", tmp_path / "r", *(("-o", tmp_path / "all.html") if joint else ())))
    assert FILE in said
    assert len(said) < 2500
    assert page.read_text() == "old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["r", "report.html", FILE]


def test_a_file_cut_anywhere_is_one_sentence_or_the_report_of_fewer_records(tmp_path):
    write(small_lines(), tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    for size in (*range(0, 40), *range(40, len(whole), len(whole) // 60)):
        (tmp_path / FILE).write_bytes(whole[:size])
        assert is_rejected(tmp_path) or b"\n" in whole[size - 1 : size + 1]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"\xff\xfe", b"\0" * 5000, b"[" * 200_000, b'{"a":' * 100_000, b"null\n", b"1\n{}\n", b"{}\n"],
)
def test_what_is_not_results_is_one_sentence(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    assert FILE in sentence(run("report", tmp_path))
    assert FILE in sentence(run("report", tmp_path, "-o", tmp_path / "all.html"))
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def loop(path):
    path.symlink_to(path)


@pytest.mark.parametrize("make", [loop, lambda path: path.mkdir(), lambda path: path.symlink_to("absent")])
def test_results_that_are_no_file_are_one_sentence(tmp_path, make):
    make(tmp_path / FILE)
    assert FILE in sentence(run("report", tmp_path))
    assert "nothing to report" in sentence(run("report", tmp_path, "-o", tmp_path / "all.html"))


def test_a_loop_in_place_of_the_folder_is_one_sentence(tmp_path):
    loop(tmp_path / "r")
    sentence(run("report", tmp_path / "r"))
    sentence(run("report", tmp_path / "r", "-o", tmp_path / "all.html"))
    sentence(run("report", tmp_path / "r", "-o", tmp_path / "r"))


@pytest.mark.parametrize("name", ["report.html", "tables", "plots", "report-files.json"])
@pytest.mark.parametrize("make", [loop, lambda path: path.mkdir(), lambda path: path.write_text("{")])
def test_what_is_in_the_way_of_the_report_is_one_sentence(tmp_path, name, make):
    write(small_lines(), tmp_path)
    make(tmp_path / name)
    assert_one_sentence_or_a_page(tmp_path)


@pytest.mark.parametrize("names", ["[" * 100_000, '["../../x", "tables/a.md"]', "[1]", "null", "\0"])
def test_a_damaged_list_of_files_is_ignored(tmp_path, names):
    write(small_lines(), tmp_path)
    (tmp_path / "report-files.json").write_text(names)
    assert run("report", tmp_path).exit_code == 0
