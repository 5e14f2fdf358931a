import pytest

import rankloom as rl
from command import run, sentence
from rankloom.io import read_ranks, write_ranks


def test_fg_with_a_collection_agrees_with_the_library(item_runs, query_runs, tmp_path):
    out = tmp_path / "fused.run"
    result = run("fuse", *query_runs, "--collection", *item_runs, "--method", "fg", "-k", 5, "-o", out)
    assert result.exit_code == 0, result.output
    index = rl.FusionIndex.build([rl.read_run(path) for path in item_runs])
    expected = index.search([rl.read_run(path) for path in query_runs], k=5)
    assert rl.read_run(out).to_dict() == expected.to_dict()


def test_collection_option_can_be_repeated(item_runs, query_runs, tmp_path):
    first, second = tmp_path / "1.run", tmp_path / "2.run"
    run("fuse", *query_runs, "--collection", *item_runs, "--method", "fg", "-o", first)
    repeated = [argument for path in item_runs for argument in ("--collection", path)]
    run("fuse", *repeated, "--method", "fg", "-o", second, *query_runs)
    assert first.read_bytes() == second.read_bytes()


def test_fg_of_item_lists_needs_no_collection(item_runs, tmp_path):
    out = tmp_path / "fused.run"
    assert run("fuse", *item_runs, "-k", 3, "--method", "fg", "-o", out).exit_code == 0
    fused = rl.read_run(out)
    assert fused.n_queries == 30
    assert all(next(iter(answers)) == query for query, answers in fused.to_dict().items())


def test_options_of_a_method_are_set_by_name(item_runs, tmp_path):
    out = tmp_path / "fused.run"
    options = ("--set", "constant=1", "--set", "weights=1,0")
    assert run("fuse", *item_runs, "--method", "rrf", *options, "-o", out).exit_code == 0
    expected = rl.fuse([rl.read_run(path) for path in item_runs], "rrf", 100, constant=1, weights=[1, 0])
    assert rl.read_run(out).to_dict() == expected.to_dict()


def test_the_method_is_what_the_input_allows(item_runs, query_runs, tmp_path):
    ranked = [tmp_path / f"{path.stem}.npz" for path in item_runs]
    for path, source in zip(ranked, item_runs, strict=True):
        write_ranks(read_ranks(source, kind="collection"), path)
    cases = {
        "rrf": [query_runs, item_runs],
        "vote": [[*query_runs, "--collection", *item_runs]],
        "weft": [[*item_runs, "--as-collection"], ranked],
    }
    for method, inputs in cases.items():
        for arguments in inputs:
            chosen = run("fuse", *arguments, "-o", tmp_path / "1.run")
            assert chosen.stderr.startswith(f"Using {method}, because "), chosen.output
            named = run("fuse", *arguments, "--method", method, "-o", tmp_path / "2.run").stderr
            n = 3 if arguments[0] == query_runs[0] else 30
            assert named == f"Wrote {tmp_path / '2.run'}: {n} queries, in the format trec.\n"
            assert (tmp_path / "1.run").read_bytes() == (tmp_path / "2.run").read_bytes()


@pytest.mark.filterwarnings("always::rankloom.errors.RankloomWarning")
def test_what_only_runs_lead_to_is_said(item_runs, query_runs, tmp_path):
    out = tmp_path / "out.json"
    fused = run("fuse", *query_runs, "-o", out).stderr.splitlines()
    assert "only runs were given; --collection, the lists of the items, would make it vote" in fused[0]
    assert fused[1] == f"Wrote {out}: 3 queries, in the format trec."
    for method in ("vote", "weft", "fg"):
        failed = sentence(run("fuse", *query_runs, "--method", method, "-o", out))
        assert "'rankloom fuse a.run b.run --collection a-items.run b-items.run'" in failed
    twice = run("fuse", query_runs[0], query_runs[0], "--method", "rrf", "-o", tmp_path / "twice.run").stderr
    assert f"Warning: {query_runs[0]} is given twice, and counts twice." in twice


def test_yes_and_no_are_booleans(item_runs, tmp_path):
    files = {value: tmp_path / f"{value}.run" for value in ("no", "false", "yes")}
    for value, out in files.items():
        run("fuse", *item_runs, "--set", f"reposition={value}", "--set", "cutoff=5", "--method", "fg", "-o", out)
    assert files["no"].read_bytes() == files["false"].read_bytes() != files["yes"].read_bytes()


