import pytest

from command import run, sentence


def test_report_is_rendered_again(spec, tmp_path):
    results = tmp_path / "r"
    run("experiment", spec, "-o", results, "--no-cache")
    page = (results / "report.html").read_text()
    (results / "report.html").unlink()
    (results / "tables" / "mine.md").write_text("notes")
    assert run("report", results).exit_code == 0
    assert (results / "report.html").read_text() == page
    assert (results / "tables" / "mine.md").read_text() == "notes"


def test_missing_results_are_one_sentence(tmp_path):
    assert "run the experiment to its end" in sentence(run("report", tmp_path))


@pytest.fixture
def two(spec, tmp_path):
    """The results of two small experiments."""
    other = tmp_path / "other.toml"
    other.write_text(spec.read_text().replace("small", "smaller").replace("first=60", "first=50"))
    for number, one in enumerate((spec, other)):
        run("experiment", one, "-o", tmp_path / "results" / f"r{number}", "--no-cache")
    return tmp_path / "results"


def test_one_report_over_several_experiments(two):
    page = two / "all.html"
    result = run("report", *sorted(two.iterdir()), "-o", page)
    assert result.exit_code == 0
    assert "small, smaller" in page.read_text(encoding="utf-8")
    assert (two / "all-files" / "tables" / "correlations.csv").is_file()
    first = page.read_bytes()
    assert run("report", *sorted(two.iterdir()), "-o", page).exit_code == 0  # results/* has the earlier report
    assert page.read_bytes() == first
    (two / "unfinished" / "steps").mkdir(parents=True)
    result = run("report", *sorted(two.iterdir()), "-o", page)
    assert result.exit_code == 1
    assert "unfinished is left out: the experiment is unfinished" in result.stderr
    assert "small, smaller" in page.read_text(encoding="utf-8")


def test_several_folders_need_an_output_file(tmp_path):
    assert "such as -o all.html" in sentence(run("report", tmp_path, tmp_path))
    assert "such as -o all.html" in sentence(run("report", tmp_path, "--measure", "map"))


def test_the_report_of_one_experiment_is_not_overwritten(tmp_path):
    assert "choose another file" in sentence(run("report", tmp_path / "a", "-o", tmp_path / "a" / "report.html"))


def test_nothing_to_report_is_one_sentence(tmp_path):
    assert "There is nothing to report." in sentence(run("report", tmp_path, "-o", tmp_path / "all.html"))
