"""Searcher: what it builds from, what it answers, filters, explanations and errors."""

import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_texts import documents, encode

import plain_vote
import rankloom as rl
from plain_vote import entries, nearest
from rankloom.errors import InputError
from rankloom.evaluation import Evaluation
from rankloom.methods import RRF, Vote
from rankloom.ranks import PAD, Ids
from rankloom.searcher.item_lists import ItemLists
from rankloom.searcher.state import State
from rankloom.weft.votes import nearest_of
from strategies import examples

RANKERS = {"bm25": "okapi", "dense": encode}
QUERIES = ["thermal flow in a boundary layer", "the patient's heart", "king and queen", "nothing known: zzz"]


@pytest.fixture(scope="module")
def searcher():
    return rl.Searcher.build(documents(60), RANKERS, depth=30)


def ids(answer):
    return [hit.id for hit in answer]


# Building


def test_texts_are_numbered():
    searcher = rl.Searcher.build(["a cat", "a dog"], ["bm25", "jaccard"])
    assert len(searcher) == 2
    assert searcher.document("1") == {"id": "1", "text": "a dog"}
    assert ids(searcher.search("dog", k=1)) == ["1"]


def test_mappings_frames_and_collections_give_the_same_answers():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    given = [{"id": one["id"], "text": one["text"]} for one in documents(20)]
    texts = [one["text"] for one in given]
    collection = rl.Collection("c", Ids(one["id"] for one in given), {"texts": texts})
    forms = [given, pandas.DataFrame(given), polars.DataFrame(given), collection]
    answers = [rl.Searcher.build(form, ["bm25", "bow-cosine"]).search("heart disease", k=5) for form in forms]
    assert len({tuple((hit.id, hit.score) for hit in answer) for answer in answers}) == 1


def test_a_table_keeps_all_its_fields(tmp_path):
    path = tmp_path / "pets.jsonl"
    path.write_text('{"id": 7, "text": "a cat", "legs": 4}\n{"id": 8, "text": "a bird", "legs": 2}\n')
    searcher = rl.Searcher.build(str(path), ["bm25", "jaccard"])
    assert searcher.document("8") == {"id": "8", "text": "a bird", "legs": 2}


def test_the_text_of_a_document_is_its_title_and_text_unless_fields_are_named():
    pets = [{"id": "a", "title": "cat", "text": "sits"}, {"id": "b", "title": "dog", "text": "sits"}]
    assert ids(rl.Searcher.build(pets, ["bm25", "bow"]).search("cat", k=1)) == ["a"]
    named = [{"id": "a", "name": "cat"}, {"id": "b", "name": "dog"}]
    assert ids(rl.Searcher.build(named, ["bm25", "bow"], text="name").search("dog", k=1)) == ["b"]
    with pytest.raises(InputError, match=r"none has a field 'title' or 'text', but the first one has id, name"):
        rl.Searcher.build(named, ["bm25"])


def test_a_field_of_numbers_is_a_part_for_vector_rankers():
    points = [{"id": str(n), "text": "x", "place": [float(n), 1.0]} for n in range(5)]
    searcher = rl.Searcher.build(points, {"near": "vectors(part=place, metric=l2)"})
    assert ids(searcher.search(item="3", k=2)) == ["3", "4"]
    assert "place" not in searcher.document("3")
    assert ids(searcher.search(vectors={"near": [4.1, 1.0]}, k=1)) == ["4"]


def test_rankers_that_are_objects_can_be_given():
    from rankloom.rankers import RANKERS as KNOWN

    searcher = rl.Searcher.build(documents(10), {"words": KNOWN.make("bow-cosine"), "bm25": "okapi"})
    assert searcher.rankers == ("words", "bm25")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"id": b"k1", "text": "x"}], "must be a string or a whole number; document 0 has b'k1'"),
        ([{"id": "\ud800", "text": "x"}], "must be a string or a whole number"),
        ([{"id": "a", "text": "x", "odd": object()}], "'odd' of document 0 cannot be stored: it is of type object"),
        ([], "There are no documents"),
        ({"a": 1}, "documents must be a list of texts or mappings, a data frame"),
        ([1, 2], "number 0 is of type int"),
        ([{"id": 1.5, "text": "x"}], "must be a string or a whole number; document 0 has 1.5"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "'a' is given twice"),
        ([{1: "x"}], "named by strings; document 0 has 1"),
    ],
)
def test_bad_documents_are_errors(given, message):
    with pytest.raises(InputError, match=message):
        rl.Searcher.build(given, ["bm25"])


