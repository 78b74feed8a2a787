from __future__ import annotations

import io
import json
import os
import time

import pytest
from django.core.management import call_command

from launcher import local_state
from launcher.management.commands.ps import process_table
from launcher.run_lock import RunLock
from tests.support.command_documents import read_document


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command("ps", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.fixture
def running(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    entry = {"kind": "worker", "restarts": 1, "started_at": time.time()}
    processes = [
        {**entry, "name": "worker-1", "pid": os.getpid()},
        {**entry, "name": "worker-2", "pid": None},
    ]
    local_state.write_runtime(tmp_path, {"processes": processes})
    with RunLock(tmp_path):
        yield


def test_the_document_lists_what_lives_now(running):
    document = read_document("ps", _run("--json"))

    assert document["schema"] == 1
    assert [process["name"] for process in document["processes"]] == ["worker-1"]


def test_the_table_shows_what_is_being_started_again(running):
    text = _run()

    assert "MiB" in text
    assert "starting again" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_nothing_running_exits_with_1_and_an_empty_document(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))

    out, err = io.StringIO(), io.StringIO()

    with pytest.raises(SystemExit) as left:
        call_command("ps", "--json", stdout=out, stderr=err)

    assert left.value.code == 1
    assert json.loads(out.getvalue())["processes"] == []
    assert str(tmp_path) in err.getvalue()


def test_a_process_that_has_just_gone_has_no_figures():
    gone = {"name": "worker-1", "pid": 2**22 + 1, "restarts": 0, "started_at": 0.0}

    assert process_table([gone], 90.0)[1].split()[-2:] == ["-", "-"]
