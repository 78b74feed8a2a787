from __future__ import annotations

import os

import pytest
from django.core.management import call_command

from launcher.management.commands import up
from launcher.run_lock import RunLock
from launcher.up import UpFailure


@pytest.fixture(autouse=True)
def _own_data_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))


def test_start_while_it_runs_says_so_plainly_with_exit_code_four(tmp_path, capsys):
    with RunLock(tmp_path), pytest.raises(SystemExit) as caught:
        call_command("up")

    assert caught.value.code == 4
    assert capsys.readouterr().err.startswith(f"Punctual already runs (pid {os.getpid()}, http")


def test_what_people_need_goes_to_standard_output_and_a_stop_ends_with_zero(monkeypatch, capsys):
    monkeypatch.setattr(up, "run_up", lambda options, console, say: say("ready"))

    call_command("up")

    assert capsys.readouterr().out == "ready\n"


def test_where_lines_are_json_a_failed_start_is_one(monkeypatch, json_lines, settings):
    def fail(*arguments: object) -> None:
        raise UpFailure("no\nway", 5)

    monkeypatch.setattr(up, "run_up", fail)
    settings.LOGGING = {**settings.LOGGING, "json": True}

    with pytest.raises(SystemExit):
        call_command("up")

    [line] = json_lines()
    assert (line["event"], line["reason"]) == ("installation.not_started", "no\nway")


@pytest.mark.parametrize(
    ("problem", "code"), [(UpFailure("no", 5), 5), (UpFailure("no"), 1), (KeyboardInterrupt(), 130)]
)
def test_failures_end_with_their_documented_code(monkeypatch, problem, code):
    def fail(*arguments):
        raise problem

    monkeypatch.setattr(up, "run_up", fail)

    with pytest.raises(SystemExit) as caught:
        call_command("up")

    assert caught.value.code == code
