"""A spelling is parsed once, its options are checked once, and a ranker is made once, on every road."""

from collections import Counter

import pytest

import rankloom as rl
from rankloom.experiment import run
from rankloom.io.cache import Cache
from rankloom.registry import Call, Options, Registry
from rankloom.registry.options import Option

TEXTS = ["a cat", "a dog", "a cat and a dog", "a bird"]
RANKS = [rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]]), rl.Ranks([[0, 2, 1], [1, 2, 0], [2, 0, 1]])]


@pytest.fixture
def counts(monkeypatch):
    """How often each spelling was parsed, each option checked, and each value of options made."""
    counted = Counter()

    def spy(owner, name, key):
        original = getattr(owner, name)

        def counting(self, *arguments, **options):
            counted[key(self, *arguments)] += 1
            return original(self, *arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    parse = Call.parse
    monkeypatch.setattr(Call, "parse", lambda text: counted.update([f"parse {text}"]) or parse(text))
    spy(Option, "checked", lambda option, value, kind, entry: f"check {option.name} of {entry}")
    spy(Options, "__post_init__", lambda value: f"made {value.entry_name}")
    spy(Registry, "check", lambda registry, call: f"checked {call}")
    return counted


@pytest.mark.parametrize("name", ["rrf(constant=20)", "fg(cutoff=2)", "weft(cutoff=2)"])
def test_fuse_reads_a_spelling_once(counts, name):
    rl.fuse(RANKS, name)
    method, _, option = name.rstrip(")").partition("(")
    option = option.partition("=")[0]
    assert counts == {f"parse {name}": 1, f"made {method}": 1, f"check {option} of {method}": 1}


def test_fuse_does_not_check_a_value_again(counts):
    method = rl.fuse.__globals__["METHODS"].make("rrf", constant=20)
    counts.clear()
    rl.fuse(RANKS, method)
    assert not counts


def test_build_and_search_make_a_ranker_once(counts):
    searcher = rl.Searcher.build(TEXTS, rankers={"words": "okapi(b=0.5)", "cosine": "bow-cosine"})
    assert counts == {
        "parse okapi(b=0.5)": 1,
        "parse bow-cosine": 1,
        "made okapi": 1,
        "made bow-cosine": 1,
        "check b of okapi": 1,
    }
    counts.clear()
    searcher.search("cat")
    assert not counts
    searcher.search("cat", method="rrf(constant=20)")
    assert counts == {"parse rrf(constant=20)": 1, "made rrf": 1, "check constant of rrf": 1}


def test_an_experiment_makes_a_ranker_once(counts, tmp_path):
    table = tmp_path / "texts.tsv"
    table.write_text("id\ttext\tlabel\n" + "".join(f"{i}\t{text}\t{i % 2}\n" for i, text in enumerate(TEXTS * 3)))
    experiment = rl.Experiment(
        name="t",
        collection=f'table(path="{table}")',
        rankers=["okapi(b=0.5)", "bow-cosine"],
        methods=["rrf"],
        repeats=0,
    )
    counts.clear()
    run(experiment, tmp_path / "results", cache=Cache(None))
    assert {name: counts[name] for name in ("made okapi", "made bow-cosine", "check b of okapi")} == {
        "made okapi": 1,
        "made bow-cosine": 1,
        "check b of okapi": 1,
    }
