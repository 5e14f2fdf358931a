"""Every block of code on the site runs, and prints what the page shows; what cannot run here is checked."""

import json
import shutil

import numpy as np
import pytest

import rankloom as rl
from doc_blocks import ROOT, blocks, check_command, run_page, run_python, run_shell

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
LONG = {
    "docs/scaling.md",
    "docs/serving.md",
    "docs/start.md",
    "docs/searcher.md",
    "docs/images.md",
    "docs/runs.md",
    "docs/extending.md",
    "docs/rankers.md",
}
DOCUMENTS = [
    {"id": "d1", "text": "Heat conduction in composite slabs.", "year": 1961},
    {"id": "d2", "text": "Heat transfer to a flat plate.", "year": 1962},
    {"id": "d7", "text": "The lift of a wing in supersonic flow.", "year": 1961},
]
RUN = "q1 Q0 d1 1 9.1 a\nq1 Q0 d2 2 8.4 a\n"
ITEMS = "d1 Q0 d1 1 9.9 a\nd1 Q0 d2 2 8.0 a\nd2 Q0 d2 1 9.9 a\nd2 Q0 d1 2 8.0 a\n"


def lists():
    points = [[float(i % 7), float(i % 5)] for i in range(20)]
    ranks = {f"r{i}": rl.Ranks.from_vectors(points, metric) for i, metric in enumerate(("l1", "l2", "cosine"), 1)}
    return {"rl": rl, **ranks, **{f"q{i}": ranks[f"r{i}"].rows([3, 4]) for i in (1, 2, 3)}}


def write_documents(folder):
    for name, rows in {"docs": DOCUMENTS, "new": [{"id": "d8", "text": "Slabs of stone."}]}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text('{"id": "q1", "text": "heat"}\n{"id": "q2", "text": "wings"}\n')
    (folder / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d7 1\n")


def write_images(folder):
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in ("dogs/rex.png", "dogs/bello.png", "cats/tom.png", "cats/kitty.png", "../new.png"):
        path = folder / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (48, 48, 3), np.uint8)).save(path)


def write_runs(folder):
    shutil.copy(ROOT / "examples" / "plugin.py", folder)
    for name, text in {"a.run": RUN, "b.run": RUN, "a-items.run": ITEMS, "b-items.run": ITEMS}.items():
        (folder / name).write_text(text)


def write_tables(folder):
    for name in ("bm25", "dense"):
        np.save(folder / f"{name}.npy", rl.Ranks.from_vectors(np.random.default_rng(0).normal(size=(50, 3))).items)
        (folder / f"{name}.run").write_text(ITEMS)


def index():
    return {**(names := lists()), "index": rl.FusionIndex.build([names["r1"], names["r2"]], cutoff=3)}


#: What a page expects in the folder where its commands run.
FILES = {
    "docs/searcher.md": write_documents,
    "docs/images.md": write_images,
    "docs/runs.md": write_images,
    "docs/extending.md": write_runs,
    "docs/scaling.md": write_tables,
}
#: The names that the Python of a page expects.
NAMES = {"docs/guide.md": lists, "docs/extending.md": lists, "docs/training.md": lists, "docs/scaling.md": index}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.long) if page in LONG else page for page in PAGES if blocks(page)]
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKLOOM_CACHE", str(tmp_path / ".cache"))
    FILES.get(page, lambda folder: None)(tmp_path)
    run_page(page, tmp_path, NAMES.get(page, dict)())


def test_code_is_in_fenced_blocks_only():
    for page in PAGES:
        text = "".join(part for i, part in enumerate((ROOT / page).read_text("utf-8").split("```")) if i % 2 == 0)
        code = [line for line in text.split("\n\n    ")[1:] if page != "docs/methods.md"]
        assert code == [], f"{page}: fence the code that begins {code[:1]}"


def test_an_unknown_option_or_ranker_of_a_command_is_found():
    with pytest.raises(Exception, match="No such option: --rankr"):
        check_command("rankloom build docs.jsonl --rankr bm25 -o shop.loom")
    with pytest.raises(AssertionError):
        check_command("rankloom build docs.jsonl --ranker bm26 -o shop.loom")


def test_a_block_that_prints_something_else_is_found(tmp_path):
    from dataclasses import replace

    block = replace(blocks("docs/runs.md")[0], text="echo one\n", output="two\n")
    with pytest.raises(AssertionError, match="one"):
        run_shell(block, tmp_path)
    with pytest.raises(AssertionError):
        run_python(replace(block, text=">>> 1 + 1\n3\n"), {})
