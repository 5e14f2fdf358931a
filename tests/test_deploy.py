"""What the Dockerfile and the compose file say is true of the command; `deploy/check.sh` runs their steps in CI."""

import re
from pathlib import Path

import yaml
from typer.main import get_command

from rankloom.cli.app import app

DEPLOY = Path(__file__).parents[1] / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
SERVICE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["rankloom"]


def test_the_image_is_made_by_the_script_that_ci_runs():
    assert "RUN sh /src/deploy/install.sh /src /opt/rankloom" in DOCKERFILE
    assert 'sh "$sources/deploy/install.sh" "$sources"' in (DEPLOY / "check.sh").read_text()
    workflow = yaml.safe_load((DEPLOY.parent / ".github/workflows/check.yml").read_text())
    assert {"run": 'env -i PATH="$PATH" sh deploy/check.sh'} in workflow["jobs"]["deploy"]["steps"]


def test_the_service_does_not_run_as_root_and_cannot_write():
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["10001"]
    assert SERVICE["read_only"] is True
    assert SERVICE["cap_drop"] == ["ALL"]


def test_every_variable_is_an_option_of_serve():
    options = {parameter.name for parameter in get_command(app).commands["serve"].params}
    known = {"RANKLOOM_API_KEY", *(f"RANKLOOM_SERVE_{name.upper()}" for name in options)}
    named = {*re.findall(r"RANKLOOM_[A-Z_]+", DOCKERFILE), *SERVICE["environment"]}
    assert named <= known
    assert {"RANKLOOM_SERVE_HOST", "RANKLOOM_SERVE_PORT"} <= named
