"""The documentation is true: its examples run, its lists are complete."""

import ast
import re
import runpy
import tomllib
from importlib.metadata import distribution
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import rankloom as rl
from rankloom.datasets import COLLECTIONS
from rankloom.evaluation import CORRECTIONS, CORRELATIONS, ESTIMATES, JOINT_TESTS, MEASURES, TESTS
from rankloom.evaluation.selection import SELECTIONS
from rankloom.io import FORMATS
from rankloom.methods import METHODS, SUPERVISED
from rankloom.rankers import RANKERS
from rankloom.registry import Call

ROOT = Path(__file__).parents[1]


def blocks(language, page="README.md"):
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    return [text for kind, text in fenced if kind == language]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 105


def readable(page):
    return " ".join((ROOT / page).read_text("utf-8").split())


def tables(page):
    """Yield the tables of a page, each as {first cell: {column: cell}}."""
    for text in re.findall(r"^\|.*\n\|[-:|]+\n(?:\|.*\n)+", (ROOT / page).read_text("utf-8"), re.MULTILINE):
        head, _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in text.splitlines())
        yield {name: dict(zip(head[1:], cells, strict=True)) for name, *cells in rows}


def means():
    """Return rows of means on the page of effectiveness: items seen and not, queries by both measures, one ranker."""
    rows = [one["mean"] for one in tables("docs/effectiveness.md") if "mean" in one]
    alone = next(row for row in rows if "NDCG@10, BM25" in row)
    return [{column: float(cell.split()[0]) for column, cell in row.items() if cell} for row in [*rows[:4], alone]]


def test_the_table_of_the_readme_has_the_means_of_the_page_of_effectiveness():
    seen, fresh, *_ = means()
    rows = [*next(tables("README.md")).values()]
    columns = ("best single", "RRF", "FG, cutoff 10", "weft")
    assert [list(row.values()) for row in rows] == [[f"{one[name]:.4f}" for one in (fresh, seen)] for name in columns]


def test_the_claims_of_the_readme_are_those_of_the_page_of_effectiveness():
    _, fresh, queries, recall, alone = means()
    text = readable("README.md")
    assert (
        f"weft {fresh['weft']:.3f}, the best single ranker {fresh['best single']:.3f}, RRF {fresh['RRF']:.3f}" in text
    )
    assert f"RecKNN ({fresh['RecKNN, best']:.3f}) and RkGraph ({fresh['RkGraph, best']:.3f}) match it only when" in text
    table = next(one for one in tables("docs/effectiveness.md") if "CosQA" in one)
    assert (table["better/tie/worse than vote"]["RRF"], table["CheckThat"]["RRF"]) == ("1/4/4", "0.8954 +0.0159")
    assert f"than RRF on four, worse on one (CheckThat); CombSUM has NDCG@10 {queries['CombSUM']:.3f}" in text
    assert f"DBSF {queries['DBSF']:.3f}, weights learned from labels {queries['linear, by labels']:.3f}" in text
    ndcg, found = ([one[name] for name in ("vote", "RRF", "best single")] for one in (queries, recall))
    assert "vote {:.3f}, RRF {:.3f}, the best single ranker {:.3f}".format(*ndcg) in text
    assert "recall@100 {:.3f}, {:.3f} and {:.3f}".format(*found) in text
    ndcg, found = ([alone[f"{measure}, {name}"] for name in ("vote", "BM25")] for measure in ("NDCG@10", "Recall@100"))
    assert "neighbors {:.3f} instead of {:.3f}, recall@100 {:.3f} instead of {:.3f}".format(*ndcg, *found) in text
    assert "better on MED, CISI, SciFact, worse on CheckThat" in readable("docs/effectiveness.md")
    assert "significantly better on three, worse on one" in text


def test_the_price_in_the_readme_is_that_of_the_page_of_benchmarks():
    price = next(one for one in tables("docs/benchmarks.md") if one and "folder MB" in next(iter(one.values())))
    few, many = (
        {name: float(cell.replace(",", "")) for name, cell in price[f"rankloom, {n} documents"].items()}
        for n in ("18,302", "100,000")
    )
    text = readable("README.md")
    assert f"18,302 documents take {few['build CPU s']:.0f} CPU seconds and {few['folder MB']:.0f} MB on disk" in text
    assert f"100,000 take {many['build CPU s']:.0f} CPU seconds, {many['folder MB']:.0f} MB on disk" in text
    assert f"and {many['peak GB']:.1f} GB of memory" in text


