"""Random files and options through the command line: an exit code, at most one sentence, never a traceback.

RANKLOOM_FUZZ_CLI sets the number of cases; `make fuzz` runs 5,000 with fresh seeds.
"""

import string

from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from command import run

FUZZ = cases("RANKLOOM_FUZZ_CLI", 60, 3)
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
        st.tuples(st.just("--method"), st.one_of(st.sampled_from(sorted(rl.METHODS)), WORD)),
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


def check(result):
    """Exit code 0, 1 with one sentence, or 2 with the usage; nothing else."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2), result.output
    assert "Traceback" not in result.output
    if result.exit_code == 1:
        errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1, result.stderr


@FUZZ
@given(st.sampled_from(["fuse", "index", "evaluate", "compare", "correlate", "select"]), FILE, FILE, OPTIONS)
def test_files_of_anything(tmp_path_factory, command, first, second, options):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "a.run").write_bytes(first.encode())
    (folder / "b.run").write_bytes(second.encode())
    (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    output = {"fuse": ["-o", folder / "out.run"], "index": ["-o", folder / "out.loom"]}.get(command, [])
    judged = ["--qrels", folder / "qrels.txt"] if command in ("evaluate", "compare", "select") else []
    check(run(command, folder / "a.run", folder / "b.run", *judged, *output, *options))


@FUZZ
@given(st.sampled_from(["fuse", "index", "search", "evaluate", "rank", "serve"]), st.lists(WORD, max_size=4), OPTIONS)
def test_words_of_anything(tmp_path_factory, command, words, options):
    folder = tmp_path_factory.mktemp("fuzz")
    if command == "serve":
        words = [*words, "--port", "99999999"]  # never starts a server
    check(run(command, *words, "-o", folder / "out", *options))


@FUZZ
@given(FILE, OPTIONS)
def test_a_good_file_and_a_bad_one_change_nothing_on_disk(tmp_path_factory, text, options):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "a.run").write_text(GOOD)
    (folder / "b.run").write_bytes(text.encode())
    target = folder / "out.loom"
    assert run("index", folder / "a.run", "-o", target).exit_code == 0
    before = {file.name: file.read_bytes() for file in target.iterdir()}
    result = run("index", folder / "a.run", folder / "b.run", *options, "-o", target)
    check(result)
    if result.exit_code:
        assert {file.name: file.read_bytes() for file in target.iterdir()} == before
