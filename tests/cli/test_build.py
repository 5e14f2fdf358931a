"""`build`, `search`, `add`, `delete` and `evaluate` of searchers, as a person at a shell uses them."""

import json

import pytest
from sample_texts import documents
from text_helpers import hide_packages

import rankloom as rl
from command import run, sentence
from rankloom.io import read_ranks

TOPICS = {"q1": ("heat", "thermal slab"), "q2": ("wing", "supersonic airfoil"), "q3": ("heart", "blood pressure")}


def write_table(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with documents, queries, judgments, and a searcher built from them."""
    folder = tmp_path_factory.mktemp("shop")
    docs = documents(60)
    write_table(folder / "docs.jsonl", docs)
    write_table(folder / "queries.jsonl", [{"id": q, "text": text} for q, (_, text) in TOPICS.items()])
    lines = [f"{q} 0 {one['id']} 1\n" for q, (topic, _) in TOPICS.items() for one in docs if one["topic"] == topic]
    (folder / "qrels.txt").write_text("".join(lines))
    made = run(
        "build", folder / "docs.jsonl", "--ranker", "bm25", "--ranker", "words=bow-cosine", "-o", folder / "s.loom"
    )
    assert made.exit_code == 0, made.output
    assert "60 documents, rankers bm25, words" in made.stderr
    return folder


@pytest.mark.filterwarnings("always::rankloom.errors.RankloomWarning")
def test_without_the_extra_dense_texts_are_ranked_by_bm25_alone(folder, tmp_path, monkeypatch):
    hide_packages(monkeypatch, "wordllama", "safetensors", "tokenizers")
    made = run("build", folder / "docs.jsonl", "-o", tmp_path / "s.loom")
    warning, built, *_ = made.stderr.splitlines()
    assert warning.startswith("Warning: Texts are ranked by bm25 alone; pip install 'rankloom[dense]' adds static")
    assert built.endswith("60 documents, rankers bm25.")
    assert hits(tmp_path / "s.loom", "blood pressure", "-k", 1)
    made = run("build", folder / "docs.jsonl", "--ranker", "bm25", "-o", tmp_path / "t.loom").stderr
    assert not made.startswith("Warning")
    with pytest.warns(rl.RankloomWarning, match="bm25 alone") as caught:
        assert rl.Searcher.build(["a cat", "a dog"]).rankers == ("bm25",)
    assert caught[0].filename == __file__


def hits(*args):
    lines = run("search", *args, "--json").stdout.splitlines()
    return [[hit["id"] for hit in json.loads(line)["hits"]] for line in lines]


def test_words_are_searched_as_in_python(folder):
    expected = rl.Searcher.open(folder / "s.loom").search("heart disease", k=5)
    assert hits(folder / "s.loom", "heart", "disease", "-k", 5) == [[hit.id for hit in expected]]
    table = run("search", folder / "s.loom", "heart disease", "-k", 5).stdout
    assert table.startswith("heart disease (vote)")
    assert expected[0].id in table


def test_json_has_the_fields_asked_for(folder):
    line = run("search", folder / "s.loom", "heart", "-k", 1, "--json", "--field", "topic").stdout
    answer = json.loads(line)
    assert answer["method"] == "vote"
    assert answer["hits"][0]["topic"] == "heart"
    assert set(answer["hits"][0]["ranks"]) == {"bm25", "words"}


def test_options_of_a_search(folder):
    path = folder / "s.loom"
    whole = hits(path, "heart", "-k", 6)[0]
    assert hits(path, "heart", "-k", 4, "--offset", 2)[0] == whole[2:]
    assert hits(path, "--item", "d3", "--item", "d4", "-k", 1) == [["d3"], ["d4"]]
    only = rl.Searcher.open(path)
    for one in hits(path, "heart", "--where", "year in 2001, 2002")[0]:
        assert only.document(one)["year"] in (2001, 2002)
    assert hits(path, "heart", "--method", "rrf", "--ranker", "bm25")
    assert "vote similarity" in run("search", path, "heart", "--explain", whole[0]).stdout
    assert "Nothing found." in run("search", path, "zzz").stdout


def test_a_file_of_queries_gives_a_run(folder, tmp_path):
    out = tmp_path / "fused.run"
    done = run("search", folder / "s.loom", "--queries", folder / "queries.jsonl", "-k", 20, "--run", out)
    assert done.exit_code == 0, done.output
    ranks = rl.read_run(out)
    assert list(ranks.query_ids) == list(TOPICS)
    assert rl.evaluate(ranks, qrels=rl.read_qrels(folder / "qrels.txt"), measures=["ndcg@10"])["ndcg@10"] > 0.8


def test_a_searcher_is_evaluated(folder):
    args = ("evaluate", folder / "s.loom", "--queries", folder / "queries.jsonl", "--qrels", folder / "qrels.txt")
    rows = json.loads(run(*args, "--json").stdout)
    assert [row["system"] for row in rows] == ["bm25", "words", "rrf", "vote"]
    assert "paired t test" in run(*args).stdout
    rows = json.loads(run(*args, "--json", "--method", "combsum", "--measure", "map").stdout)
    assert [row["system"] for row in rows] == ["bm25", "words", "combsum"]
    assert "map" in rows[0]


def test_documents_are_added_and_deleted(folder, tmp_path):
    path = tmp_path / "s.loom"
    run("build", folder / "docs.jsonl", "--ranker", "bm25", "--ranker", "bow-cosine", "-o", path)
    new = write_table(tmp_path / "new.jsonl", [{"id": "new", "text": "a heart with blood pressure"}])
    assert "Added 1 document; " in run("add", path, new).stderr
    assert "new" in rl.Searcher.open(path)
    assert "'new' already exists" in sentence(run("add", path, new))
    assert "Deleted 2 documents" in run("delete", path, "new", "d3").stderr
    assert "new" not in rl.Searcher.open(path)
    assert "has no document 'd3'" in sentence(run("delete", path, "d3"))
    zebra = write_table(tmp_path / "zebra.jsonl", [{"id": "z", "text": "zebra crossing"}])
    run("add", path, zebra)
    run("compact", path)
    assert hits(path, "zebra", "-k", 1) == [["z"]]


def test_queries_are_ranked_by_rank(folder, tmp_path):
    out = tmp_path / "lists"
    done = run(
        "rank",
        folder / "docs.jsonl",
        "--queries",
        folder / "queries.jsonl",
        "--ranker",
        "bm25",
        "--no-cache",
        "-o",
        out,
    )
    assert done.exit_code == 0, done.output
    assert list(read_ranks(out / "queries" / "bm25.npz").query_ids) == list(TOPICS)
    assert read_ranks(out / "bm25.npz").n_queries == 60


@pytest.mark.parametrize("spelled", ["my notes", "my notes/", "{folder}/my notes", "my.docs.csv", "."])
def test_a_searcher_is_named_after_its_documents(spelled, tmp_path, monkeypatch):
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "a.txt").write_text("a heart")
    (tmp_path / "my.docs.csv").write_text("text\na heart\n")
    monkeypatch.chdir(tmp_path / "my notes" if spelled == "." else tmp_path)
    done = run("build", spelled.format(folder=tmp_path), "--ranker", "bm25")
    named = "my" if spelled.endswith("csv") else "my notes"
    assert done.stderr == f"Built {named}.loom: 1 document, rankers bm25.\n"


def test_messages_suggest_what_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    for name, text in {"slugs.txt": "Slugs eat.", "pasta.txt": "Boil.", "empty.txt": ""}.items():
        (tmp_path / "notes" / name).write_text(text)
    (tmp_path / "books.csv").write_text("title,author\nSlabs,Heat\n")
    assert sentence(run("build", "nots")).endswith("Did you mean 'notes'?")
    assert "give the folder that contains it" in sentence(run("build", "notes/slugs.txt"))
    assert run("build", "notes", "--ranker", "bm25").stderr.splitlines()[1] == "1 document without text: empty.txt."
    assert sentence(run("search", "nots.loom", "x")).endswith("Did you mean 'notes.loom'?")
    assert sentence(run("search", "notes.loom", "")) == "QUERY is empty; give words to search for."
    assert sentence(run("delete", "notes.loom", "past.txt")) == (
        "notes.loom has no document 'past.txt'; nothing was deleted."
    )
    assert sentence(run("build", "books.csv", "--text", "titel")) == (
        "The documents have no text: none has a field 'titel', but the first one has title, author. Build a "
        "searcher with the fields that are text, as in 'rankloom build --text name'. Did you mean 'title'?"
    )
    built = run("build", "books.csv", "--ranker", "bm25").stderr.splitlines()
    assert built[1] == "Searches title; not author: name them with --text."
    for option, ours in {"--top": "-k", "--filter": "--where"}.items():
        assert ours in run("search", "notes.loom", "x", option, "3").stderr
    assert "must be at least 1" in run("search", "notes.loom", "x", "-k", "0").stderr
    assert "must be a whole number" in run("search", "notes.loom", "x", "-k", "ten").stderr


def test_add_names_words_that_are_not_found_yet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text('{"text": "a heart"}\n{"text": "a lung"}\n')
    (tmp_path / "more.jsonl").write_text('{"id": "new", "text": "the heart and zebras"}\n')
    (tmp_path / "none.csv").write_text("id,text\n")
    assert run("build", "docs.jsonl", "--ranker", "bm25").exit_code == 0
    assert sentence(run("add", "docs.loom", "none.csv")) == "none.csv has no documents; give at least one."
    added = run("add", "docs.loom", "more.jsonl").stderr.splitlines()
    assert added[1] == ("1 word of these, such as zebra, cannot be found by bm25 until 'rankloom compact docs.loom'.")
    assert "Nothing found" in run("search", "docs.loom", "zebra").stdout
    assert run("compact", "docs.loom").exit_code == 0
    assert " new " in run("search", "docs.loom", "zebra").stdout


def test_a_note_is_added_with_the_id_that_a_build_gives_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes"
    (notes / "old").mkdir(parents=True)
    (notes / "pasta.txt").write_text("Boil.")
    assert run("build", "notes", "--ranker", "bm25").exit_code == 0
    for name in ("slugs.md", "old/snails.md"):
        (notes / name).write_text("They boil, too.")
        assert run("add", "notes.loom", f"notes/{name}").stderr.startswith("Added 1 document")
    (tmp_path / "pasta.txt").write_text("Another one.")
    assert "'pasta.txt' already exists" in sentence(run("add", "notes.loom", "pasta.txt"))
    (tmp_path / "x.pdf").touch()
    assert "x.pdf is neither a folder nor a table" in sentence(run("add", "notes.loom", "x.pdf"))
    assert run("build", "notes", "--ranker", "bm25", "-o", "again.loom").exit_code == 0
    assert {*rl.Searcher.open("notes.loom").ids} == {*rl.Searcher.open("again.loom").ids}


def test_columns_are_named_in_any_case_and_the_id_by_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("SKU,Text,Year\n07,red wool,1999\n08,green silk,2000\n")
    (tmp_path / "b.csv").write_text("SKU,Text,Year\n09,blue wool,2001\n")
    (tmp_path / "c.csv").write_text("ID,Text,id\n1,blue wool,2\n")
    assert run("build", "a.csv", "--id", "sku", "--ranker", "bm25").exit_code == 0
    assert run("add", "a.loom", "b.csv").exit_code == 0
    searcher = rl.Searcher.open("a.loom")
    assert list(searcher.ids) == ["07", "08", "09"]
    assert searcher.search("wool")[0].document == {"id": "09", "Text": "blue wool", "Year": 2001}
    assert searcher.info()["text"] == ["title", "Text"]
    assert "text       Text\n" in run("info", "a.loom").stdout
    message = "c.csv:2 has both 'ID' and 'id'; rename one, or leave out the id field."
    assert sentence(run("build", "c.csv", "--id", "ID")) == message
    message = "Unknown field of ids 'isbn'; choose from SKU, Text, Year."
    assert sentence(run("build", "a.csv", "--id", "isbn", "-o", "none.loom")) == message
    assert run("build", "c.csv", "--ranker", "bm25").exit_code == 0
    message = "Unknown field 'txt'; choose from SKU, Text, Year."
    assert sentence(run("build", "b.csv", "--text", "sku", "--text", "txt")).startswith(message)
    assert not (tmp_path / "b.loom").exists()
    (tmp_path / "q.csv").write_text("Id,TEXT\nq1,wool\n")
    assert run("search", "a.loom", "--queries", "q.csv").stdout.startswith("q1 (vote)")


def test_a_missing_folder_is_called_missing(folder, tmp_path):
    assert sentence(run("search", tmp_path / "nope.loom", "x", "--where", "a=b")).startswith("There is no searcher or")
    rank = ("rank", "nots", "--ranker", "bow", "-o", tmp_path / "x")
    for arguments in (("build", "nots"), rank):
        assert sentence(run(*arguments)).startswith("There is no folder or collection nots; give a folder")
    assert "Did you mean 'soccer'?" in sentence(run("build", "socer"))
    assert sentence(run("build", "no such notes")).startswith("There is no folder or collection no such notes;")
    assert sentence(run("build", "~nobody/notes")).startswith("~nobody/notes does not exist")


SHOP = "id;name;description;price\n1;Caf\u00e9;black, strong;2\n2;Tea;green;3\n"


def test_a_spreadsheet_in_another_encoding_is_read(tmp_path):
    shop, queries = tmp_path / "shop.csv", tmp_path / "queries.jsonl"
    shop.write_text(SHOP, "cp1252")
    queries.write_text('{"id": "q", "text": "caf\u00e9"}\n', "cp1252")
    arguments = (
        "build",
        shop,
        "--text",
        "name",
        "--text",
        "description",
        "--ranker",
        "bm25",
        "-o",
        tmp_path / "s.loom",
    )
    advice = "save the file as UTF-8, or give its encoding, as in --encoding cp1252."
    assert sentence(run(*arguments)) == f"{shop}:2: byte 0xe9 is not UTF-8; {advice}"
    assert sentence(run(*arguments, "--encoding", "cp12")).startswith("Unknown encoding 'cp12'; use a name such as")
    assert run(*arguments, "--encoding", "cp1252").exit_code == 0
    shown = run("search", tmp_path / "s.loom", "caf\u00e9").stdout
    assert " Caf\u00e9 black, strong " in shown  # the fields of --text alone: not the price
    searched = ("search", tmp_path / "s.loom", "--queries", queries)
    assert f"{queries}:1: byte 0xe9 is not UTF-8" in sentence(run(*searched))
    assert "black, strong" in run(*searched, "--encoding", "cp1252").stdout
    shop.write_text(SHOP.replace("1;", "3;").replace("2;", "4;"), "utf-16")
    assert run("add", tmp_path / "s.loom", shop, "--encoding", "utf-16").exit_code == 0
    assert len(rl.Searcher.open(tmp_path / "s.loom")) == 4


def test_a_folder_in_another_encoding_is_read(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("one\ncaf\u00e9", "cp1252")
    arguments = ("build", tmp_path / "notes", "--ranker", "bm25", "-o", tmp_path / "s.loom")
    assert f"{tmp_path / 'notes' / 'a.txt'}:2: byte 0xe9 is not UTF-8" in sentence(run(*arguments))
    assert run(*arguments, "--encoding", "latin-1").exit_code == 0
    assert "has no option 'encoding'" in sentence(run("build", "emoji", "--encoding", "cp1252", "-o", tmp_path / "x"))
    queries = ("search", tmp_path / "s.loom", "one", "--queries", "x", "--encoding", "cp1252")
    assert "Give one of QUERY" in sentence(run(*queries))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"id": "a", "text": "x"}', "", '{"id": "a", "text": "y"}'], "'a' is given twice: {path}:1 and {path}:3."),
        (['{"id": "a", "text": "x"}', '{"id": 1.5, "text": "y"}'], "or a whole number; {path}:2 has 1.5."),
        (['{"id": "a", "text": "x"}', "["], "{path}:2: expected a JSON object"),
    ],
)  # fmt: skip
def test_lines_count_from_1(lines, message, tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(lines))
    assert message.format(path=path) in sentence(run("build", path, "-o", tmp_path / "s.loom"))


def test_mistakes_are_one_sentence(folder, tmp_path):
    path = folder / "s.loom"
    assert "Give one of QUERY, --item, --image, --queries and" in sentence(run("search", path))
    assert "Give one of QUERY" in sentence(run("search", path, "heart", "--item", "d1"))
    assert "--comparator does not apply" in sentence(run("search", path, "heart", "--comparator", "mcs"))
    assert "--where takes FIELD=VALUE" in sentence(run("search", path, "heart", "--where", "year"))
    assert "Unknown method 'rff'" in sentence(run("search", path, "heart", "--method", "rff"))
    assert "needs --queries" in sentence(run("evaluate", path, "--qrels", folder / "qrels.txt"))
    assert "has no judgments" in sentence(run("evaluate", path, "--queries", folder / "queries.jsonl"))
    assert "There is no file" in sentence(run("build", tmp_path / "none.jsonl", "-o", tmp_path / "x.loom"))
    for arguments in (("add", folder / "docs.jsonl"), ("delete", "d1"), ("search", "heart")):
        missing = run(arguments[0], tmp_path / "none.loom", *arguments[1:])
        assert "none.loom, which does not exist; make one with" in sentence(missing)
    missing = run("evaluate", tmp_path / "none.loom", "--queries", folder / "queries.jsonl")
    assert "There is no folder" in sentence(missing)
    twice = run("build", folder / "docs.jsonl", "--ranker", "a=bm25", "--ranker", "a=bow", "-o", tmp_path / "x.loom")
    assert "'a' is given twice" in sentence(twice)
    rl.FusionIndex.build([rl.Ranks([[0]])]).save(tmp_path / "index.loom")
    assert "--method does not apply" in sentence(run("search", tmp_path / "index.loom", "--method", "rrf"))


def test_an_existing_searcher_is_replaced_only_if_asked(tmp_path):
    documents, path = tmp_path / "docs.jsonl", tmp_path / "s.loom"
    documents.write_text('{"text": "a cat"}\n')
    build = ("build", documents, "--ranker", "bm25", "-o", path)
    assert run(*build).exit_code == 0
    before = (path / "meta.json").read_bytes()
    documents.write_text('{"text": "a dog"}\n')
    assert "s.loom already exists; choose another path, or replace it with --overwrite." in sentence(run(*build))
    assert (path / "meta.json").read_bytes() == before
    assert run(*build, "--overwrite").exit_code == 0
    assert rl.Searcher.open(path).document("1")["text"] == "a dog"
    inside = path / "docs.jsonl"
    inside.write_bytes(documents.read_bytes())
    assert "would be overwritten" in sentence(run("build", inside, "-o", path, "--overwrite"))


def test_texts_that_are_not_kept_are_not_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id,text\na,red wool\nb,\n")
    assert "without text: b" in run("build", "a.csv", "--ranker", "bm25").stderr
    assert "without text" not in run("build", "a.csv", "--ranker", "bm25", "--store", "ids", "-o", "b.loom").stderr
    (tmp_path / "c.png").write_bytes(b"")
    message = "Nothing was added. The ranker 'bm25' needs texts, and there are none."
    assert sentence(run("add", "a.loom", "c.png")) == message