def test_bad_rankers_are_errors():
    with pytest.raises(InputError, match="Unknown ranker 'bm52'"):
        rl.Searcher.build(["a"], ["bm52"])
    with pytest.raises(InputError, match="must be a spelling, a Ranker, or a function"):
        rl.Searcher.build(["a"], {"x": 3})
    with pytest.raises(InputError, match="at least one ranker"):
        rl.Searcher.build(["a"], [])
    with pytest.raises(InputError, match="needs images, which these items lack"):
        rl.Searcher.build(["a"], ["bic"])


# Answers


def test_a_hit_has_positions_scores_and_its_document(searcher):
    hit = searcher.search("supersonic wing", k=3)[0]
    assert hit.position == 1
    assert hit.document["topic"] == "wing"
    assert set(hit.ranks) == {"bm25", "dense"}
    lists = searcher.search("supersonic wing", k=3).lists
    for name, place in hit.ranks.items():
        if place is not None:
            assert lists[name][place - 1] == (hit.id, hit.scores[name])


def test_a_batch_gives_the_answers_of_its_queries(searcher):
    together = searcher.search(QUERIES, k=7)
    for query, answer in zip(QUERIES, together, strict=True):
        alone = searcher.search(query, k=7)
        assert [(hit.id, hit.score) for hit in alone] == [(hit.id, hit.score) for hit in answer]


def test_the_default_is_vote_for_words_and_weft_for_items(searcher):
    assert searcher.search("heat").method == "vote"
    assert searcher.search(item="d3").method == "weft"
    assert searcher.search(item=["d3", "d4"])[1][0].id == "d4"


def plain_votes(searcher, query, allowed=None):
    """Return {item: score} by the plain version."""
    state, numbers = searcher.state, np.flatnonzero(np.ones(len(searcher), bool) if allowed is None else allowed)
    lists = {name: r.replaced(item_ids=None) for name, r in searcher.lists({"q": query}, len(state)).items()}
    found = state.weft(tuple(lists)).vote_list([r.head(300) for r in lists.values()], 10, allowed=allowed)
    kept = [entries(r.among(numbers), 0)[:300] for r in lists.values()]
    near = [nearest(state.lists[name]) for name in lists]
    short = [name == "bm25" and len(own) < min(300, len(state)) for name, own in zip(lists, kept, strict=True)]
    symmetric = [name == "dense" for name in lists]
    return plain_vote.vote(kept, near, entries(found, 0), len(numbers), symmetric=symmetric, short=short)


def test_vote_is_that_of_the_plain_version(searcher):
    for query in QUERIES:
        expected, answer = plain_votes(searcher, query), searcher.search(query, k=60)
        assert len(answer) == len(expected)
        assert {hit.number: hit.score for hit in answer} == pytest.approx(expected, abs=2e-4)


def test_offset_skips_the_best(searcher):
    whole, rest = searcher.search("heart", k=8), searcher.search("heart", k=5, offset=3)
    assert ids(whole)[3:] == ids(rest)
    assert rest[0].position == 4


@pytest.mark.parametrize(
    "method", ["rrf", "combsum", "rrf(constant=20)", "fg", "weft", "vote(neighbors_weight=1)", "borda"]
)
def test_methods_can_be_chosen(searcher, method):
    answer = searcher.search("heart disease", k=5, method=method)
    assert len(answer) == 5
    assert answer.method.startswith(method.partition("(")[0])


def test_methods_of_a_collection_answer_items_only(searcher):
    assert searcher.search(item="d5", method="rkgraph", k=3)[0].id == "d5"
    with pytest.raises(InputError, match="rkgraph does not answer external queries; choose from"):
        searcher.search("heat", method="rkgraph")


def test_rankers_and_weights_can_be_chosen(searcher):
    one = searcher.search("heart", k=5, rankers=["bm25"], method="rrf")
    assert ids(one) == [entry.id for entry in one.lists["bm25"]][:5]
    assert list(one.lists) == ["bm25"]
    heavy = searcher.search("heart", k=5, weights={"dense": 0.0})
    assert heavy[0].ranks["bm25"] is not None
    with pytest.raises(InputError, match="fg does not use weights"):
        searcher.search("heart", method="fg", weights=[1, 2])
    with pytest.raises(InputError, match="Unknown ranker 'dens'"):
        searcher.search("heart", rankers=["dens"])


