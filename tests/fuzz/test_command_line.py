"""Random files through the command line: what is valid agrees with the oracle, and for anything else there is an exit
code and at most one sentence, never a traceback.

RANKLOOM_FUZZ_CLI sets the number of cases: so many are compared with the oracle, and as many more are given odd input;
`make fuzz` runs 5,000 of each with fresh seeds.
"""

import string
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from cases import cases, seeded_collections
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
import rankloom as rl
from brute import assert_results, plain
from command import run
from plain_weft import PlainWeft
from rankloom.io import read_ranks, write_ranks
from rankloom.methods import METHODS

ORACLE = cases("RANKLOOM_FUZZ_CLI", 40, 1)
ODD = cases("RANKLOOM_FUZZ_CLI", 60, 3)
WORD = st.text(string.ascii_letters + '0123456789=(),[]"-. é\x00\t', max_size=8)
ID = st.sampled_from(["q1", "d1", "d2", "d3", "1", "", "é", "a b"])
NUMBER = st.one_of(st.integers(-2, 5).map(str), st.floats().map(str), WORD)
LINE = st.one_of(
    st.tuples(ID, st.just("Q0"), ID, NUMBER, NUMBER, st.just("tag")).map(" ".join),
    st.tuples(ID, ID, ID, NUMBER).map("\t".join),
    WORD,
)
FILE = st.lists(LINE, max_size=6).map("\n".join)
GOOD = "d1 Q0 d1 1 2.0 x\nd1 Q0 d2 2 1.0 x\nd2 Q0 d2 1 2.0 x\nd2 Q0 d1 2 1.0 x\n"
OPTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("--method"), st.one_of(st.sampled_from(sorted(METHODS)), WORD)),
        st.tuples(st.just("--set"), WORD),
        st.tuples(st.just("-k"), NUMBER),
        st.tuples(st.just("--missing"), WORD),
        st.tuples(st.just("--format"), st.sampled_from(["trec", "npz", "udlf", "x"])),
        st.tuples(st.just("--measure"), st.sampled_from(["ndcg@10", "map", "p", "x@y"])),
        st.tuples(st.just("--comparator"), WORD),
        st.tuples(st.just("--cutoff"), NUMBER),
        st.tuples(WORD),
    ),
    max_size=3,
).map(lambda pairs: [part for pair in pairs for part in pair])


def check(result, codes=frozenset({0, 1, 2})):
    """Exit code 0, 1 with one sentence, or 2 with the usage; nothing else."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in codes, result.output
    assert "Traceback" not in result.output
    if result.exit_code == 1:
        errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1, result.stderr


FORMATS = {"a.npz": "npz", "a.run": "trec", "a.txt": "udlf"}


def write_lists(rankers, folder, name):
    """Write the lists of rankers, with ids where the format has them; return the files."""
    ids = rl.Ids(map(str, range(rankers[0].n_items)))
    paths = [folder / f"{number}-{name}" for number in range(len(rankers))]
    for path, ranks in zip(paths, rankers, strict=True):
        write_ranks(ranks.replaced(item_ids=ids, query_ids=ids), path, format=FORMATS[name])
    return paths


def read_results(path, n_items):
    """Return written results with items and rows in the order of their numbers, whatever their order in the file."""
    ranks, ids = read_ranks(path), rl.Ids(map(str, range(n_items)))
    if ranks.item_ids is None:
        return ranks
    rows = {query: row for row, query in enumerate(ranks.query_ids)}
    return ranks.renumbered(ids).rows([rows[query] for query in ids])


@ORACLE
@given(
    seeded_collections(),
    st.sampled_from(sorted(FORMATS)),
    st.sampled_from([".npz", ".run"]),
    st.sampled_from(["fg", "weft", "index"]),
    st.integers(1, 6),
    st.sampled_from(["first", "last"]),
    st.integers(1, 12),
)
def test_valid_files_give_what_the_oracle_gives(rankers, name, suffix, method, cutoff, absent, k):
    assume(all(ranks.lengths().all() for ranks in rankers) or (name, suffix) == ("a.npz", ".npz"))  # no empty lists
    lists, n = [plain(ranks) for ranks in rankers], rankers[0].n_items
    with TemporaryDirectory() as made:
        out, loom = Path(made) / f"out{suffix}", Path(made) / "x.loom"
        files = [*write_lists(rankers, Path(made), name), "--format", FORMATS[name]]
        if method == "index":
            check(run("index", *files, "--cutoff", cutoff, "--absent", absent, "-o", loom), {0})
            check(run("search", loom, "-k", k, "-o", out), {0})
        else:
            options = ["--set", f"cutoff={cutoff}", "--set", f"absent={absent}", "-k", k]
            check(run("fuse", *files, "--method", method, *options, "-o", out), {0})
        found = read_results(out, n)
    if method == "weft":
        weft = PlainWeft(lists, cutoff, width=80, absent=absent)
        assert_results(found, [weft.search_item(i) for i in range(n)], k)
    else:
        assert_results(found, oracle.search(lists, cutoff, absent=absent), k)


@ODD
@given(st.sampled_from(["fuse", "index", "evaluate", "compare", "correlate", "select"]), FILE, FILE, OPTIONS)
def test_files_of_anything(command, first, second, options):
    with TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "a.run").write_bytes(first.encode())
        (folder / "b.run").write_bytes(second.encode())
        (folder / "qrels.txt").write_text("q1 0 d1 1\n")
        output = {"fuse": ["-o", folder / "out.run"], "index": ["-o", folder / "out.loom"]}.get(command, [])
        judged = ["--qrels", folder / "qrels.txt"] if command in ("evaluate", "compare", "select") else []
        check(run(command, folder / "a.run", folder / "b.run", *judged, *output, *options))


@ODD
@given(
    st.sampled_from(["build", "add", "delete", "fuse", "index", "search", "evaluate", "rank", "serve"]),
    st.lists(WORD, max_size=4),
    OPTIONS,
)
def test_words_of_anything(command, words, options):
    if command == "serve":
        words = [*words, "--port", "99999999"]  # never starts a server
    with TemporaryDirectory() as made, chdir(made):  # a word may name a file
        check(run(command, *words, "-o", Path(made) / "out", *options))


@ODD
@given(FILE, OPTIONS)
def test_a_good_file_and_a_bad_one_change_nothing_on_disk(text, options):
    with TemporaryDirectory() as made:
        folder, target = Path(made), Path(made) / "out.loom"
        (folder / "a.run").write_text(GOOD)
        (folder / "b.run").write_bytes(text.encode())
        assert run("index", folder / "a.run", "-o", target).exit_code == 0
        before = {file.name: file.read_bytes() for file in target.iterdir()}
        result = run("index", folder / "a.run", folder / "b.run", *options, "-o", target)
        check(result)
        if result.exit_code:
            assert {file.name: file.read_bytes() for file in target.iterdir()} == before
