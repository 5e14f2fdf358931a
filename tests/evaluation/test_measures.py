import csv
import gzip
import re
import warnings
from collections import Counter, defaultdict
from math import log, log2
from shutil import which

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rankloom import Ids, RankloomWarning, Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import MEASURES, Measure, evaluate, truth
from rankloom.evaluation.measures import measure_forms
from rankloom.evaluation.truth import Judged
from strategies import collections

ALL = ["ndcg", "ndcg@3", "map", "map@3", "p@3", "recall@3", "mrr", "mrr@3", "ns", "bullseye"]
#: our name -> that of trec_eval
TREC = {
    "ndcg": "ndcg",
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "map@10": "map_cut_10",
    "p@5": "P_5",
    "recall@100": "recall_100",
    "mrr": "recip_rank",
    "bpref": "bpref",
    "r-precision": "Rprec",
    "success@5": "success_5",
    "iprec@0": "iprec_at_recall_0.00",
    "iprec@0.1": "iprec_at_recall_0.10",
    "iprec@0.5": "iprec_at_recall_0.50",
    "iprec@1": "iprec_at_recall_1.00",
}

# Measures as values


def test_exponential_gains_are_those_of_trec_eval_with_the_gains_as_grades():
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 5)) for d in rng.permutation(30)[:15]} for q in range(20)}
    run = {q: {f"d{d}": float(s) for d, s in zip(rng.permutation(30)[:20], rng.random(20), strict=True)} for q in qrels}
    exponential = {q: {item: 2**grade - 1 for item, grade in grades.items()} for q, grades in qrels.items()}
    expected = pytrec_eval.RelevanceEvaluator(exponential, {"ndcg_cut.10"}).evaluate(run)
    found = evaluate(Ranks.from_dict(run), qrels=qrels, measures="ndcg(gain=exp)@10", per_query=True)
    assert found["ndcg(gain=exp)@10"] == pytest.approx([expected[q]["ndcg_cut_10"] for q in qrels])
    binary = {q: {item: min(grade, 1) for item, grade in grades.items()} for q, grades in qrels.items()}
    both = evaluate(Ranks.from_dict(run), qrels=binary, measures=["ndcg(gain=exp)@10", "ndcg@10"])
    assert both["ndcg(gain=exp)@10"] == both["ndcg@10"]
    with pytest.raises(InputError, match="With gain=exp, a grade must be from 0 to 50; got 60"):
        evaluate(Ranks.from_dict(run), qrels={"q0": {"d1": 60}}, measures="ndcg(gain=exp)@10")


@pytest.mark.parametrize("text", [*ALL, "ndcg@1000", "p@1", "rbp(p=0.95)", "err(max=3)@20", "iprec@0.1", "iprec@0"])
def test_a_measure_parses_back(text):
    measure = Measure.parse(text)
    assert str(measure) == text
    assert Measure.parse(str(measure)) == measure
    assert len({measure, Measure.parse(text)}) == 1


def test_a_measure_is_a_name_and_a_cutoff():
    assert Measure.parse("ndcg@10") == Measure("ndcg", 10)
    assert Measure.parse("map") == Measure("map")


NAMES = "bpref, bullseye, err, f1, hit_rate, hits, iprec, map, mrr, ndcg, ns, p, r-precision, rbp, recall, success"


def test_a_fractional_cutoff_raises():
    with pytest.raises(InputError, match=r"at least 1; got 2\.5"):
        Measure("ndcg", 2.5)


def test_the_registry_has_every_measure():
    assert ", ".join(sorted(MEASURES)) == NAMES


# Labels, by hand: items 0, 1, 2 are of class "a", item 3 of class "b"