@pytest.mark.parametrize("method", ["rrf", "vote"])
def test_weights_are_in_the_order_in_which_rankers_are_named(searcher, method):
    def scores(**options):
        return {hit.id: hit.score for hit in searcher.search("heart", k=30, method=method, **options)}

    named = scores(weights={"dense": 2, "bm25": 1})
    assert scores(rankers=["dense", "bm25"], weights=[2, 1]) == named
    assert scores(rankers=["bm25", "dense"], weights=[1, 2]) == named
    assert scores(weights=[1, 2]) == named != scores(weights=[2, 1])  # of all, as the searcher has them


def test_a_vote_without_scores_reads_the_lists_of_found_items_alone(searcher, monkeypatch):
    lists = {name: ItemLists.of(ranks.replaced(scores=None), 60) for name, ranks in searcher.state.lists.items()}
    state, numbers = replace(searcher.state, item_lists=lists), np.array([3, 5, 17])
    listed = rl.Ranks([[17, 3], [5, PAD]], n_items=len(state))
    near, whole = state.nearest("bm25", [listed]), nearest_of(*lists["bm25"].base)
    assert len(near.items) == len(near.scores) == 3
    np.testing.assert_array_equal(near.items, whole.items[numbers])
    np.testing.assert_array_equal(near.scores, whole.scores[numbers])
    found = entries(rl.Searcher(state).rank({"q": "heart"}), 0)
    monkeypatch.setattr(State, "nearest", lambda state, name, numbers: nearest_of(*state.item_lists[name].base))
    assert entries(rl.Searcher(state).rank({"q": "heart"}), 0) == found


def test_a_table_of_an_answer_has_the_beginning_of_a_long_id():
    searcher = rl.Searcher.build([{"id": "x" * 10**6, "text": "a cat"}, {"id": "a  b", "text": "a cat"}], ["bm25"])
    _, *rows = searcher.search("cat").cells()
    assert [row[1] for row in rows] == ["x" * 199 + "…", "a  b"]


def test_vectors_can_be_given_for_a_ranker(searcher):
    vector = encode(["heart disease"])[0]
    given = searcher.search("heart disease", vectors={"dense": vector}, k=5)
    assert ids(given) == ids(searcher.search("heart disease", k=5))
    alone = searcher.search(vectors={"dense": vector}, k=5)
    assert list(alone.lists) == ["dense"]


@pytest.mark.parametrize("options", [{}, {"query": "x", "item": "d1"}, {"query": 5}, {"query": ["a", 5]}, {"item": 7}])
def test_odd_queries_are_errors(searcher, options):
    with pytest.raises(InputError):
        searcher.search(**options)


def test_an_image_is_no_query_for_texts(searcher):
    with pytest.raises(InputError, match=r"None of the rankers \(bm25, dense\) accepts images"):
        searcher.search(image=np.zeros((4, 4, 3), np.uint8))


def test_images_are_searched_by_images():
    pytest.importorskip("PIL")
    random = np.random.default_rng(0)
    images = [np.full((16, 16, 3), random.integers(0, 256, 3), np.uint8) for _ in range(12)]
    searcher = rl.Searcher.build([{"id": f"i{n}", "image": one} for n, one in enumerate(images)], ["bic", "gch"])
    answer = searcher.search(image=images[4], k=3)
    assert answer.method == "weft"  # an image is like an item
    assert answer[0].id == "i4"


# Explanations


@pytest.mark.parametrize(
    "method", ["vote", "weft", "fg", "vote(neighbors_weight=1)", "weft(cutoff=5)", "fg(comparator=mcs)"]
)
def test_the_parts_of_an_explanation_add_up_to_the_score(searcher, method):
    answer = searcher.search("thermal layer", k=6, method=method)
    for hit in answer:
        why = answer.explain(hit.id)
        assert why.item == hit.id
        assert sum(part.contribution for part in why.parts) == pytest.approx(hit.score, abs=1e-5)


WORDS = st.lists(st.sampled_from([*" ".join(QUERIES).split(), "nothing"]), min_size=1, max_size=4).map(" ".join)


@examples(500)
@given(WORDS, st.integers(1, 12), st.sampled_from([0, 0.35, 3]), st.sampled_from([None, [2, 0.5], [0, 1]]))
def test_explanations_of_votes_add_up_and_have_no_negative_part(searcher, query, k, neighbors, weights):
    answer = searcher.search(query, k=k, method=Vote(neighbors_weight=neighbors), weights=weights)
    for hit in answer:
        parts = answer.explain(hit.id).parts
        assert sum(part.contribution for part in parts) == pytest.approx(hit.score, abs=1e-5)
        assert all(part.contribution > 0 for part in parts)


