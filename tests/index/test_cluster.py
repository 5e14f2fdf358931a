"""Connecting to a Dask cluster."""

import sys

import pytest

from rankloom.errors import InputError, MissingExtraError
from rankloom.index.cluster import connected, map_tasks
from rankloom.threads import running


def test_tasks_run_on_local_workers_in_their_order():
    reports = []
    with connected("local", workers=1) as client, running(progress=lambda *one: reports.append(one)):
        found = map_tasks(client, divmod, [7, 9, 5], 4, stage="dividing")
    assert found == [(1, 3), (2, 1), (1, 1)]
    assert reports == [("dividing", done, 3) for done in (1, 2, 3)]


def test_an_address_without_a_scheduler_is_an_error(monkeypatch):
    monkeypatch.setattr("rankloom.index.cluster.TIMEOUT", "0.2s")
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        with pytest.raises(InputError, match="Cannot connect to the scheduler"), connected(address):
            pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"rankloom\[dask\]"), connected("local"):
        pass
