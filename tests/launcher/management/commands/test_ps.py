from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from django.core.management import call_command

from launcher import local_state
from launcher.management.commands.ps import process_table
from launcher.run_lock import RunLock
from tests.support.command_documents import read_document

PROCESSES: list[dict[str, Any]] = [
    {"kind": "web", "name": "web-1", "pid": os.getpid(), "restarts": 2, "started_at": 1.0},
    {"kind": "worker", "name": "worker-1", "pid": None, "restarts": 3, "started_at": 1.0},
]


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    local_state.write_runtime(tmp_path, {"processes": PROCESSES})
    return tmp_path


def test_json_lists_the_processes_that_live(data_dir, capsys):
    with RunLock(data_dir):
        call_command("ps", "--json")

    shown = read_document("ps", capsys.readouterr().out)
    assert shown == {"schema": 1, "processes": PROCESSES[:1]}


def test_table_fits_a_terminal_and_shows_what_is_about_to_start(data_dir, capsys):
    with RunLock(data_dir):
        call_command("ps")

    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[1].split()[:3] == ["web-1", str(os.getpid()), "2"]
    assert "MiB" in lines[1]
    assert "starting again" in lines[2]


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_nothing_that_runs_is_exit_code_one_even_with_a_stale_file(data_dir, arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        call_command("ps", *arguments)

    assert caught.value.code == 1
    shown = capsys.readouterr()
    assert f"not running on the data directory {data_dir}." in shown.err
    assert "DATA_DIR=" in shown.err
    if arguments:
        assert json.loads(shown.out) == {"schema": 1, "processes": []}


@pytest.mark.parametrize(
    ("age", "spoken"), [(5, "5 s"), (120, "2 m"), (7200, "2 h"), (3 * 86400, "3 d")]
)
def test_ages_are_told_in_the_largest_unit(age, spoken):
    now = time.time()

    table = process_table([{**PROCESSES[0], "started_at": now - age}], now)

    assert spoken in table[1]


def test_process_that_just_ended_has_no_figures():
    gone = {**PROCESSES[0], "pid": 2**22 + 1}

    assert process_table([gone], 10.0)[1].split()[-2:] == ["-", "-"]