def test_an_item_is_explained(searcher):
    answer = searcher.search(item="d3", k=4)
    assert sum(part.contribution for part in answer.explain("d3").parts) == pytest.approx(1.0, abs=1e-6)


def test_methods_without_an_explanation_say_so(searcher):
    with pytest.raises(InputError, match="search by vote, weft or fg"):
        searcher.search("heart", method="rrf").explain("d1")


# Tables


def test_an_answer_shows_as_a_frame_and_as_a_table(searcher):
    pytest.importorskip("pandas")
    answer = searcher.search("heart", k=3)
    frame = answer.to_frame()
    assert frame["id"].tolist() == ids(answer)
    assert {"position", "score", "bm25", "dense", "topic"} <= set(frame.columns)
    odd = rl.Searcher.build(["<b>bold</b> cat", "dog"], ["bm25", "bow"]).search("cat")
    assert "&lt;b&gt;bold" in odd._repr_html_()
    assert searcher.search("zzz", rankers=["bm25"]).to_frame().empty


def test_evaluation_compares_rankers_rrf_and_the_default(searcher):
    queries = {"q1": "thermal slab", "q2": "supersonic wing", "q3": "heart patient"}
    topics = {"q1": "heat", "q2": "wing", "q3": "heart"}
    qrels = {q: {d["id"]: 1 for d in searcher.documents if d["topic"] == topic} for q, topic in topics.items()}
    outcome = searcher.evaluate(queries, qrels)
    assert list(outcome.means()) == ["bm25", "dense", "rrf", "vote"]
    assert outcome.means()["vote"]["ndcg@10"] > 0.8
    assert "difference from vote; *: significant (paired t test over queries, p < 0.05). 3 queries, first 100" in str(
        outcome
    )
    assert "<table>" in outcome._repr_html_()
    run = searcher.rank(queries, 100, method="rrf")
    assert rl.evaluate(run, qrels=qrels, measures=["ndcg@10"])["ndcg@10"] == outcome.means()["rrf"]["ndcg@10"]


def test_evaluation_has_intervals_and_effect_sizes():
    """By hand: means of 1, 1/2 and 1/3, against three times 1."""
    values = [1, 1 / 2, 1 / 3]
    per_query = {"a": {"mrr": np.array(values)}, "vote": {"mrr": np.ones(3)}}
    outcome = Evaluation(per_query, "vote", 10)
    mean, spread = statistics.mean(values), statistics.stdev(values)
    marked, effect = f"{mean:.4f} {mean - 1:+.4f}", f"{(mean - 1) / spread:+.2f}"
    assert outcome.cells()[1:] == [["a", marked, "0.3333 1.0000", effect], ["vote", "1.0000", "1.0000 1.0000", ""]]
    assert all(text in str(outcome) for text in (marked, effect, "Cohen's d", "by bootstrap"))
    row, own = outcome.rows()
    assert (row["low mrr"], row["difference mrr"]) == pytest.approx((1 / 3, mean - 1))
    assert row["effect mrr"] == pytest.approx((mean - 1) / spread)
    assert own["effect mrr"] is None


# Filters: equal to brute force over the allowed documents


def brute(searcher, query, method, allowed, k):
    """Rank everything, keep what is allowed, then fuse."""
    state = searcher.state
    n, numbers = len(state), np.flatnonzero(allowed)
    lists = {name: ranks.replaced(item_ids=None) for name, ranks in searcher.lists({"q": query}, n).items()}
    kept = [ranks.among(numbers).head(100) for ranks in lists.values()]
    external = [ranks.head(100) for ranks in lists.values()]
    weft = state.weft(tuple(lists)).search(external, n).replaced(item_ids=None).among(numbers)
    if method == "weft":
        return weft.head(k)
    if method == "fg":
        graphs = state.fusion_graphs(tuple(lists))
        return graphs.search(external, n).replaced(item_ids=None).among(numbers).head(k)
    return rl.fuse(kept, method=method, k=k)