def test_failure_leaves_the_old_output_intact(item_runs, query_runs, tmp_path):
    out = tmp_path / "fused.run"
    run("fuse", *item_runs, "--method", "fg", "-o", out)
    before = out.read_bytes()
    sentence(run("fuse", *query_runs, "--method", "fg", "-o", out))
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "rff"], "Did you mean 'rrf'?"),
        (["--method", "probfuse"], "The method 'probfuse' learns from judged queries: trained = rankloom.train"),
        (["--method", "rrf", "--set", "cutoff=3"], "has no option 'cutoff'"),
        (["--method", "rrf", "--set", "constant"], "--set takes NAME=VALUE"),
        (["--method", "rrf", "--set", "constant=abc"], "constant of the method 'rrf' must be a finite number"),
        (["--method", "rrf", "--set", "weights=5"], "numbers of at least 0, one for each ranker"),
        (["--method", "fg", "--set", "cutoff=true"], "cutoff of the method 'fg' must be a whole number; got True."),
        (["--method", "fg", "--set", "virtual=maybe"], "virtual of the method 'fg' must be yes or no or none"),
        (["--method", "fg", "--set", "k=5"], "--set cannot set 'k'; use -k"),
        (["--method", "fg", "--set", "cutoff=5", "--set", "cutoff=6"], "--set cutoff is given twice; give it once."),
        (["--method", "fg", "--set", "reposition=maybe"], "reposition of the method 'fg' must be yes or no"),
    ],
)  # fmt: skip
def test_invalid_option_is_one_sentence(item_runs, tmp_path, options, message):
    assert message in sentence(run("fuse", *item_runs, *options, "-o", tmp_path / "out.run"))
    assert not (tmp_path / "out.run").exists()


def test_invalid_input_is_one_sentence(item_runs, query_runs, tmp_path):
    out = tmp_path / "out.run"
    bad = tmp_path / "bad.run"
    bad.write_text("q7 Q0 d31 4 0.2\n")
    external = "is an item: these are lists of external queries"
    cases = [
        ((bad, "--method", "fg"), f"{bad}:1: expected 6 columns"),
        ((tmp_path / "none.run", "--method", "fg"), "There is no file"),
        ((*query_runs, "--method", "fg"), external),
        ((*item_runs, "--collection", *query_runs, "--method", "fg"), external),
        ((*query_runs, "--collection", item_runs[0], "--method", "fg"), "The index has 1 rankers"),
        ((*query_runs, "--method", "rrf", "--collection", *item_runs), "leave --collection out"),
        ((item_runs[0], query_runs[0], "--method", "rrf"), "has no list from ranker 2"),
    ]
    for arguments, message in cases:
        assert message in sentence(run("fuse", *arguments, "-o", out)), arguments
    assert not out.exists()
    assert "no" in sentence(run("fuse", *query_runs, "--method", "rrf", "-o", tmp_path / "no" / "out.run"))


def test_named_runs_are_matched_to_the_collection_by_name(item_runs, query_runs, tmp_path):
    straight, swapped = tmp_path / "1.run", tmp_path / "2.run"
    run("fuse", *query_runs, "--method", "vote", "--collection", *item_runs, "-o", straight)
    queries, items = (
        [f"{name}={path}" for name, path in zip("ab", runs, strict=True)] for runs in (query_runs, item_runs)
    )
    done = run("fuse", *queries, "--method", "vote", "--collection", *reversed(items), "-o", swapped)
    assert done.exit_code == 0, done.output
    assert straight.read_bytes() == swapped.read_bytes()


def test_files_of_the_same_names_in_another_order_are_swapped_rankers(item_runs, query_runs, tmp_path):
    queries, items, out = tmp_path / "queries", tmp_path / "items", tmp_path / "out.run"
    for folder, runs in ((queries, query_runs), (items, item_runs)):
        folder.mkdir()
        for name, path in zip("ab", runs, strict=True):
            (folder / name).write_bytes(path.read_bytes())
    given = (queries / "a", queries / "b", "--format", "trec", "--method", "fg", "-o", out, "--collection")
    message = sentence(run("fuse", *given, items / "b", items / "a"))
    assert message.startswith("The runs are a, b, but those of --collection are b, a.")
    assert not out.exists()
    assert run("fuse", *given, items / "a", items / "b").exit_code == 0
    named = [f"{name}={queries / name}" for name in "ab"]
    done = run("fuse", *named, *given[2:], f"b={items / 'b'}", f"a={items / 'a'}")
    assert done.exit_code == 0, done.output