def test_the_readme_says_how_large_an_installation_is():
    """Of what `pip install .` brings; within a fifth, for versions and platforms differ. Not all installers compile."""
    needed, found, seen = ["rankloom"], 0, set()
    while needed:
        one = distribution(needed.pop())
        if one.name.lower() not in seen:
            seen.add(one.name.lower())
            required = map(Requirement, one.requires or ())
            needed += [r.name for r in required if r.marker is None or r.marker.evaluate({"extra": ""})]
            files = [Path(file.locate()) for file in one.files or () if file.suffix != ".pyc"]
            found += sum(file.stat().st_size for file in files if file.is_file())
    text = readable("README.md")
    whole, bytecode = re.search(r"(\d+) MB with dependencies, (\d+) MB of it bytecode", text).groups()
    said = int(whole) - int(bytecode)
    assert abs(found / 2**20 - said) < said / 5


def test_the_digits_example_prints_the_table_of_the_results(tmp_path, capsys):
    runpy.run_path(str(ROOT / "examples" / "digits.py"))["main"](tmp_path)
    table = next(block for block in blocks("", "docs/results.md") if "1797 digits" in block)
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line.strip() for line in table.splitlines()] == printed[: len(table.splitlines())]
    assert (tmp_path / "fusion-graph.svg").read_text().startswith("<svg")


@pytest.mark.long
def test_the_example_of_a_sparse_engine_prints_its_loss(capsys, monkeypatch):
    pytest.importorskip("qdrant_client", reason="the engine is not installed: pip install qdrant-client")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    runpy.run_path(str(ROOT / "examples" / "sparse_engine.py"))["main"](60)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("60 digits, ")
    exact, *engine = (float(line.split("NDCG@10 ")[1].split()[0]) for line in lines[1:])
    assert all(abs(exact - value) < 0.05 for value in engine)
    assert all(float(line.split("overlap@10 ")[1]) > 0.8 for line in lines[2:])


def test_the_code_of_the_page_on_extending_is_that_of_the_example():
    example = (ROOT / "examples" / "plugin.py").read_text()
    shown = blocks("python", "docs/extending.md")[0]
    assert all(part.strip() in example for part in shown.split("\n\n\n"))


def test_the_architecture_lists_the_layers_in_their_order():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [name for layer in contract["layers"] for name in re.split(" [|:] ", layer)]
    listed = [line.split()[0] for line in blocks("", "ARCHITECTURE.md")[0].splitlines()]
    assert listed == layers


def test_the_architecture_names_what_there_is():
    text = re.sub("```.*?```", "", (ROOT / "ARCHITECTURE.md").read_text(), flags=re.DOTALL)
    quoted = set(re.findall(r"`([^`\n]+)`", text))
    named = {one for one in quoted if re.search(r"/$|\.(py|toml)$", one)}
    folders = ("src", "benchmarks", "build_kernels", "tests")
    files = {path.name for folder in folders for path in (ROOT / folder).rglob("*")}
    assert [one for one in named if one.rstrip("/").rpartition("/")[2] not in files] == []
    code = {word for path in (ROOT / "src").rglob("*.py") for word in re.findall(r"\w+", path.read_text())}
    words = {word for one in quoted - named for word in re.findall(r"[A-Za-z_]{4,}", one)}
    assert words <= code


def test_no_page_has_lines_that_are_too_long():
    long = [
        f"{page.name}:{number}"
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if len(line) > 120 and not line.startswith("|")  # a row of a table cannot be broken
    ]
    assert long == []


def test_the_pages_made_from_the_code_are_up_to_date():
    for path, text in runpy.run_path(str(ROOT / "docs" / "make_pages.py"))["made"]().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run 'make docs'"


def test_every_method_is_on_the_page_of_methods():
    page = (ROOT / "docs" / "methods.md").read_text()
    assert [name for name in METHODS if f"| [`{name}`](#{name}) |" not in page] == []


def test_every_supervised_method_is_on_the_page_of_methods():
    page = (ROOT / "docs" / "methods.md").read_text()
    assert [name for name in SUPERVISED if f"| [`{name}`](#{name}) |" not in page] == []


ORACLES = runpy.run_path(str(ROOT / "docs" / "tools" / "oracles.py"))


@pytest.mark.long  # ranx is installed
def test_every_method_of_ranx_has_a_spelling_and_a_test_here():
    fusion = (Path(find_spec("ranx").origin).parent / "fusion" / "__init__.py").read_text()
    table = ORACLES["RANX"]
    assert sorted(re.findall(r'method == "(\w+)"', fusion)) == sorted(table)
    tests = (ROOT / "tests" / "aggregate" / "test_ranx.py").read_text()
    for theirs, spelling in table.items():
        call = Call.parse(spelling)
        known = SUPERVISED if call.name in SUPERVISED else METHODS
        assert {option for option, _ in call.options} <= set(signature(known[call.name]).parameters)
        assert f'"{theirs}"' in tests
        assert "ranx" in ORACLES["CHECKED"][call.name]