LABELS = ["a", "a", "a", "b"]
RANKS = Ranks([[0, 3, 1, 2], [3, 1, -1, -1], [-1, -1, -1, -1], [3, 0, 1, 2]], n_items=4)
BY_HAND = {
    # relevant: 0: three, at 1, 3, 4; 1: three, one found, at 2; 2: three, none found; 3: one, at 1
    "ndcg": [
        (1 + 1 / log2(4) + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / log2(4)),
        (1 / log2(3)) / (1 + 1 / log2(3) + 1 / log2(4)),
        0,
        1,
    ],
    "ndcg@2": [1 / (1 + 1 / log2(3)), (1 / log2(3)) / (1 + 1 / log2(3)), 0, 1],
    "map": [(1 / 1 + 2 / 3 + 3 / 4) / 3, (1 / 2) / 3, 0, 1],
    "map@3": [(1 / 1 + 2 / 3) / 3, (1 / 2) / 3, 0, 1],
    "p@2": [1 / 2, 1 / 2, 0, 1 / 2],
    "recall@3": [2 / 3, 1 / 3, 0, 1],
    "mrr": [1, 1 / 2, 0, 1],
    "mrr@1": [1, 0, 0, 1],
    "ns": [3, 1, 0, 1],
    "bullseye": [3 / 3, 1 / 3, 0, 1],
    # N = 1 item of another class: before two of the relevant items of 0, before the one of 1; N = 3 for item 3
    "bpref": [(1 + 0 + 0) / 3, 0, 0, 1],
    "r-precision": [2 / 3, 1 / 3, 0, 1],
    "f1@2": [2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), 0, 2 / 3],
    "hits@3": [2, 1, 0, 1],
    "success@1": [1, 0, 0, 1],
    "hit_rate@2": [1, 1, 0, 1],
    "rbp(p=0.5)": [(1 + 1 / 4 + 1 / 8) / 2, 1 / 4, 0, 1 / 2],
    "rbp(p=0.5)@3": [(1 + 1 / 4) / 2, 1 / 4, 0, 1 / 2],
    # each relevant item stops half of the readers
    "err(max=1)": [1 / 2 + 1 / 2 * 1 / 2 / 3 + 1 / 4 * 1 / 2 / 4, 1 / 2 / 2, 0, 1 / 2],
    "iprec@0.5": [3 / 4, 0, 0, 1],  # the second of three: precision is highest at 4
    "iprec@1": [3 / 4, 0, 0, 1],
    "iprec@0": [1, 1 / 2, 0, 1],
}


@pytest.mark.parametrize(("measure", "values"), BY_HAND.items())
def test_labels_by_hand(measure, values):
    result = evaluate(RANKS, labels=LABELS, measures=[measure], per_query=True)
    assert list(result) == [measure]
    np.testing.assert_allclose(result[measure], values, rtol=1e-15)
    assert evaluate(RANKS, labels=LABELS, measures=measure) == {measure: pytest.approx(sum(values) / 4, rel=1e-15)}


def test_bullseye_uses_twice_the_size_of_the_class():
    ranks = Ranks([[0, 2, 3, 4, 1, 5], [0, 2, 3, 1, 4, 5], [2, 0, 3, 4, 5, 1]])
    labels = [0, 0, 1, 1, 1, 1]  # the first class has 2 items: 4 positions count; the second 4: all 6 count
    result = evaluate(ranks, labels=labels, query_labels=[0, 0, 1], measures="bullseye", per_query=True)
    assert result["bullseye"].tolist() == [1 / 2, 2 / 2, 4 / 4]


def test_the_default_is_ndcg_at_10():
    assert list(evaluate(RANKS, labels=LABELS)) == ["ndcg@10"]


def test_measures_keep_their_order():
    assert list(evaluate(RANKS, labels=LABELS, measures=["ns", Measure("p", 2), "map"])) == ["ns", "p@2", "map"]


@pytest.mark.parametrize(
    "labels",
    [
        [7, 7, 7, -2],
        np.array([1.5, 1.5, 1.5, 0.0]),
        np.array([True, True, True, False]),
        np.array(["x", "x", "x", "yy"], object),
    ],
)
def test_labels_of_any_type(labels):
    assert evaluate(RANKS, labels=labels, measures=ALL) == evaluate(RANKS, labels=LABELS, measures=ALL)


def test_external_queries_have_their_own_labels():
    ranks = Ranks([[0, 3], [3, 1], [2, 1]], n_items=4)
    result = evaluate(
        ranks, labels=LABELS, query_labels=["b", "b", "c"], measures=["mrr", "recall@2", "ndcg"], per_query=True
    )
    assert result["mrr"].tolist() == [1 / 2, 1, 0]
    assert result["recall@2"].tolist() == [1, 1, 0]  # class "c" is empty
    np.testing.assert_allclose(result["ndcg"], [1 / log2(3), 1, 0])


