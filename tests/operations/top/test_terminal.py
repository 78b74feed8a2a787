"""The loop with a terminal of the test: what is drawn, and which keys it understands."""

from __future__ import annotations

import curses
from collections.abc import Iterator
from typing import Any

import pytest

from operations.top import terminal
from operations.top.tables import Row, Shown

ROW = Row(("aaa", "RUNNING", "Invoices"))


class Window:
    """A terminal of 80 by 24 that types what it is given, and then waits out its time."""

    def __init__(self, keys: Iterator[Any]) -> None:
        self.keys, self.screens = keys, list[list[str]]()

    def getmaxyx(self) -> tuple[int, int]:
        return 24, 80

    def erase(self) -> None:
        self.screens.append([])

    def addstr(self, line: int, column: int, text: str, style: int) -> None:
        assert (line, column) == (len(self.screens[-1]), 0)
        self.screens[-1].append(text)

    def refresh(self) -> None:
        assert len(self.screens[-1]) == 24

    def timeout(self, milliseconds: int) -> None:
        assert milliseconds >= 1

    def get_wch(self) -> Any:
        key = next(self.keys)
        if key is None:
            raise curses.error("no input")
        return key


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the tabs in the order in which they are read, each with one row."""
    made: list[str] = []

    def tab(name: str) -> Any:
        def read() -> Shown:
            made.append(name)
            return Shown(("id", "state", "task"), (ROW,))

        return read

    names = ("overview", "under way", "waiting", "failed", "workers")
    monkeypatch.setattr(terminal, "TABS", {name: tab(name) for name in names})
    monkeypatch.setattr(curses, "curs_set", lambda visible: None)
    return made


def test_tabs_are_read_when_they_open_and_again_after_the_interval(readings: list[str]):
    window = Window(iter([None, curses.KEY_RIGHT, "\t", curses.KEY_LEFT, "/", "q", "\n", "q"]))

    terminal._loop(window, 3600.0)

    assert readings == ["overview", "overview", "under way", "waiting", "under way"]
    assert window.screens[-1][0].startswith(" overview   [under way]")
    assert any("0 of 1 by /q" in line for line in window.screens[-1])


def test_a_size_that_is_not_a_terminals_is_survived(readings: list[str], monkeypatch: Any):
    window = Window(iter([410, "q"]))  # the key of a changed size
    monkeypatch.setattr(window, "getmaxyx", lambda: (2, 3))
    monkeypatch.setattr(window, "refresh", lambda: None)

    terminal._loop(window, 3600.0)

    assert readings == ["overview"]
    assert all(len(screen) <= 2 for screen in window.screens)
