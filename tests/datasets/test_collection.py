import numpy as np
import pytest

import rankloom as rl
from rankloom.datasets import COLLECTIONS, Collection, Queries, content_digest, digits, files
from rankloom.errors import InputError, UnknownNameError

IDS = rl.Ids(["a", "b"])


def test_parts_and_labels_must_be_as_many_as_items():
    with pytest.raises(InputError, match="2 items, but its part 'texts' has 1"):
        Collection("c", IDS, {"texts": ["x"]}, labels=("u", "v"))
    with pytest.raises(InputError, match="2 items, but 3 labels"):
        Collection("c", IDS, labels=("u", "v", "w"))


def test_labels_and_judged_queries_are_exclusive():
    queries = Queries(rl.Ids(["q"]), {"q": {"a": 1}})
    with pytest.raises(InputError, match="labels"):
        Collection("c", IDS, labels=("u", "v"), queries=queries)
    assert Collection("c", IDS).labels is None


def test_ids_are_a_part_of_items_and_queries():
    queries = Queries(rl.Ids(["q"]), {"q": {"a": 1}})
    collection = Collection("c", IDS, queries=queries)
    assert (collection.part("ids"), queries.part("ids")) == (("a", "b"), ("q",))
    with pytest.raises(UnknownNameError, match="part of queries 'texts'"):
        queries.part("texts")


def test_digest_depends_on_content_shape_and_type():
    matrix = np.arange(6.0).reshape(2, 3)
    assert content_digest(matrix) == content_digest(matrix.copy())
    assert content_digest(matrix) != content_digest(matrix.T)
    assert content_digest(matrix) != content_digest(matrix.astype(np.float32))
    assert content_digest(["ab", "c"]) != content_digest(["a", "bc"])
    assert content_digest([matrix, matrix]) != content_digest([matrix])


def test_digest_rejects_arbitrary_objects_but_accepts_object_arrays_of_text():
    with pytest.raises(InputError, match=r"digest of an item of type object; give it a method digest\(\)"):
        content_digest([object()])
    texts = np.array(["a", "bc"], object)
    assert content_digest(texts) == content_digest(["a", "bc"]) != content_digest(["a", "bd"])
    assert content_digest([b"a\0"]) != content_digest([b"a"])


def test_digits_have_five_feature_matrices_images_and_ten_classes():
    collection = digits()
    assert (len(collection), len(set(collection.labels))) == (1797, 10)
    assert sorted(collection.parts) == ["blocks", "directions", "edges", "images", "pixels", "sums"]
    assert len(digits(first=100)) == 100
    with pytest.raises(InputError, match="There are 1797 digits"):
        digits(first=5000)


def test_files_reads_labels_or_judgments(tmp_path):
    (tmp_path / "labels.tsv").write_text("a\tcat\nb\tdog\n")
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 c 0\n")
    assert files(labels=str(tmp_path / "labels.tsv")).labels == ("cat", "dog")
    judged = COLLECTIONS["files"](qrels=str(tmp_path / "qrels"))
    assert (tuple(judged.queries.ids), judged.about) == (("q1", "q2"), "2 queries with 2 judgments")
    with pytest.raises(InputError, match=r"Give either files\(labels=...\) or files\(qrels=...\)"):
        files()


def test_repr_of_a_collection():
    shown = repr(digits())
    assert shown == "Collection('digits', n=1797, parts: images, pixels, directions, sums, blocks, edges; labels)"


def test_without_drops_items_from_all_parts_and_labels():
    texts = Collection("t", rl.Ids(["a", "b", "c"]), {"texts": ["1", "2", "3"]}, labels=("x", "y", "z")).without([1])
    assert (list(texts.ids), texts.part("texts"), texts.labels) == (["a", "c"], ["1", "3"], ("x", "z"))