def test_rows_with_ids_are_matched_to_labels_by_id():
    ranks = Ranks([[1, 0], [0, 2]], item_ids=Ids(["x", "y", "z"]), query_ids=Ids(["z", "x"]))
    result = evaluate(ranks, labels=["a", "b", "a"], measures="recall@2", per_query=True)
    assert result["recall@2"].tolist() == [1 / 2, 2 / 2]


def test_any_block_size_gives_the_same_bits(monkeypatch):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 5, 60)
    ranks = Ranks(rng.permuted(np.tile(np.arange(60), (60, 1)), axis=1))
    expected = evaluate(ranks, labels=labels, measures=ALL, per_query=True)
    monkeypatch.setattr(truth, "BLOCK_CELLS", 7 * 60)
    parts = evaluate(ranks, labels=labels, measures=ALL, per_query=True)
    assert all(parts[name].tobytes() == expected[name].tobytes() for name in ALL)


@given(collections(m=1), st.data())
def test_labels_and_equivalent_qrels_agree(rankers, data):
    ranks = rankers[0]
    labels = data.draw(st.lists(st.integers(0, 2), min_size=ranks.n_items, max_size=ranks.n_items))
    qrels = {str(q): {str(i): 1 for i, c in enumerate(labels) if c == own} for q, own in enumerate(labels)}
    by_labels = evaluate(ranks, labels=labels, measures=ALL, per_query=True)
    by_qrels = evaluate(ranks, qrels=qrels, measures=ALL, per_query=True)
    for name in ALL:
        np.testing.assert_allclose(by_labels[name], by_qrels[name], rtol=1e-12)
        assert (by_labels[name] >= 0).all()
        assert (by_labels[name] <= (4 if name == "ns" else 1 + 1e-12)).all()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=10))
def test_a_perfect_list_has_the_best_value(labels):
    same = np.equal.outer(labels, labels)
    result = evaluate(
        Ranks.from_similarities(same, kind="collection"), labels=labels, measures=["ndcg", "ndcg@3", "map", "mrr"]
    )
    assert result == pytest.approx(dict.fromkeys(result, 1.0))


# Qrels, by hand

