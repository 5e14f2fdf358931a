"""`methods` and `rankers`: what there is, a line each."""

import subprocess
import sys
from pathlib import Path

import pytest

from command import run
from rankloom.aggregate import METHODS, SUPERVISED
from rankloom.rankers import RANKERS

PLUGIN = """
from rankloom.methods import register_method
from rankloom.rankers import RANKERS, register_ranker

@register_method("mine")
def mine(ranks, k):
    r'''My own: :math:`A \\cap B` of `all` lists.

    More.
    '''

register_ranker("plain")(lambda: RANKERS["bow"]())
"""


@pytest.mark.parametrize(("command", "names"), [("methods", [*METHODS, *SUPERVISED]), ("rankers", list(RANKERS))])
def test_every_name_has_a_line_that_says_what_it_is(command, names):
    lines = run(command).stdout.splitlines()
    assert [line.split()[0] for line in lines] == names
    assert all(len(line.split()) > 3 for line in lines)
    assert not any(mark in line for line in lines for mark in (":math:", "``", "\\"))


def test_names_of_plugins_are_listed(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    program = Path(sys.executable).with_name("rankloom")  # a plug-in stays registered until its process ends
    listed = {
        command: subprocess.run(
            [program, command, "--plugin", tmp_path / "plugin.py"], capture_output=True, text=True, check=True
        ).stdout
        for command in ("methods", "rankers")
    }
    assert "\nmine             My own: A ∩ B of all lists.\n" in listed["methods"]
    assert "\nplain\n" in listed["rankers"]