def test_every_method_of_udlf_has_a_spelling_and_a_test_here():
    """The names are those of UDL_METHOD in UDLF's configuration, commit 083436f, but NONE."""
    names = "CPRR RLRECOM RLSIM CONTEXTRR RECKNNGRAPH RKGRAPH CORGRAPH LHRR BFSTREE RDPAC RFE"
    assert sorted(ORACLES["UDLF"]) == sorted(names.split())
    for spelling in ORACLES["UDLF"].values():
        call = Call.parse(spelling)
        assert {option for option, _ in call.options} <= set(signature(METHODS[call.name]).parameters)
        assert {"UDLF", "transcript of UDLF"} & set(ORACLES["CHECKED"][call.name])


def source_of(path, name):
    """Return the source of a test with its decorators, and of the definitions of its module that it names."""
    text = (ROOT / "tests" / path).read_text("utf-8")
    lines, tree = text.splitlines(), ast.parse(text)

    def source(node):
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        return "\n".join(lines[first - 1 : node.end_lineno])

    test = source(next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name))
    words = set(re.findall(r"\w+", test)) - {name}
    named = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in words]
    named += [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in words]
    return "\n".join([test, *map(source, named)])


def test_what_methods_are_checked_against_is_what_tests_check():
    called = {"fg": "case.index|FusionIndex", "weft": "WeftIndex"}  # by the names of the indexes
    assert sorted(ORACLES["CHECKED"]) == sorted([*METHODS, *SUPERVISED])
    for method, checks in ORACLES["CHECKED"].items():
        assert checks, method
        for kind, test in checks.items():
            source = source_of(*test.split("::"))
            assert re.search(rf"\b({called.get(method, method)})\b", source), (method, test)
            assert kind != "ranx" or "of_ranx" in source
            assert ("golden" in test) == (kind in {"UDLF", "transcript of UDLF", "crecknn", "the authors' program"})


def test_every_measure_and_format_is_named_on_the_page_of_the_command_line():
    page = (ROOT / "docs" / "command-line.md").read_text()
    words = set(re.findall(r"[\w-]+", page))
    assert [name for name in (*MEASURES, *FORMATS) if name not in words] == []


def test_everything_that_has_a_name_is_on_the_page_of_evaluation():
    page = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    words = set(re.findall(r"`([\w-]+)", page))
    names = (*MEASURES, *CORRELATIONS, *ESTIMATES, *TESTS, *JOINT_TESTS, *CORRECTIONS, *SELECTIONS)
    assert [name for name in names if name not in words] == []


def test_every_collection_is_on_the_page_of_collections():
    page = (ROOT / "docs" / "collections.md").read_text()
    assert [name for name in COLLECTIONS if f"| `{name}` |" not in page] == []


def test_every_ranker_is_on_the_page_of_rankers():
    page = (ROOT / "docs" / "rankers.md").read_text()
    assert [name for name in RANKERS if f"| `{name}` |" not in page] == []


def test_the_page_of_benchmarks_has_every_part():
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    titles = (
        "Build",
        "Number of rankers",
        "Hubs",
        "Repositioning",
        "One external",
        "Start-up",
        "Per-query",
        "Graph methods",
    )
    assert [title for title in titles if f"### {title}" not in page] == []


PUBLIC = [
    "Answer",
    "Collection",
    "Experiment",
    "FusionIndex",
    "Hit",
    "Ids",
    "RankloomError",
    "RankloomWarning",
    "Ranks",
    "Searcher",
    "WeftIndex",
    "__version__",
    "compare",
    "correlation",
    "evaluate",
    "fuse",
    "open_collection",
    "read_qrels",
    "read_run",
    "read_runs",
    "select",
    "train",
    "write_run",
]


def test_rankloom_has_23_public_names():
    assert rl.__all__ == PUBLIC == sorted(PUBLIC)
    assert len(PUBLIC) == 23
    assert all(hasattr(rl, name) for name in PUBLIC)


def test_links_of_the_documentation_lead_somewhere():
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for link in re.findall(r"\]\(((?!https?:)[^)#]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_readme_counts_methods_and_rankers():
    counted = f"{len(METHODS) - 3} other fusion methods, {len(RANKERS)} rankers"  # without fg, weft and vote
    assert counted in readable("README.md")