RUN = Ranks.from_dict({"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"c": 2.0, "a": 1.0}})


def test_grades_are_gains_by_hand():
    qrels = {"q1": {"b": 3, "c": 1, "z": 2, "a": 0}}  # z is relevant but not in the ranks
    result = evaluate(RUN, qrels=qrels, measures=["ndcg", "ndcg@2", "map", "recall@3", "p@2", "ns"])
    assert result == pytest.approx(
        {
            "ndcg": (3 / log2(3) + 1 / log2(4)) / (3 + 2 / log2(3) + 1 / log2(4)),
            "ndcg@2": (3 / log2(3)) / (3 + 2 / log2(3)),
            "map": (1 / 2 + 2 / 3) / 3,
            "recall@3": 2 / 3,
            "p@2": 1 / 2,
            "ns": 2,
        }
    )


def test_the_mean_is_over_all_judged_queries():
    qrels = {"q9": {"a": 1}, "q1": {"a": 1}, "q5": {"a": 0}}  # q9 and q5 have no list; q2 is not judged
    result = evaluate(RUN, qrels=qrels, measures="mrr", per_query=True)
    assert result["mrr"].tolist() == [0, 1, 0]  # in the order of the qrels
    assert evaluate(RUN, qrels=qrels, measures="mrr") == {"mrr": 1 / 3}


def test_a_judged_query_without_a_relevant_item_counts_0():
    result = evaluate(RUN, qrels={"q1": {"a": 0, "b": -1}, "q2": {"c": 1}}, measures=ALL, per_query=True)
    assert {name: values[0] for name, values in result.items()} == dict.fromkeys(ALL, 0)


def test_ranks_without_ids_are_judged_by_number():
    ranks = Ranks([[2, 0, 1]])
    assert evaluate(ranks, qrels={"0": {"0": 1, "x": 1, "01": 1, "7": 1}}, measures=["mrr", "recall@3"]) == {
        "mrr": 1 / 2,
        "recall@3": 1 / 4,
    }


def test_qrels_may_be_a_file(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 b 1\nq2 0 c 2\n")
    for given_path in (path, str(path)):
        assert evaluate(RUN, qrels=given_path, measures="mrr") == {"mrr": (1 / 2 + 1) / 2}


def test_ties_are_as_given_or_by_descending_id():
    run = Ranks.from_dict({"q": {"b": 1.0, "c": 1.0, "a": 1.0, "d": 0.5}, "p": {"d": 1.0}})
    qrels = {"q": {"a": 1}}
    assert evaluate(run, qrels=qrels, measures="mrr") == {"mrr": 1 / 3}
    assert evaluate(run, qrels={"q": {"b": 1}}, measures="mrr", ties="trec") == {"mrr": 1 / 2}  # c, b, a, d
    assert evaluate(run, qrels=qrels, measures="mrr", ties="trec") == {"mrr": 1 / 3}
    assert evaluate(run, qrels={"q": {"d": 1}, "p": {"d": 1}}, measures="mrr", ties="trec") == {"mrr": (1 / 4 + 1) / 2}


# Against trec_eval; the files are read without the readers of the package


def rows_of(path):
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [line.split() for line in lines if line.strip()]


def read_run_as_dict(path):
    run = {}
    for query, _, item, _, score, *_ in rows_of(path):
        run.setdefault(query, {})[item] = float(score)
    return run


def read_qrels(path):
    qrels = {}
    for query, _, item, grade in rows_of(path):
        qrels.setdefault(query, {})[item] = int(grade)
    return qrels


def trec_eval(run, qrels):
    """Return the values of each judged query, 0 if the run has no list, as trec_eval -c."""
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values()))
    by_query = evaluator.evaluate({query: row for query, row in run.items() if row})
    return {ours: np.array([by_query.get(q, {}).get(theirs, 0.0) for q in qrels]) for ours, theirs in TREC.items()}


def assert_matches_trec_eval(ranks, run, qrels):
    ours = evaluate(ranks, qrels=qrels, measures=list(TREC), per_query=True, ties="trec")
    for name, values in trec_eval(run, qrels).items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("seed", range(5))
def test_random_graded_runs_match_trec_eval(seed):
    rng = np.random.default_rng(seed)
    docs = [f"d{i}" for i in range(300)]
    qrels, run = {}, {}
    for q in range(30):
        judged = rng.choice(docs, 60, replace=False)
        qrels[f"q{q}"] = {d: int(g) for d, g in zip(judged, rng.integers(-1, 5, 60), strict=True)}
        found = rng.choice(docs, rng.integers(0, 250), replace=False)
        run[f"q{q + 3}"] = {d: float(s) for d, s in zip(found, rng.integers(0, 20, len(found)), strict=True)}  # ties
    qrels["q7"] = {"d0": 0, "d1": 0}
    assert_matches_trec_eval(Ranks.from_dict(run), run, qrels)


@pytest.mark.parametrize(
    ("system", "reported"),  # from reported_MAP_MEASURES.txt, published with the runs
    [
        ("BM25b0.75_1", 0.1828),
        *(
            pytest.param(*row, marks=pytest.mark.long)
            for row in {
                "PL2c1.0_4": 0.1683,
                "BB2c1.0_9": 0.1882,
                "DFR_BM25c1.0_2": 0.1835,
                "DLH13_7": 0.1830,
                "IFB2c1.0_8": 0.1881,
                "InL2c1.0_6": 0.1854,
                "In_expC2c1.0_5": 0.1826,
                "LGDc1.0_3": 0.1882,
                "TF_IDF_0": 0.1821,
            }.items()
        ),
    ],
)
def test_trec7_runs_match_trec_eval(shared, system, reported):
    folder = shared / "data" / "trec7-terrier-runs"
    run = read_run_as_dict(folder / "runs" / f"{system}.res.gz")
    qrels = read_qrels(folder / "qrels.trec7.txt.gz")
    ranks = Ranks.from_dict(run)
    assert_matches_trec_eval(ranks, run, qrels)
    assert evaluate(ranks, qrels=qrels, measures="map", ties="trec")["map"] == pytest.approx(reported, abs=5e-5)
    assert evaluate(ranks, qrels=folder / "qrels.trec7.txt.gz", measures="map", ties="trec")["map"] == pytest.approx(
        reported, abs=5e-5
    )


OHSUMED = ["system-a/" + name for name in ("bm25", "bool", "prf", "se", "se-prf", "tf", "tfidf")] + [
    "system-b/" + name for name in ("Boolean", "Own", "PRF", "Tf", "TfidfBoth")
]


@pytest.mark.parametrize("system", OHSUMED)
def test_ohsumed_runs_match_trec_eval_and_reported_values(shared, system):
    folder = shared / "data" / "ohsumed-trec9-runs"
    run = read_run_as_dict(folder / f"{system}.run")
    qrels = read_qrels(folder / "qrels.ohsu.88-91")
    ranks = Ranks.from_dict(run)
    assert_matches_trec_eval(ranks, run, qrels)
    with (folder / "system-a" / "reported_trec_eval.tsv").open() as lines:
        reported = {f"system-a/{row['runid']}": row for row in csv.DictReader(lines, delimiter="\t")}
    if system in reported:
        wanted = {"map": "map", "mrr": "recip_rank", "p@5": "P_5", "p@10": "P_10", "p@30": "P_30"}
        ours = evaluate(ranks, qrels=qrels, measures=list(wanted), ties="trec")
        assert ours == pytest.approx({m: float(reported[system][t]) for m, t in wanted.items()}, abs=5.1e-5)


def cranfield_run(folder, k1=1.2, b=0.75):
    """Return a BM25 run over the 1400 documents, with scores rounded to make many ties."""
    text = (folder / "cran.all.1400.xml").read_text()
    docs = dict(re.findall(r"<docno>(\d+)</docno>(.*?)</doc>", text, re.DOTALL))
    counts = {doc: Counter(re.findall(r"[a-z]+", re.sub(r"<.*?>", " ", body))) for doc, body in docs.items()}
    sizes = {doc: words.total() for doc, words in counts.items()}
    mean = sum(sizes.values()) / len(sizes)
    found = defaultdict(list)
    for doc, words in counts.items():
        for word, count in words.items():
            found[word].append((doc, count))
    run = {}
    queries = re.findall(r"<title>(.*?)</title>", (folder / "cran.qry.xml").read_text(), re.DOTALL)
    for number, query in enumerate(queries, 1):
        scores = Counter()
        for word in set(re.findall(r"[a-z]+", query)) & found.keys():
            idf = log(1 + (len(docs) - len(found[word]) + 0.5) / (len(found[word]) + 0.5))
            for doc, count in found[word]:
                scores[doc] += idf * count / (count + k1 * (1 - b + b * sizes[doc] / mean))
        run[str(number)] = {doc: round(score, 1) for doc, score in scores.most_common(200)}
    return run


def test_a_cranfield_run_with_many_ties_matches_trec_eval_and_ir_measures(shared):
    folder = shared / "data" / "cranfield"
    run, qrels = cranfield_run(folder), read_qrels(folder / "cranqrel.trec.txt")
    assert len(run) == len(qrels) == 225
    assert sum(len(row) - len(set(row.values())) for row in run.values()) > 10_000  # ties
    ranks = Ranks.from_dict(run)
    assert_matches_trec_eval(ranks, run, qrels)
    assert_matches_ir_measures(ranks, run, qrels)
    given_order = evaluate(ranks, qrels=qrels, measures="map")["map"]
    assert 0.2 < given_order != evaluate(ranks, qrels=qrels, measures="map", ties="trec")["map"]


# Against ir_measures; its RR@10 (from the MS MARCO script) breaks ties differently from its other measures

IR = {
    "ndcg": ir_measures.nDCG,
    "ndcg@10": ir_measures.nDCG @ 10,
    "map": ir_measures.AP,
    "map@10": ir_measures.AP @ 10,
    "p@5": ir_measures.P @ 5,
    "recall@100": ir_measures.R @ 100,
    "mrr": ir_measures.RR,
    "bpref": ir_measures.Bpref,
    "r-precision": ir_measures.Rprec,
    "success@5": ir_measures.Success @ 5,
    "iprec@0.2": ir_measures.IPrec @ 0.2,
}


def assert_matches_ir_measures(ranks, run, qrels, theirs=IR):
    ours = evaluate(ranks, qrels=qrels, measures=list(theirs), per_query=True, ties="trec")
    queries = list(qrels)
    by_query = {name: np.zeros(len(queries)) for name in theirs}
    names = {str(measure): name for name, measure in theirs.items()}
    for one in ir_measures.iter_calc(list(theirs.values()), qrels, run):
        by_query[names[str(one.measure)]][queries.index(one.query_id)] = one.value
    for name, values in by_query.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("path", ["ohsumed-trec9-runs/system-a/se.run", "trec7-terrier-runs/runs/TF_IDF_0.res.gz"])
def test_real_runs_match_ir_measures(shared, path):
    qrels = "qrels.ohsu.88-91" if path.startswith("ohsumed") else "qrels.trec7.txt.gz"
    run = read_run_as_dict(shared / "data" / path)
    judged = read_qrels(shared / "data" / path.split("/")[0] / qrels)
    assert_matches_ir_measures(Ranks.from_dict(run), run, judged)
    untied = {query: {item: -float(column) for column, item in enumerate(row)} for query, row in run.items()}
    assert_matches_ir_measures(Ranks.from_dict(untied), untied, judged, {"mrr@10": ir_measures.RR @ 10})


# Errors

WRONG = {
    "none": ({}, r"Give either labels .* or qrels; got neither\.$"),
    "both": ({"labels": LABELS, "qrels": {"0": {"0": 1}}}, r"or qrels; got labels and qrels\.$"),
    "query labels with qrels": (
        {"qrels": {"0": {"0": 1}}, "query_labels": LABELS},
        r"or qrels; got query_labels and qrels\.$",
    ),
    "query labels alone": ({"query_labels": LABELS}, r"or qrels; got query_labels\.$"),
    "too few labels": ({"labels": [1, 2]}, r"labels must be one for each item, 4 in all; got the shape \(2,\)"),
    "2-d labels": ({"labels": [[1, 2, 3, 4]]}, r"got the shape \(1, 4\)"),
    "ragged labels": (
        {"labels": [[1], [2, 3], [4], [5]]},
        "labels must be one for each item; got nested lists",
    ),
    "too few query labels": ({"labels": LABELS, "query_labels": ["a"]}, "query_labels must be one for each row, 4"),
    "labels of two types": ({"labels": LABELS, "query_labels": [1, 2, 3, 4]}, "of the same type; got <U1 and int64"),
    "a label missing": ({"labels": ["a", None, "b", "b"]}, "all numbers or all strings, none missing; got object"),
    "NaN": ({"labels": [1.0, np.nan, 2.0, 2.0]}, "none missing; got float64 with NaN"),
    "qrels of other queries": ({"qrels": {"q1": {"0": 1}}}, "judge none of the queries: they have 'q1', .* have '0'"),
    "integers as ids": ({"qrels": {0: {0: 1}}}, "judge none of the queries: they have 0, .* have '0'"),
    "no qrels": ({"qrels": {}}, "judge none of the queries: they have none"),
    "no measures": ({"labels": LABELS, "measures": []}, "give at least one measure"),
    "unknown measure": ({"labels": LABELS, "measures": ["mpa"]}, r"Unknown measure 'mpa'; .*Did you mean 'map'\?"),
    "unknown ties": ({"labels": LABELS, "ties": "trek"}, r"Unknown tie-breaking rule 'trek'; .*Did you mean 'trec'\?"),
    "ties without scores": ({"labels": LABELS, "ties": "trec"}, "ties='trec' needs scores"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_bad_input_raises(options, message):
    with pytest.raises(InputError, match=message):
        evaluate(RANKS, **options)


def test_empty_ranks_raise():
    with pytest.raises(InputError, match="nothing to evaluate; the ranks have no rows"):
        evaluate(Ranks(np.empty((0, 3)), n_items=0), labels=[])


def test_external_queries_need_labels():
    with pytest.raises(InputError, match="row i must be item i; got 1 rows and 2 items"):
        evaluate(Ranks([[0, 1]]), labels=[0, 1])
    with pytest.raises(InputError, match=r"Query 'q' is not an item.*Give query_labels"):
        evaluate(Ranks.from_dict({"q": ["a"]}), labels=[0])


def test_lists_of_depth_0_score_0():
    empty = Ranks(np.empty((2, 0)), n_items=2)
    assert evaluate(empty, labels=[0, 1], measures=ALL) == dict.fromkeys(ALL, 0)
    assert evaluate(empty, qrels={"0": {"1": 1}}, measures=ALL) == dict.fromkeys(ALL, 0)


def test_an_unknown_measure_raises():
    with pytest.raises(UnknownNameError):
        evaluate(RANKS, labels=LABELS, measures="nothing@5")


def test_bad_cutoffs_raise():
    with pytest.raises(InputError, match=r"got p@9{38}\.\.\.\."):
        Measure.parse("p@" + "9" * 5000)
    with pytest.raises(InputError, match="must be a whole number, at least 1; got True"):
        Measure("ndcg", True)


def test_reach_and_best_value_of_measures():
    reach = {text: Measure.parse(text).reach for text in ("ndcg@5", "map", "bullseye", "ns")}
    assert reach == {"ndcg@5": 5, "map": None, "bullseye": None, "ns": 4}
    assert [Measure.parse(text).best for text in ("ndcg@5", "ns")] == [1.0, 4.0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_qrels_may_be_a_frame(library):
    frame = pytest.importorskip(library).DataFrame({"query": ["q1", "q2"], "item": ["b", "a"], "grade": [1, 1]})
    run = Ranks.from_dict({"q1": {"a": 0.9, "b": 0.2}})
    assert evaluate(run, qrels=frame, measures="mrr") == {"mrr": 0.25}


@pytest.mark.parametrize("qrels", [5, [("q", "d", 1)], {"q"}])
def test_qrels_of_another_type_are_rejected(qrels):
    with pytest.raises(InputError, match=rf"qrels must be .*; got {type(qrels).__name__}"):
        evaluate(Ranks.from_dict({"q": ["d"]}), qrels=qrels)


@pytest.mark.parametrize("text", ["bullseye@10", "bullseye@0", "bullseye@x", "bullseye@", f"ns@{'9' * 50}"])
def test_no_cutoff_is_advised_for_a_measure_without_one(text):
    name = text.partition("@")[0]
    with pytest.raises(InputError, match=rf"The measure {name} takes no cutoff; got {text[:40]}.* Write {name}\.$"):
        Measure.parse(text)


def test_the_form_of_every_measure_is_accepted_with_a_number():
    assert set(measure_forms()) >= {"bullseye", "map[@k]", "p@k", "rbp(p=0.8)[@k]", "err(max=4)[@k]", "iprec@recall"}
    for form in measure_forms():
        assert Measure.parse(form.replace("[@k]", "@10").replace("@k", "@10").replace("@recall", "@0.1"))


@pytest.mark.long  # ranx compiles
@pytest.mark.parametrize("system", ["BM25.2019", "monot5", "splade"])
def test_graded_passage_runs_match_trec_eval_gdeval_and_ranx(shared, system):
    """TREC-DL 2019, with grades from 0 to 3; ERR as in gdeval, the rest of ranx's list as ranx has it."""
    folder = shared / "data" / "trec-dl-2019-runs"
    run = read_run_as_dict(folder / f"{system}.100.norm.res.gz")
    qrels = {query: grades for query, grades in read_qrels(folder / "qrels.txt").items() if query in run}
    run = {query: {item: -float(p) for p, item in enumerate(run[query])} for query in qrels}  # without ties
    ranks = Ranks.from_dict(run)
    assert_matches_trec_eval(ranks, run, qrels)
    if which("perl"):
        ours = evaluate(ranks, qrels=qrels, measures="err@10", per_query=True)["err@10"]
        theirs = {one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.ERR @ 10], qrels, run)}
        np.testing.assert_allclose(ours, [theirs[query] for query in qrels], atol=6e-6)  # gdeval prints 5 digits
    assert_matches_ranx(ranks, run, qrels)


RANX = {
    "hits@10": "hits@10",
    "hit_rate@5": "hit_rate@5",
    "f1@10": "f1@10",
    "r-precision": "r-precision",
    "bpref": "bpref",
    "rbp(p=0.95)": "rbp.95",
}


def assert_matches_ranx(ranks, run, qrels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports
        ranx = pytest.importorskip("ranx")
    positive = {query: {item: int(grade > 0) for item, grade in grades.items()} for query, grades in qrels.items()}
    judged, runs = ranx.Qrels(positive), ranx.Run(run)  # its rbp adds up grades, above 1
    ours = evaluate(ranks, qrels=positive, measures=list(RANX), per_query=True)
    for name, theirs in RANX.items():
        values = ranx.evaluate(judged, runs, theirs, return_mean=False)
        by_query = dict(zip(sorted(positive), values, strict=True))
        np.testing.assert_allclose(ours[name], [by_query[q] for q in positive], rtol=1e-6, atol=1e-9, err_msg=name)


def test_err_of_a_higher_grade_raises():
    with pytest.raises(InputError, match=r"err takes grades of at most 4; got 5\. Write err\(max=\.\.\.\)\."):
        evaluate(RUN, qrels={"q1": {"a": 5}, "q2": {"a": 1}}, measures="err@10")


def test_a_probability_of_rbp_outside_0_and_1_raises():
    with pytest.raises(InputError, match="p must be above 0 and below 1; got 1"):
        evaluate(RUN, qrels={"q1": {"a": 1}, "q2": {"a": 1}}, measures="rbp(p=1)")


def test_the_best_value_of_hits_is_its_cutoff():
    assert (Measure("hits", 7).best, Measure("p", 7).best, Measure.parse("iprec@0.5").reach) == (7, 1, None)


def test_judged_queries_that_are_missing_are_warned_about():
    with pytest.warns(RankloomWarning, match="The ranks lack 1 of the 3 judged queries, such as 'q9'; they count as 0"):
        evaluate(RUN, qrels={"q1": {"a": 1}, "q9": {"a": 1}, "q2": {"a": 1}}, measures="mrr")


def test_no_judgments_of_rejected_items_make_all_others_rejected():
    judged = Judged(np.array([[0.0, 1.0, 0.0, 1.0]]), np.array([2]))
    assert Measure("bpref")(judged).tolist() == [(1 / 2 + 0) / 2]


@pytest.mark.parametrize("measures", [5, None, [None], ["ndcg@10", 5], [["p@5"]]])
def test_measures_of_another_type_are_rejected(measures):
    with pytest.raises(InputError, match="A measure is written as in 'ndcg@10'; got"):
        evaluate(Ranks.from_dict({"q": ["a"]}), qrels={"q": {"a": 1}}, measures=measures)


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        ({"a": "1"}, "grade of item 'a' for query 'q' must be a number, at most 1e+15; got '1'"),
        ({"a": None}, "must be a number, at most 1e+15; got None"),
        ({"a": float("nan")}, "must be a number, at most 1e+15; got nan"),
        ({"a": float("inf")}, "must be a number, at most 1e+15; got inf"),
        ({"a": 10**400}, "must be a number, at most 1e+15; got "),
        ({2: 1}, "ids of judged items are strings; got 2"),
        (["a"], "must be {item: grade}; got list"),
    ],
)
def test_judgments_that_say_nothing_are_rejected(judged, message):
    with pytest.raises(InputError) as caught:
        evaluate(Ranks.from_dict({"q": ["a"]}), qrels={"q": judged})
    assert message in str(caught.value)


def test_an_item_of_thousands_of_digits_is_judged_but_not_found():
    ranks = Ranks([[1, 0]], n_items=2, kind="queries")
    found = evaluate(ranks, qrels={"0": {"1": 1, "9" * 5000: 1}}, measures="recall@2")
    assert found == {"recall@2": 0.5}
