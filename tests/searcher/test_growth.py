"""Searchers that have grown and shrunk, before they are merged: their plain definition, slow and with sets.

A list has the best items of all that were there when it was made, or were added since; deleted ones are left out when
it is read. A row of weft that was added is that of its lists at that time, and no row changes.
"""

from random import Random

import numpy as np
import pytest
from sample_texts import documents, encode

import rankloom as rl
from plain_weft import PlainWeft, eq1, fused, ordered, weighed
from rankloom.rankers import FittedVectors
from rankloom.ranks import PAD
from rankloom.searcher import updates
from rankloom.searcher.item_lists import ItemLists, empty_lists

RANKERS = {"bm25": "okapi", "set": "jaccard", "dense": encode}
DEPTH, CUTOFF = 8, 4


@pytest.fixture(autouse=True)
def _never_merged(monkeypatch):
    monkeypatch.setattr(updates, "MAX_ADDED", 100.0)
    monkeypatch.setattr(updates, "MAX_DELETED", 0.99)


class Plain:
    """The documents of all slots, and what is stored of them."""

    def __init__(self, searcher, docs):
        self.first = searcher.state
        self.docs, self.dead = list(docs), set()
        self.unlisted = {name: [set() for _ in docs] for name in RANKERS}  # by slot: what its list does not consider
        lists = [self.lists(name) for name in RANKERS]
        self.weft = PlainWeft(lists, cutoff=CUTOFF, width=80, depth=DEPTH)

    def lists(self, name):
        """Return the stored lists of all slots: full ones have DEPTH items, deleted ones among them."""
        texts = [f"{one['title']}\n{one['text']}" for one in self.docs]
        fitted = self.first.retrievers[name].fitted
        ranks = fitted.subset(np.empty(0, np.intp)).appended(texts).rank(depth=len(texts))
        rows = [[item for item in row if item != PAD] for row in ranks.items.tolist()]
        return [
            [item for item in row if item not in without][:DEPTH]
            for row, without in zip(rows, self.unlisted[name], strict=True)
        ]

    def add(self, docs):
        start = len(self.docs)
        self.docs += docs
        for name in RANKERS:
            self.unlisted[name] += [set(self.dead) for _ in docs]
        new = range(start, len(self.docs))
        weft, stored = self.weft, [self.lists(name) for name in RANKERS]
        for ranker, lists in enumerate(stored):
            weft.lists[ranker] += [repositioned(lists, item) for item in new]
            weft.rows[ranker + 1] += [weighed(weft.lists[ranker][item], CUTOFF) for item in new]
        weft.rows[0] += [fused([rows[item] for rows in weft.rows[1:]], weft.weights) for item in new]
        weft.items += [weft.fields([rows[item] for rows in weft.rows], item) for item in new]

    def delete(self, slots):
        self.dead |= set(slots)
        wanted = min(DEPTH, round(1.5 * CUTOFF))
        for name in RANKERS:
            for slot, row in enumerate(self.lists(name)):
                short = len(set(row) - self.dead) < min(wanted, len(self.live))
                if len(self.dead) > DEPTH - wanted and len(row) == DEPTH and short and slot not in self.dead:
                    self.unlisted[name][slot] = set(self.dead)

    @property
    def live(self):
        return [slot for slot in range(len(self.docs)) if slot not in self.dead]

    def check(self, state):
        numbers = {slot: number for number, slot in enumerate(self.live)}
        assert [one["id"] for one in state.store] == [self.docs[slot]["id"] for slot in self.live]
        for name in RANKERS:
            stored = self.lists(name)
            found = [[item for item in row if item != PAD] for row in state.lists[name].items.tolist()]
            assert found == [[numbers[item] for item in stored[slot] if item in numbers] for slot in self.live], name
        index = state.weft(tuple(RANKERS))
        found = index.search(items=list(range(len(self.live))), k=5)
        for number, slot in enumerate(self.live):
            scores = self.weft.search_item(slot)
            scores = {numbers[item]: score for item, score in scores.items() if item in numbers}
            best = ordered(scores, 5, own=number)
            got = [item for item in found.items[number].tolist() if item != PAD]
            assert [scores[item] for item in got] == pytest.approx([scores[item] for item in best], abs=2e-7)


