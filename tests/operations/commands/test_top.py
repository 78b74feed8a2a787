from __future__ import annotations

from typing import Any

import pytest

from tests.support.command_calls import call


def test_without_a_terminal_it_names_what_to_use():
    said = call("top")

    assert (said.code, said.out) == (2, "")
    assert "status --watch" in said.err


def test_it_is_not_read_more_often_than_a_person_can_follow():
    assert call("top", "--interval", "0.1").code == 2


def test_on_a_terminal_the_screen_gets_the_interval(monkeypatch: pytest.MonkeyPatch):
    shown: list[Any] = []
    monkeypatch.setattr("operations.top.terminal.run", shown.append)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)

    call("top", "--interval", "5")

    assert shown == [5.0]
