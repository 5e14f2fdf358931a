import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom import Ids, Ranks
from rankloom.errors import InputError, MissingExtraError, UnknownNameError
from rankloom.io import from_frame, qrels_from_frame, to_pandas, to_polars

both = pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])


def error_of(frame, **options):
    with pytest.raises(InputError) as caught:
        from_frame(frame, **options)
    return str(caught.value)


def frame_of(library, queries, items, scores):
    return library.DataFrame({"query": queries, "item": items, "score": scores})


@both
def test_rows_in_any_order_are_sorted_by_score(library):
    frame = frame_of(library, ["b", "a", "b"], ["x", "y", "y"], [1.0, 2.0, 3.0])
    ranks = from_frame(frame)
    assert ranks.to_dict() == {"b": {"y": 3.0, "x": 1.0}, "a": {"y": 2.0}}
    assert list(ranks.item_ids) == ["x", "y"]


@both
def test_ties_keep_the_order_of_the_frame(library):
    frame = frame_of(library, ["q"] * 3, ["c", "a", "b"], [1, 1, 1])
    assert list(from_frame(frame).to_dict()["q"]) == ["c", "a", "b"]


@both
def test_whole_numbers_become_ids(library):
    assert from_frame(frame_of(library, [7, 7], [10, 2], [1, 2])).to_dict() == {"7": {"2": 2.0, "10": 1.0}}


@both
def test_column_names_can_be_chosen_and_scores_omitted(library):
    frame = library.DataFrame({"qid": ["q", "q"], "doc": ["b", "a"]})
    ranks = from_frame(frame, query="qid", item="doc", score=None)
    assert ranks.scores is None
    assert list(ranks.to_dict()["q"]) == ["b", "a"]


@both
def test_items_must_be_in_item_ids(library):
    frame = frame_of(library, ["q"], ["b"], [1])
    assert from_frame(frame, item_ids=Ids(["a", "b", "c"])).items.tolist() == [[1]]
    assert error_of(frame, item_ids=Ids(["a"])) == "Unknown item 'b'; choose from a."


@both
def test_a_frame_without_rows_gives_ranks_without_rows(library):
    assert from_frame(frame_of(library, [], [], [])).items.shape == (0, 0)


@both
@pytest.mark.parametrize("column", ["query", "item", "score"])
def test_the_error_for_a_null_names_its_row(library, column):
    values = {"query": ["q", "r"], "item": ["a", "b"], "score": [1.0, 2.0]}
    values[column][1] = None
    message = error_of(library.DataFrame(values))
    assert message.startswith("Row 1 of the frame")
    assert "score must be" in message if column == "score" else f"in column {column!r}" in message


@both
@pytest.mark.parametrize("score", [np.nan, np.inf, 1e39])
def test_the_error_for_a_score_that_is_not_finite_in_float32_names_its_row(library, score):
    message = error_of(frame_of(library, ["q", "q"], ["a", "b"], [1.0, score]))
    assert message == (f"Row 1 of the frame: the score must be a finite number that float32 can hold; got {score}.")


@both
def test_ids_and_scores_of_other_types_are_errors(library):
    rule = "an id must be a string or a whole number"
    assert error_of(frame_of(library, [1.5], ["a"], [1])) == f"Row 0 of the frame has 1.5 in column 'query'; {rule}."
    assert error_of(frame_of(library, ["q"], [True], [1])) == f"Row 0 of the frame has True in column 'item'; {rule}."
    assert error_of(frame_of(library, ["q"], ["a"], ["high"])) == (
        "Row 0 of the frame has 'high' in column 'score'; a score must be a number."
    )


@both
def test_an_item_listed_twice_is_an_error_unless_duplicates_is_first(library):
    frame = frame_of(library, ["q", "r", "q"], ["a", "a", "a"], [1, 2, 3])
    assert error_of(frame).startswith(
        "Row 2 of the frame: query 'q' lists item 'a' a second time (first: Row 0 of the frame); "
    )
    assert from_frame(frame, duplicates="first").to_dict() == {"q": {"a": 3.0}, "r": {"a": 2.0}}


@both
def test_a_missing_column_is_an_error_that_suggests_the_nearest(library):
    frame = library.DataFrame({"query": ["q"], "item": ["a"], "scores": [1.0]})
    with pytest.raises(UnknownNameError, match=r"Unknown column 'score'; .* Did you mean 'scores'"):
        from_frame(frame)


def test_columns_with_the_same_name_are_an_error():
    frame = pd.DataFrame([["q", "a", "b", 1.0]], columns=["query", "item", "item", "score"])
    assert error_of(frame) == "The frame has 2 columns 'item'; rename all but one."


