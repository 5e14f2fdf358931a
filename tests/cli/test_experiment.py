from command import run, sentence
from rankloom.experiment import Experiment


def test_experiment_writes_data_and_a_report(spec, tmp_path):
    done = run("experiment", spec, "-o", tmp_path / "r", "--no-cache")
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "r").iterdir()} == {
        "steps",
        "experiment.toml",
        "plots",
        "report-files.json",
        "report.html",
        "results.jsonl",
        "tables",
    }
    assert "The report is" in done.stdout
    assert "Note: The selection" in done.stderr  # the best two are all there are


def test_specification_is_never_overwritten(spec, tmp_path):
    own = spec.rename(tmp_path / "experiment.toml")
    before = own.read_text()
    assert "would be overwritten" in sentence(run("experiment", own, "-o", tmp_path))
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert "would be overwritten" in sentence(run("experiment", own, "-o", link))
    assert "choose a new folder" in sentence(run("experiment", "--example", "-o", tmp_path))
    assert own.read_text() == before


def test_method_that_fails_is_reported_and_the_rest_runs(spec, tmp_path):
    spec.write_text(spec.read_text().replace('"rrf"]', '"rrf", "combsum(weights=[1, 2, 3])"]'))
    done = run("experiment", spec, "-o", tmp_path / "r", "--no-cache")
    assert done.exit_code == 1
    assert "Error: combsum(weights=[1, 2, 3]) on all failed: " in done.stderr
    assert "combsum(weights=[1, 2, 3]) on all failed" in (tmp_path / "r" / "report.html").read_text()


def test_example_can_be_shown():
    shown = run("experiment", "--example", "--show")
    assert Experiment.from_toml(shown.stdout).name == "Handwritten digits"


def test_invalid_input_is_one_sentence(spec, tmp_path):
    assert "or --example" in sentence(run("experiment"))
    assert "or --example" in sentence(run("experiment", spec, "--example"))
    assert "There is no file" in sentence(run("experiment", tmp_path / "no.toml"))
    text = spec.read_text()
    spec.write_text(text.replace("digits(first=60)", "digit"))
    assert "There is no folder or collection digit" in sentence(run("experiment", spec, "-o", tmp_path / "r"))
    spec.write_text(text.replace("part=sums", "part=sum"))
    assert "The ranker 'sums' needs sum, which these items lack; they have ids, images, pixels" in sentence(
        run("experiment", spec, "-o", tmp_path / "r", "--no-cache")
    )
