from __future__ import annotations

import io
import json
import threading
from typing import Any

import pytest

from launcher import console as module
from launcher.console import Console

OF_A_PROCESS = '{"event": "day.kept", "reason": "a"}'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Stuck(io.StringIO):
    """A stream that takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()
        self.entered = threading.Event()

    def write(self, text: str) -> int:
        self.entered.set()
        self.let_go.wait(10)
        return super().write(text)


def test_lines_are_prefixed_with_the_name_of_their_process():
    stream = io.StringIO()
    console = Console(stream, width=10)

    console.log("web-1", "one")
    console.log("worker-1", "two")
    console.close(timeout=60)

    assert stream.getvalue() == "web-1      | one\nworker-1   | two\n"


def test_colours_are_for_terminals_without_no_color(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = Terminal()
    console = Console(coloured)
    console.log("web-1", "one")
    console.close(timeout=60)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    console = Console(plain)
    console.log("web-1", "one")
    console.close(timeout=60)

    assert "\x1b[" in coloured.getvalue()
    assert "\x1b[" not in plain.getvalue()


def test_reader_that_takes_nothing_holds_nobody_up_and_losses_are_counted(monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING_LINES", 3)
    stream = Stuck()
    console = Console(stream)
    console.log("web-1", "first")
    stream.entered.wait(10)

    for number in range(10):
        console.log("web-1", f"line {number}")
    stream.let_go.set()
    console.close(timeout=10)

    assert "7 lines were dropped" in stream.getvalue()
    assert "line 2" in stream.getvalue()


def test_reader_that_went_away_does_not_end_the_console():
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    console = Console(Gone())

    console.log("web-1", "one")
    console.log("web-1", "two")

    console.close(timeout=60)


def test_closing_twice_is_allowed():
    console = Console(io.StringIO())

    console.close(timeout=60)
    console.close(timeout=60)


def _json_lines(*lines: str) -> list[dict[str, Any]]:
    stream = io.StringIO()
    console = Console(stream, json=True)
    for line in lines:
        console.log("web-1", line)
    console.close(timeout=60)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_log_lines_of_processes_are_passed_on_as_they_are(json_lines):
    assert _json_lines(OF_A_PROCESS) == [json.loads(OF_A_PROCESS)]


@pytest.mark.parametrize(
    "line",
    ["LOG:  ready", "", "{", '{"a": 1}', "[1]", f"{OF_A_PROCESS} and more", "a\r\x1b[31m\u2028b"],
)
def test_other_output_becomes_log_lines(json_lines, line: str):
    [found] = _json_lines(line)

    wanted = {"event": "process.wrote", "source": "web-1", "text": line, "level": "info"}
    assert wanted.items() <= found.items()


def test_lost_lines_are_counted_in_a_log_line(json_lines, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING_LINES", 1)
    stream = Stuck()
    console = Console(stream, json=True)
    console.log("web-1", "first")
    stream.entered.wait(10)

    for number in range(3):
        console.log("web-1", f"line {number}")
    stream.let_go.set()
    console.close(timeout=10)

    *_, last = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (last["source"], last["text"]) == ("supervisor", "2 lines were dropped")
