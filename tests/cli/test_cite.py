import re

from command import run, sentence
from rankloom.methods import METHODS, SUPERVISED
from rankloom.registry.citations import references


def test_the_publications_of_methods_are_bibtex():
    text = run("cite", "fg", "rrf", "rlsim").stdout
    assert text.count("@") == 2  # fg and rlsim are of one article
    assert "  author = {Cormack and Clarke and Buettcher},\n" in text
    assert "  title = {{Reciprocal rank fusion outperforms Condorcet and individual rank learning methods}},\n" in text
    assert r"  journal = {Information Processing \& Management 56(4)}," in text


def test_every_method_has_a_title_or_is_ours():
    text = run("cite").stdout
    entries = text.strip().split("\n\n")
    assert all(re.fullmatch(r"@\w+\{[a-z0-9]+,\n(  \w+ = \{.+\},\n)+\}", entry) for entry in entries)
    assert all("  title = {{" in entry for entry in entries)
    assert "@misc{borda1781memoire," in text
    keys = [re.match(r"@\w+\{(\w+)", entry)[1] for entry in entries]
    assert len(set(keys)) == len(keys)
    every = {**METHODS, **SUPERVISED}
    ours = [name for name, entry in every.items() if not references(entry)]
    assert ours == ["vote", "weft"]
    assert run("cite", "weft").stdout.startswith("@software{rankloom,")


def test_an_unknown_method_is_one_sentence():
    assert "Unknown method 'rff'" in sentence(run("cite", "rff"))
