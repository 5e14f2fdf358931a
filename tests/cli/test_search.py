import json

import rankloom as rl
from command import run, sentence


def test_search_agrees_with_fuse(index, item_runs, query_runs, tmp_path):
    searched, fused = tmp_path / "searched.run", tmp_path / "fused.run"
    assert run("search", index, *query_runs, "-k", 5, "-o", searched).exit_code == 0
    run("fuse", *query_runs, "--collection", *item_runs, "-k", 5, "--method", "fg", "-o", fused)
    assert searched.read_bytes() == fused.read_bytes()


def test_results_of_an_item_are_printed(index):
    rows = [line.split("\t") for line in run("search", index, "--item", "d3", "-k", 2).stdout.splitlines()]
    assert rows[0][:3] == ["d3", "1", "d3"]
    assert len(rows) == 2


def test_similarity_is_explained(index):
    _, _, found, score = run("search", index, "--item", "d3", "-k", 2).stdout.splitlines()[1].split("\t")
    result = run("search", index, "--item", "d3", "--explain", found)
    assert result.stdout.startswith(f"d3 ~ {found}: wgu similarity {score}")


def test_invalid_input_is_one_sentence(index, query_runs, tmp_path):
    assert "There is no searcher or index at" in sentence(run("search", tmp_path / "none.loom"))
    assert "Unknown item 'd99'" in sentence(run("search", index, "--item", "d99"))
    assert "The index has 2 rankers" in sentence(run("search", index, *query_runs[:1]))
    assert "--explain needs exactly one --item" in sentence(run("search", index, "--explain", "d1"))
    assert "not both" in sentence(run("search", index, "--item", "d1", *query_runs))


def test_items_without_ids_are_named_by_their_numbers(tmp_path):
    rl.FusionIndex.build([rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]], kind="collection")]).save(tmp_path / "x.loom")
    done = run("search", tmp_path / "x.loom", "--item", 2, "--item", "02", "-k", 1)
    assert done.stdout.split("\t")[:3] == ["2", "1", "2"]
    assert len(done.stdout.splitlines()) == 1
    for wrong in ("²", "9" * 5000, "-1"):
        sentence(run("search", tmp_path / "x.loom", f"--item={wrong}"))


def test_errors_name_options_as_the_command_line_does(tmp_path):
    twice = tmp_path / "twice.run"
    twice.write_text("q1 Q0 d1 1 .5 t\nq1 Q0 d1 2 .4 t\n")
    assert "use --duplicates first to" in sentence(run("fuse", twice, "--method", "rrf", "-o", tmp_path / "x.run"))


def test_lists_of_other_engines_are_fused(tmp_path):
    made = [{"id": f"d{n}", "text": text} for n, text in enumerate(["a red hat", "a blue hat", "red shoes", "a hat"])]
    (tmp_path / "shop.jsonl").write_text("".join(json.dumps(one) + "\n" for one in made))
    run("build", tmp_path / "shop.jsonl", "--ranker", "words=okapi", "--store", "ids", "-o", tmp_path / "shop.loom")
    lists = {"words": [["d0", 2.5], ["new", 2.0], ["d3", 1.0]]}
    (tmp_path / "lists.json").write_text(json.dumps(lists))
    shop = tmp_path / "shop.loom"
    done = run("search", shop, "hat", "--lists", tmp_path / "lists.json", "--json", "-k", 5)
    hits = json.loads(done.stdout)["hits"]
    answer = rl.Searcher.open(shop).search("hat", 5, lists=lists)
    assert [(hit["id"], hit["score"]) for hit in hits] == [(hit.id, hit.score) for hit in answer]
    more = run("search", shop, "--lists", tmp_path / "lists.json", "--neighbors", "all", "--complete", "words")
    assert more.exit_code == 0
    assert "--lists" in sentence(run("search", shop, "hat", "--complete", "words"))
    assert "got 2" in sentence(run("search", shop, "--item", "d1", "--lists", tmp_path / "lists.json"))
    for wrong in ("{", "[" * 100_000, '{"words": [["a", 1' + "0" * 400 + "]]}"):
        (tmp_path / "lists.json").write_text(wrong)
        assert "lists.json is not JSON: " in sentence(run("search", shop, "--lists", tmp_path / "lists.json"))