def repositioned(lists, item):
    """Return the list of an item by Eq. 1, the item itself first, cut."""
    back = [lists[j].index(item) + 1 if item in lists[j] else len(lists[j]) + 1 for j in lists[item]]
    return [item, *(j for j in eq1(lists[item], back) if j != item)][:CUTOFF]


def grown(seed, steps, path=None):
    """Return a searcher after random updates, checked against the plain definition after each."""
    random, docs = Random(seed), documents(14, seed)
    searcher = rl.Searcher.build(docs, RANKERS, depth=DEPTH, cutoff=CUTOFF)
    plain, made = Plain(searcher, docs), len(docs)
    for step in range(steps):
        if random.random() < 0.5 or len(plain.live) < 8:
            more = documents(random.choice([1, 1, 3]), seed + step, made)
            if random.random() < 0.3:  # copies, so that scores tie
                more = [{**plain.docs[random.choice(plain.live)], "id": one["id"]} for one in more]
            made += len(more)
            searcher.add(more)
            plain.add(more)
        else:
            gone = random.sample(plain.live, random.choice([1, 2]))
            searcher.delete([plain.docs[slot]["id"] for slot in gone])
            plain.delete(gone)
        if path is not None and random.random() < 0.5:
            searcher.save(path)
            searcher = rl.Searcher.open(path, encoders={"dense": encode}, verify=random.random() < 0.2)
        plain.check(searcher.state)
    return searcher


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))])
def test_updates_equal_their_plain_definition(tmp_path, seed):
    grown(seed, 12, tmp_path / "x.loom" if seed % 2 else None)


def test_a_list_that_many_enter_does_not_widen_the_others():
    random = np.random.default_rng(0)
    rows = np.sort(np.append(np.full(500, 7), np.repeat([3, 9], 4))).astype(np.int32)
    items = np.arange(20, 20 + len(rows), dtype=np.int32)
    scores = random.choice(np.float32([0.25, 0.5, 1]), len(rows))
    entered = {"entered_rows": rows, "entered_items": items, "entered_scores": scores}
    lists = ItemLists(empty_lists(20, DEPTH), DEPTH).appended({**empty_lists(0, DEPTH)._asdict(), **entered})
    lists = lists.patched(np.array([9]), empty_lists(1, DEPTH), items[-2])  # without what entered before
    numbers = np.array([9, 7, 0, 3])
    assert lists._entered_into(numbers, np.zeros(4, np.int64)).items.shape == (4, DEPTH)
    for number, found, found_scores in zip(numbers, *lists.rows(numbers), strict=True):
        here = (rows == number) & ((number != 9) | (items >= items[-2]))
        pairs = sorted(zip(-scores[here], items[here], strict=True))
        expected = pairs[:DEPTH] + [(0, PAD)] * (DEPTH - len(pairs))
        assert [(-score, item) for item, score in zip(found, found_scores, strict=True)] == expected


@pytest.mark.parametrize("block", [1, 60])
def test_blocks_of_old_documents_do_not_change_what_enters_their_lists(monkeypatch, block):
    searchers = []
    for size in (updates.BLOCK, block):
        monkeypatch.setattr(updates, "BLOCK", size)
        monkeypatch.setattr(FittedVectors, "entries", lambda *given: None)  # so that vectors are asked as texts are
        searchers.append(rl.Searcher.build(documents(30), RANKERS, depth=DEPTH, cutoff=CUTOFF))
        searchers[-1].add(documents(50)[30:])
    for name in RANKERS:
        one, other = (searcher.state.item_lists[name].tail for searcher in searchers)
        assert len(one["entered_rows"]) > 0
        assert {key: array.tobytes() for key, array in one.items()} == {
            key: array.tobytes() for key, array in other.items()
        }


