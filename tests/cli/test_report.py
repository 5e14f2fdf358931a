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