@pytest.mark.parametrize("thing", [{"query": ["q"]}, pl.LazyFrame({"query": ["q"]}), pd.Series([1])])
def test_anything_but_a_dataframe_is_an_error(thing):
    assert error_of(thing) == f"Expected a pandas or polars DataFrame; got {type(thing).__name__}."


def test_missing_values_of_pandas_are_errors():
    assert error_of(frame_of(pd, pd.array(["q", pd.NA], "string"), ["a", "b"], [1, 2])).startswith("Row 1 ")
    assert error_of(frame_of(pd, ["q", "q"], pd.array([1, pd.NA], "Int64"), [1, 2])).startswith("Row 1 ")
    assert error_of(frame_of(pd, ["q", "q"], ["a", "b"], pd.array([1, pd.NA], "Int64"))).startswith("Row 1 ")


def test_categorical_columns_are_accepted():
    frame = frame_of(pd, pd.Categorical(["q"]), pd.Categorical(["a"]), [1])
    assert from_frame(frame).to_dict() == {"q": {"a": 1.0}}


@pytest.mark.parametrize("convert", [to_pandas, to_polars])
def test_a_frame_has_a_row_for_each_result_best_first(convert):
    ranks = Ranks([[1, 0], [0, -1]], [[2, 1], [3, 0]], item_ids=Ids(["a", "b"]), query_ids=Ids(["q", "r"]))
    frame = convert(ranks)
    assert list(frame.columns) == ["query", "item", "rank", "score"]
    assert frame["query"].to_list() == ["q", "q", "r"]
    assert frame["item"].to_list() == ["b", "a", "a"]
    assert frame["rank"].to_list() == [1, 2, 1]
    assert frame["score"].to_list() == [2, 1, 3]


@pytest.mark.parametrize("convert", [to_pandas, to_polars])
def test_ranks_without_scores_or_rows_are_frames_too(convert):
    assert list(convert(Ranks([[1, 0]])).columns) == ["query", "item", "rank"]
    empty = convert(Ranks([[-1]], n_items=1))
    assert (len(empty), list(empty.columns)) == (0, ["query", "item", "rank"])


@given(
    st.dictionaries(
        st.text(), st.dictionaries(st.text(), st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1)
    )
)
def test_frames_are_converted_back(lists):
    ranks = Ranks.from_dict(lists)
    for convert in (to_pandas, to_polars):
        if lists:  # a frame without results has no score column
            assert from_frame(convert(ranks)).to_dict() == ranks.to_dict()


@pytest.mark.parametrize(("convert", "package"), [(to_pandas, "pandas"), (to_polars, "polars")])
def test_a_missing_library_is_an_error_that_says_how_to_install_it(monkeypatch, convert, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        convert(Ranks([[0]]))
    assert str(caught.value) == f"{convert.__name__} needs {package}: pip install 'rankloom[frames]'."


def test_importing_io_loads_neither_frame_libraries_nor_numba():
    code = "import sys, rankloom.io; print({'numba', 'scipy', 'pandas', 'polars'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


@both
def test_judgments_are_read_from_a_frame(library):
    columns = {"query": ["q1", "q2", "q1"], "item": [7, 2, 3], "grade": [2, 0, -1]}
    assert qrels_from_frame(library.DataFrame(columns)) == {"q1": {"7": 2, "3": -1}, "q2": {"2": 0}}
    renamed = library.DataFrame({"topic": ["q"], "doc": ["d"], "rel": [1.0]})
    assert qrels_from_frame(renamed, query="topic", item="doc", grade="rel") == {"q": {"d": 1}}


@both
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query": ["q"], "item": ["d"]}, "Unknown column 'grade'; choose from item, query."),
        ({"query": ["q"], "item": ["d"], "grade": [0.5]}, "0.5 in column 'grade'; a grade must be a whole number."),
        ({"query": ["q"], "item": ["d"], "grade": [float("nan")]}, "a grade must be a whole number."),
        ({"query": ["q"], "item": ["d"], "grade": [float("inf")]}, "a grade must be a whole number."),
        ({"query": ["q"], "item": ["d"], "grade": ["1"]}, "'1' in column 'grade'; a grade must be a whole number."),
        (
            {"query": ["q", "q"], "item": ["d", "d"], "grade": [1, 0]},
            "Row 1 of the frame judges item 'd' a second time",
        ),
        ({"query": [], "item": [], "grade": []}, "The frame has no rows"),
    ],
)
def test_invalid_judgments_in_a_frame_are_rejected(library, columns, message):
    with pytest.raises(InputError) as caught:
        qrels_from_frame(library.DataFrame(columns))
    assert message in str(caught.value)
