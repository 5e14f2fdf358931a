"""Kernels that other processes compile are loaded, not compiled again."""

import subprocess
import sys

import pytest

from rankloom.cli.demo import METHODS, PAGE_PLANS, TABLE_PLANS
from rankloom.cli.precompile import STAGES, Precompiler, compile_stages


def test_stages_run_and_are_reported(capsys):
    compile_stages(list(STAGES))
    assert capsys.readouterr().out.split("\n") == [*STAGES, ""]


def test_plans_are_stages_and_have_every_slow_method():
    planned = [stage for plan in (*PAGE_PLANS, *TABLE_PLANS) for stage in plan]
    assert sorted(planned) == sorted(STAGES)
    assert {"fg", "rkgraph", "recknngraphccs"} <= METHODS.keys() & set(planned)


@pytest.mark.parametrize("code", ["print('one'); print('two')", "print('one')", "raise SystemExit(1)"])
def test_waiting_ends_with_the_stage_or_the_process(monkeypatch, code):
    monkeypatch.setattr("rankloom.cli.precompile.CODE", code)
    with Precompiler(["one", "two"]) as compiling:
        compiling.wait("one")
        compiling.wait("two")
        compiling.wait("one", "two", "three")


def test_processes_end_with_the_precompiler(monkeypatch):
    monkeypatch.setattr("rankloom.cli.precompile.CODE", "import time; time.sleep(600)")
    children = []
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *given, **options: children.append(start(*given, **options)) or children[-1]
    )
    with Precompiler(["one"]) as compiling:
        compiling.start(["two"])
        assert [child.poll() for child in children] == [None, None]
    compiling.start(["three"])
    assert len(children) == 2
    assert None not in [child.poll() for child in children]


@pytest.mark.long
def test_nothing_is_compiled_twice(tmp_path):
    """The search that another process compiled is found in numba's cache."""
    code = """if True:
        import sys
        from rankloom.cli.precompile import compile_stages, is_compiled
        print(is_compiled())
        compile_stages(["weft search"])
        from rankloom._kernels.weft.search import search
        print(sum(search.stats.cache_hits.values()), sum(search.stats.cache_misses.values()))
    """
    import os

    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment).stdout
        for _ in range(2)
    ]
    assert [run.split("\n")[::2][:2] for run in runs] == [["False", "0 1"], ["True", "1 0"]]


def test_modules_in_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "local_module.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rankloom.cli.precompile.CODE", "import local_module; print('one', flush=True); input()")
    with Precompiler(["one", "two"]) as compiling:
        compiling.wait("one")
        assert compiling._plans == [[]]  # the process failed
