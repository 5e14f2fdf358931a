"""The demo: a table that is the README's, and kept results the second time."""

from pathlib import Path

from typer.testing import CliRunner

from rankloom.cli import app

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_demo_prints_the_table_of_the_readme():
    result = CliRunner().invoke(app, ["demo", "--no-serve", "--no-cache"])
    assert result.exit_code == 0, result.output
    assert result.output.strip() in README


def test_second_demo_prints_the_same_from_the_cache(tmp_path):
    arguments = ["demo", "--no-serve", "--first", "60", "--cache", str(tmp_path)]
    first = CliRunner().invoke(app, arguments)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    again = CliRunner().invoke(app, arguments)
    assert first.exit_code == again.exit_code == 0
    assert first.output == again.output
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == kept
