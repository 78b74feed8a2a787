from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable

import pytest

from launcher import supervised_process
from launcher.spawning import ProcessSpec, Spawner
from launcher.supervised_process import (
    MAX_LINE_BYTES,
    Backoff,
    SupervisedProcess,
    pump_lines,
)
from tests.support.ending import has_ended

QUICK = Backoff(first_seconds=0.01, longest_seconds=0.02)


class Journal:
    """Collects log lines and lets a test wait for one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = asyncio.Event()

    def log(self, name: str, line: str) -> None:
        self.lines.append(f"{name} {line}")
        self._news.set()

    def changed(self) -> None:
        self._news.set()

    async def until(self, condition: Callable[[], object], timeout: float = 120.0) -> None:
        async with asyncio.timeout(timeout):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def said(self, text: str) -> None:
        await self.until(lambda: any(text in line for line in self.lines))


@contextlib.asynccontextmanager
async def supervised(program: str, journal: Journal, *, grace: float = 60.0, niceness: int = 0):
    spec = ProcessSpec(
        kind="fake",
        name="fake-1",
        argv=("/bin/sh", "-c", program),
        environment={"PATH": os.defpath},
        grace_seconds=grace,
        niceness=niceness,
    )
    process = SupervisedProcess(spec, journal.log, journal.changed, Spawner(), QUICK)
    task = asyncio.create_task(process.run())
    try:
        yield process
    finally:
        process.kill()
        await task


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 0.2), (2, 0.4), (3, 0.8), (6, 6.4), (7, 10.0), (10_000, 10.0)]
)
def test_restart_delays_double_up_to_the_longest(failures, seconds):
    assert Backoff().delay(failures) == pytest.approx(seconds)


async def test_process_that_ends_is_started_again_and_counted():
    journal = Journal()

    async with supervised("echo here; exit 3", journal) as process:
        await journal.until(lambda: process.restarts >= 3)

    assert journal.lines.count("fake-1 here") >= 3
    assert any("ended with code 3; starting again in" in line for line in journal.lines)


def _kill(process: SupervisedProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [_kill, SupervisedProcess.crash])
async def test_killed_process_is_started_again_under_another_pid(end):
    journal = Journal()

    async with supervised("echo here; exec tail -f /dev/null", journal) as process:
        await journal.said("here")
        first = process.pid
        end(process)
        await journal.until(lambda: process.restarts == 1 and process.pid is not None)
        second = process.pid

    assert second != first
    assert any("was ended by SIGKILL" in line for line in journal.lines)


async def test_failures_are_forgotten_after_a_long_life():
    journal = Journal()
    forgetful = Backoff(first_seconds=0.01, longest_seconds=10.0, forgotten_after_seconds=0.0)
    spec = ProcessSpec("fake", "fake-1", ("/bin/sh", "-c", "exit 1"), {})
    process = SupervisedProcess(spec, journal.log, journal.changed, Spawner(), forgetful)
    task = asyncio.create_task(process.run())

    # Doubled, the twelfth delay alone would take twenty seconds.
    await journal.until(lambda: process.restarts >= 12)

    process.kill()
    await task


async def test_program_that_cannot_be_started_is_reported_and_tried_again():
    journal = Journal()
    spec = ProcessSpec("fake", "fake-1", ("/nonexistent/program",), {})
    process = SupervisedProcess(spec, journal.log, journal.changed, Spawner(), QUICK)
    task = asyncio.create_task(process.run())

    await journal.until(lambda: len(journal.lines) >= 2)

    assert "cannot be started" in journal.lines[0]
    await process.stop()
    await task


async def test_stop_signals_and_waits_for_the_end():
    journal = Journal()
    program = "trap 'echo bye; exit 0' TERM; echo here; tail -f /dev/null & while :; do wait; done"

    async with supervised(program, journal) as process:
        await journal.said("here")
        await process.stop()

        assert process.pid is None
        assert "fake-1 bye" in journal.lines
        assert process.restarts == 0


async def test_process_that_ignores_the_stop_signal_is_killed_after_its_grace():
    journal = Journal()
    program = "trap '' TERM; echo here; tail -f /dev/null & while :; do wait; done"

    async with supervised(program, journal, grace=0.1) as process:
        await journal.said("here")
        await process.stop()

        assert process.pid is None
        assert any("still runs after 0.1 s; killed" in line for line in journal.lines)


async def test_what_a_process_left_in_its_group_ends_with_it():
    journal = Journal()

    async with supervised("tail -f /dev/null & echo left $!; exit 0", journal):
        await journal.said("left ")
        left = next(int(line.split()[-1]) for line in journal.lines if "left" in line)
        await journal.said("starting again")

    assert has_ended(left)


async def test_stopping_during_the_pause_before_a_restart_returns_at_once():
    journal = Journal()
    spec = ProcessSpec("fake", "fake-1", ("/bin/sh", "-c", "exit 1"), {})
    patient = Backoff(first_seconds=3600.0, longest_seconds=3600.0)
    process = SupervisedProcess(spec, journal.log, journal.changed, Spawner(), patient)
    task = asyncio.create_task(process.run())
    await journal.said("starting again in 3600.0 s")

    async with asyncio.timeout(5):
        await process.stop()
        await task

    assert process.restarts == 0


async def test_lines_are_passed_on_whole_and_endless_ones_in_pieces():
    stream = asyncio.StreamReader()
    stream.feed_data(b"one\r\ntwo\n" + b"x" * (3 * MAX_LINE_BYTES) + b"\n\xff last")
    stream.feed_eof()
    lines: list[str] = []

    await pump_lines(stream, lines.append)

    assert lines[:2] == ["one", "two"]
    assert "".join(lines[2:-1]) == "x" * (3 * MAX_LINE_BYTES)
    assert max(len(line) for line in lines) <= 2 * MAX_LINE_BYTES
    assert lines[-1] == "\ufffd last"


async def test_output_without_end_does_not_hold_up_a_stop():
    journal = Journal()

    async with supervised("echo here; exec yes", journal) as process:
        await journal.said("here")
        async with asyncio.timeout(10):
            await process.stop()

    assert process.pid is None


@pytest.mark.parametrize("niceness", [0, 5])
async def test_a_process_stands_back_as_far_as_it_is_told(niceness: int):
    journal = Journal()
    own = os.nice(0)

    async with supervised("nice; sleep 60", journal, niceness=niceness):
        await journal.said(f"fake-1 {min(own + niceness, 19)}")


@pytest.mark.parametrize("niceness", [0, 5])
async def test_sessions_of_its_children_stand_back_with_it(niceness: int, monkeypatch):
    journal = Journal()
    held: list[tuple[int, int]] = []

    async def hold_back(parent: int, by: int) -> None:
        held.append((parent, by))
        journal.changed()
        await asyncio.Event().wait()

    monkeypatch.setattr(supervised_process, "hold_back", hold_back)
    async with supervised("echo here; sleep 60", journal, niceness=niceness) as process:
        await journal.said("here")
        pid = process.pid
        if niceness:
            await journal.until(lambda: held)

    assert held == ([(pid, niceness)] if niceness else [])