@examples(500)
@given(
    st.sampled_from(["weft", "fg", "rrf", "combsum"]),
    st.sampled_from(QUERIES),
    st.integers(0, 2**60 - 1),
    st.integers(1, 12),
)
def test_filters_equal_brute_force(searcher, method, query, bits, k):
    allowed = np.array([bits >> n & 1 for n in range(60)], np.bool_)
    names = {searcher.documents.ids[n] for n in np.flatnonzero(allowed).tolist()}
    answer = searcher.search(query, k=k, method=method, where=lambda document: document["id"] in names)
    expected = brute(searcher, query, method, allowed, k)
    found = [i for i in expected.items[0].tolist() if i != PAD]
    assert ids(answer) == [searcher.documents.ids[n] for n in found]
    assert [hit.score for hit in answer] == expected.scores[0, : len(found)].tolist()


@examples(100)
@given(st.sampled_from(QUERIES), st.integers(1, 2**60 - 1), st.integers(1, 12))
def test_filtered_votes_are_those_of_the_plain_version(searcher, query, bits, k):
    allowed = np.array([bits >> n & 1 for n in range(60)], np.bool_)
    names = {searcher.documents.ids[n] for n in np.flatnonzero(allowed).tolist()}
    answer = searcher.search(query, k=k, where=lambda document: document["id"] in names)
    expected = plain_votes(searcher, query, allowed)
    best = sorted(expected.values(), reverse=True)[:k]
    assert [hit.score for hit in answer] == pytest.approx(best, abs=2e-4)
    assert [expected[hit.number] for hit in answer] == pytest.approx(best, abs=2e-4)


def test_a_mapping_filters_by_fields(searcher):
    answer = searcher.search("heart", k=60, where={"topic": ["heart", "heat"], "year": 2001})
    assert len(answer) > 0
    assert all(hit.document["topic"] in ("heart", "heat") and hit.document["year"] == 2001 for hit in answer)
    with pytest.raises(InputError, match="Unknown field 'color'; choose from id, text, title, topic, year"):
        searcher.search("heart", where={"color": "red"})
    with pytest.raises(InputError, match="where must be"):
        searcher.search("heart", where=5)


def test_items_are_filtered_too(searcher):
    answer = searcher.search(item="d3", k=10, where={"year": 2002}, method="rrf")
    assert all(hit.document["year"] == 2002 for hit in answer)
    assert len(searcher.search(item="d3", k=10, where={"year": 2002})) > 0


@pytest.mark.parametrize("method", ["rrf", "combsum", "borda", "vote", "weft", "fg"])
def test_pages_joined_are_one_long_answer(method):
    searcher = rl.Searcher.build(documents(250), {"bm25": "bm25", "dense": encode})
    pages = [hit.id for page in range(12) for hit in searcher.search("heart flow", 10, offset=10 * page, method=method)]
    assert len(pages) == len(set(pages)) > 90
    assert pages[:100] == ids(searcher.search("heart flow", 100, method=method))


def test_long_answers_have_as_many_hits_as_requested():
    searcher = rl.Searcher.build(documents(300), {"bm25": "bm25", "dense": encode}, depth=50)
    assert len(searcher.search("heart flow", k=280)) == 280


@pytest.mark.parametrize("options", [{"query": []}, {"image": []}, {"item": []}])
def test_an_empty_batch_has_no_answers(searcher, options):
    assert searcher.search(**options) == []


def test_an_item_may_be_asked_twice(searcher):
    first, second = searcher.search(item=["d1", "d1"], k=3)
    assert ids(first) == ids(second)


def test_one_answer_comes_back_for_one_query_of_any_kind(searcher):
    assert searcher.search("heart", vectors={"dense": encode(["heart"])[0]}).query == "heart"
    assert len(searcher.search(["heart"], ids=["q"])) == 1


def test_weights_may_name_rankers_that_do_not_accept_the_query():
    points = [{**one, "place": [float(n), 1]} for n, one in enumerate(documents(12))]
    searcher = rl.Searcher.build(points, {"bm25": "bm25", "near": "vectors(part=place, metric=l2)"})
    assert ids(searcher.search("heart", weights={"near": 2, "bm25": 1})) == ids(searcher.search("heart"))
    with pytest.raises(InputError, match="Unknown ranker 'far'"):
        searcher.search("heart", weights={"far": 2})


def test_a_list_of_numbers_is_data_unless_a_ranker_uses_it():
    rated = [{"id": "a", "text": "cat", "ratings": [4.0, 5.0]}, {"id": "b", "text": "dog", "ratings": [3.0]}]
    searcher = rl.Searcher.build(rated, ["bm25", "bow"])
    assert searcher.document("a")["ratings"] == [4.0, 5.0]
    with pytest.raises(InputError, match="vector of one length in every document; document 1 has"):
        rl.Searcher.build(rated, ["vectors(part=ratings)"])


