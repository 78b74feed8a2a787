from __future__ import annotations

import sys

import pytest

from shared.exceptions import InvalidInput, TooLarge, Unavailable
from tasks.ical import reading
from tasks.ical.limits import MAX_BYTES, Limits
from tasks.ical.reading import read_ical
from tests.tasks.ical.files import NOW, calendar, days, reasons


def program(monkeypatch, text: str) -> None:
    monkeypatch.setattr(reading, "_PROGRAM", (sys.executable, "-c", text))


def test_a_file_is_read_in_a_process_that_knows_none_of_our_secrets(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "known to us")

    assert days(read_ical(calendar("DTSTART:20261225"), now=NOW)) == ["2026-12-25"]
    assert set(reading._environment()) == {"PYTHONPATH", "PYTHONIOENCODING"}


def test_what_is_no_icalendar_file_is_refused_with_its_line():
    with pytest.raises(InvalidInput) as refused:
        read_ical(b"hello", now=NOW)

    (error,) = refused.value.errors
    assert (error.pointer, error.code) == ("#/ical", "ical_invalid")
    assert error.message == "Line 1: An iCalendar file has a line BEGIN:VCALENDAR."


def test_a_hostile_rule_is_stopped_in_the_process_that_follows_it():
    bomb = "DTSTART:19700101T000000Z\nDURATION:PT1S\nRRULE:FREQ=SECONDLY"
    limits = Limits(event_seconds=0.5, repetitions=10**9)

    found = read_ical(calendar(bomb, "DTSTART:20261225"), now=NOW, limits=limits)

    assert days(found) == ["2026-12-25"]
    assert reasons(found) == ["it takes too long to follow"]


def test_a_file_that_is_too_large_is_refused_before_a_process_is_started(monkeypatch):
    program(monkeypatch, "raise SystemExit(1)")

    with pytest.raises(TooLarge):
        read_ical(b"x" * (MAX_BYTES + 1), now=NOW)


def test_a_process_that_does_not_end_is_killed(monkeypatch):
    program(monkeypatch, "import signal; signal.pause()")
    monkeypatch.setattr(reading, "_WALL_SECONDS", 0.05)

    with pytest.raises(InvalidInput, match="too long"):
        read_ical(b"", now=NOW)


def test_a_process_that_the_kernel_ends_is_a_file_that_takes_too_much(monkeypatch):
    program(monkeypatch, "import os; os.kill(os.getpid(), 9)")

    with pytest.raises(InvalidInput, match="too much time or memory"):
        read_ical(b"", now=NOW)


def test_a_fault_of_the_reader_is_no_fault_of_the_file(monkeypatch):
    program(monkeypatch, "raise KeyError('ours')")

    with pytest.raises(RuntimeError, match="ours"):
        read_ical(b"", now=NOW)


def test_while_other_files_are_read_the_next_one_is_put_off(monkeypatch):
    monkeypatch.setattr(reading, "_WAIT_SECONDS", 0)
    for _ in range(reading._AT_A_TIME):
        assert reading._turns.acquire(blocking=False)
    try:
        with pytest.raises(Unavailable, match="Try again"):
            read_ical(calendar(), now=NOW)
    finally:
        reading._turns.release(reading._AT_A_TIME)

    assert read_ical(calendar(), now=NOW).dates == []


def test_the_process_limits_its_time_and_its_memory():
    script = (
        "import resource, sys, json\n"
        "from tasks.ical import child\n"
        "child._bound(15)\n"
        "soft = [resource.getrlimit(one)[0] for one in (resource.RLIMIT_CPU, resource.RLIMIT_AS)]\n"
        "sys.stdin.buffer.read()\n"
        "print(json.dumps({'line': 1, 'problem': str(soft)}))\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        program(patch, script)
        with pytest.raises(InvalidInput) as refused:
            read_ical(b"", now=NOW)

    assert refused.value.message == "Line 1: [15, 805306368]"
