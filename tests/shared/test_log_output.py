from __future__ import annotations

import atexit
import io
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from shared import log_output, logs
from shared.log_output import LineHandler, real_stderr, written_together


class Counting(io.StringIO):
    """A stream that keeps each write apart."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    """Return what lines are written to, as JSON; streams and hooks come back afterwards."""
    found = Counting()
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        monkeypatch.setattr(sys, name, found)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(atexit, "register", lambda *_: None)
    logs.configure({"level": "ERROR", "json": True})
    yield found
    logging.captureWarnings(False)
    monkeypatch.undo()
    logs.configure(settings.LOGGING)


def take_over(stream: Counting) -> None:
    """Take over the streams of the test, which pytest has replaced since the fixture was made."""
    sys.stdout = sys.stderr = stream
    log_output.take_over()


def _lines(stream: Counting) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_ten_thousand_lines_of_a_batch_are_written_whole_and_in_few_pieces(stream: Counting):
    log = logging.getLogger("x")

    with written_together():
        for number in range(10_000):
            log.error("events.lost", extra={"event_name": "e", "reason": str(number)})
        assert stream.writes == []

    assert [line["reason"] for line in _lines(stream)] == [str(n) for n in range(10_000)]
    assert all(piece.endswith("\n") and len(piece) <= 4096 for piece in stream.writes)
    assert len(stream.writes) < 1000


def test_a_line_longer_than_a_piece_stays_whole():
    handler = LineHandler(found := Counting())

    handler.write_all(["a\n", "b" * 5000 + "\n", "c\n"])

    assert found.writes == ["a\n", "b" * 5000 + "\n", "c\n"]


def test_lines_before_an_error_of_the_batch_are_written(stream: Counting):
    def fail() -> None:
        with written_together():
            logging.getLogger("x").error("day.kept")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert [line["event"] for line in _lines(stream)] == ["day.kept"]


def test_what_is_written_past_the_log_becomes_lines(stream: Counting):
    take_over(stream)
    log_output.take_over()

    sys.stdout.write("one\ntwo")
    sys.stderr.write(" and more\n")
    sys.stdout.write("\n end\n")
    sys.stderr.writelines(["three\n"])

    assert [(line["source"], line["text"]) for line in _lines(stream)] == [
        ("stdout", "one"),
        ("stderr", " and more"),
        ("stdout", "two"),
        ("stdout", " end"),
        ("stderr", "three"),
    ]
    assert {line["event"] for line in _lines(stream)} == {"process.wrote"}
    assert real_stderr() is stream


@pytest.mark.parametrize("writer", ["stdout", "__stdout__", "__stderr__"])
def test_programs_find_a_plain_stream_without_a_descriptor(stream: Counting, writer: str):
    take_over(stream)

    found = getattr(sys, writer)

    assert (found.isatty(), found.writable(), hasattr(found, "fileno")) == (False, True, False)


def test_what_a_process_leaves_without_a_line_break_is_logged_at_its_end(
    stream: Counting, monkeypatch: pytest.MonkeyPatch
):
    ends: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", ends.append)
    take_over(stream)
    sys.stdout.write("last words")

    for end in ends:
        end()

    assert [line["text"] for line in _lines(stream)] == ["last words"]


def test_an_uncaught_error_is_one_line(stream: Counting):
    take_over(stream)

    try:
        raise RuntimeError("broken pk_abcdefghi_canary")
    except RuntimeError as error:
        sys.excepthook(type(error), error, error.__traceback__)

    [line] = _lines(stream)
    assert (line["event"], line["level"]) == ("process.crashed", "critical")
    assert "RuntimeError: broken [redacted]" in line["exception"]


def test_an_interrupt_is_no_crash(stream: Counting):
    take_over(stream)

    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)

    assert _lines(stream) == []


@pytest.mark.parametrize(
    ("error", "events"), [(RuntimeError("broken"), ["thread.crashed"]), (SystemExit(1), [])]
)
def test_a_thread_that_ends_by_an_error_is_one_line(
    stream: Counting, error: BaseException, events: list[str]
):
    take_over(stream)

    def fail() -> None:
        raise error

    thread = threading.Thread(target=fail, name="the-thread")
    thread.start()
    thread.join()

    assert [(line["event"], line["thread_name"]) for line in _lines(stream)] == [
        (event, "the-thread") for event in events
    ]


def test_a_log_that_cannot_be_written_complains_once_on_the_real_stream(
    stream: Counting, monkeypatch: pytest.MonkeyPatch
):
    take_over(stream)
    refuse: Callable[..., str] = lambda *_: 1 / 0  # type: ignore[assignment]  # noqa: E731 - raises
    monkeypatch.setattr(logging.getLogger().handlers[0].formatter, "format", refuse)

    log_output.log.error("process.wrote")

    assert "ZeroDivisionError" in stream.getvalue()