def test_documents_without_an_id_get_numbers_that_are_free():
    searcher = rl.Searcher.build([{"id": "0", "text": "a cat"}, {"text": "a dog"}], ["bm25", "bow"])
    assert list(searcher.documents.ids) == ["0", "1"]
    searcher.add([{"id": "2", "text": "a bird"}])
    searcher.add(["a fish"])
    assert list(searcher.documents.ids)[-1] == "3"


def test_values_of_documents_become_plain_data():
    from datetime import date
    from decimal import Decimal
    from uuid import UUID

    one = {"id": UUID(int=7), "text": "half a \ud800", "price": Decimal("1.5"), "day": date(2020, 1, 2), "tags": {"x"}}
    stored = rl.Searcher.build([one, {"id": 2, "text": "y"}], ["bm25", "bow"]).documents[0]
    assert stored == {
        "id": str(UUID(int=7)), "text": "half a \ufffd", "price": 1.5, "day": "2020-01-02", "tags": ["x"],
    }  # fmt: skip


def test_filters_look_into_lists_and_take_any_sequence_of_values():
    tagged = [{"id": "a", "text": "cat", "tags": ["x", "y"], "n": 1}, {"id": "b", "text": "cat", "ok": True, "n": None}]
    searcher = rl.Searcher.build(tagged, ["bm25", "bow"])
    assert ids(searcher.search("cat", where={"tags": "y"})) == ["a"]
    assert ids(searcher.search("cat", where={"n": range(3)})) == ["a"]
    assert ids(searcher.search("cat", where={"ok": True})) == ["b"]
    with pytest.raises(InputError, match="'ok' is true or false; got 1"):
        searcher.search("cat", where={"ok": 1})
    assert ids(searcher.search("cat", where={"n": np.array([1, 2])})) == ["a"]


def test_the_last_method_is_the_reference_of_an_evaluation(searcher):
    queries, qrels = {"q1": "heat", "q2": "heart"}, {"q1": {"d1": 1}, "q2": {"d2": 1}}
    outcome = searcher.evaluate(queries, qrels, methods=("vote", "rrf", "auto"))
    assert (list(outcome.means()), outcome.reference) == (["bm25", "dense", "rrf", "vote"], "vote")
    named = rl.Searcher.build(documents(5), {"rrf": "bm25", "b": "bow"})
    with pytest.raises(InputError, match="'rrf' has the name of a method"):
        named.evaluate(queries, qrels)


def test_a_ranker_may_be_named_weft():
    searcher = rl.Searcher.build(documents(20), {"weft": "bm25", "dense": encode})
    answer = searcher.search("heart", k=3)
    assert sum(part.contribution for part in answer.explain(answer[0].id).parts) == pytest.approx(
        answer[0].score, abs=1e-5
    )


def test_columns_of_the_result_win_over_fields_of_documents():
    pytest.importorskip("pandas")
    searcher = rl.Searcher.build([{"id": "a", "text": "cat", "score": 99, "bm25": "x"}], ["bm25", "bow"])
    row = searcher.search("cat").to_frame().iloc[0]
    assert row["score"] != 99
    assert row["bm25"] == 1


@pytest.mark.parametrize("options", [{"vectors": [0.0]}, {"where": {"year": object()}}])
def test_odd_options_are_errors(searcher, options):
    with pytest.raises(InputError, match=r"vectors must be|'year' in where needs a text, number, bool or date"):
        searcher.search("heart", **options)


def test_odd_arguments_are_errors(searcher):
    with pytest.raises(InputError, match="Give rankers by name"):
        rl.Searcher.build(["a"], encode)
    with pytest.raises(InputError, match="Give a list of ids"):
        searcher.delete(None)
    with pytest.raises(InputError, match="Ids are strings"):
        searcher.delete([["d1"]])
    assert ids(searcher.search("heart", rankers="bm25", method="rrf", k=2))


def test_a_method_may_be_a_value():
    searcher = rl.Searcher.build(["a cat", "a dog", "a cat and a dog"], rankers={"words": "okapi"})
    for value in (RRF(constant=20), Vote(neighbors_weight=0.5)):
        spelled = searcher.search("cat dog", method=str(value))
        assert [(hit.id, hit.score) for hit in searcher.search("cat dog", method=value)] == [
            (hit.id, hit.score) for hit in spelled
        ]