def assert_same_arrays(one, other):
    """Compare all that a searcher stores, bit by bit, but for probes of encoders and the next number."""
    from rankloom.io.folder import open_folder

    folders = [open_folder(path, kind="rankloom searcher") for path in (one, other)]
    mine, theirs = (folder.arrays for folder in folders)
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        assert array.dtype == theirs[name].dtype
        assert array.tobytes() == theirs[name].tobytes() or name.startswith("probes"), name
    plain = [
        {**folder.meta, "settings": {**folder.meta["settings"], "next_number": 0, "fitted": ""}} for folder in folders
    ]
    assert plain[0] == plain[1]


@pytest.mark.parametrize(("seed", "steps"), [(3, 10), pytest.param(4, 200, marks=pytest.mark.exhaustive), (5, 3)])
def test_compacting_equals_a_build_from_scratch_bit_by_bit(tmp_path, seed, steps):
    searcher = grown(seed, steps)
    searcher.compact()
    searcher.save(tmp_path / "compacted.loom")
    docs = [dict(one) for one in searcher.documents]
    fresh = rl.Searcher.build(docs, RANKERS, depth=DEPTH, cutoff=CUTOFF)
    fresh.save(tmp_path / "fresh.loom")
    assert_same_arrays(tmp_path / "compacted.loom", tmp_path / "fresh.loom")


def test_a_save_writes_what_has_changed(tmp_path):
    path = tmp_path / "x.loom"
    searcher = rl.Searcher.build(documents(60), RANKERS, depth=DEPTH, cutoff=CUTOFF)
    searcher.save(path)
    base = {file.name for file in path.iterdir()}
    searcher.add(documents(1, 5, 100))
    searcher.delete(["d3"])
    searcher.save(path)
    new = {file.name for file in path.iterdir()} - base
    assert new
    assert not [name for name in new if name.startswith(("ranker", "lists", "index", "documents0"))]
    opened = rl.Searcher.open(path, encoders={"dense": encode})
    assert len(opened) == 60
    assert "d3" not in opened
    assert opened.search(item="d100", k=1)[0].id == "d100"


def test_explanations_do_not_name_deleted_documents():
    searcher = rl.Searcher.build(documents(30), RANKERS, depth=DEPTH, cutoff=CUTOFF)
    before = searcher.search(item="d1", k=5, method="weft")
    named = [part.label.split(" ")[0] for part in before.explain(before[1].id).parts]
    gone = next(id for id in named if id not in ("d1", before[1].id))
    searcher.delete([gone])
    answer = searcher.search(item="d1", k=5, method="weft")
    assert gone not in [hit.id for hit in answer]
    for hit in answer:
        why = answer.explain(hit.id)
        assert not any(part.label.startswith(f"{gone} ") for part in why.parts)
        assert sum(part.contribution for part in why.parts) == pytest.approx(why.similarity)


@pytest.mark.parametrize("method", ["vote", "weft", "fg", "rrf", "rlsim"])
def test_every_method_answers_without_deleted_documents(method):
    searcher = rl.Searcher.build(documents(40), RANKERS, depth=DEPTH, cutoff=CUTOFF)
    searcher.add(documents(3, 9, 200))
    searcher.delete(["d1", "d2", "d201"])
    for query in ({"item": "d200"}, {"item": "d5"}, {"query": "heart flow king"}):
        if method == "rlsim" and "query" in query:
            continue
        found = searcher.search(**query, k=10, method=method)
        ids = [hit.id for hit in found]
        assert ids
        assert not {"d1", "d2", "d201"} & set(ids)
        assert all(hit.document["id"] == hit.id for hit in found)
