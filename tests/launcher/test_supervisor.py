from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from launcher.spawning import ProcessSpec
from launcher.supervised_process import Backoff
from launcher.supervisor import Command, Stage, StartFailure, Supervisor
from tests.support.ending import has_ended

FOREVER = "echo pid $$; exec tail -f /dev/null"
# A shell that hears signals at once, and goes on unless its trap ends it.
WAITING = "echo here; tail -f /dev/null & while :; do wait; done"


def spec(kind: str, program: str) -> ProcessSpec:
    return ProcessSpec(
        kind=kind,
        name=kind,
        argv=("/bin/sh", "-c", program),
        environment={"PATH": os.defpath},
        grace_seconds=300.0,
    )


async def always() -> bool:
    return True


async def never() -> bool:
    return False


class Program:
    """The supervisor of ``tests.support.supervised`` in a process of its own."""

    def __init__(self, *programs: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.supervised", *programs],
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self, text: str) -> str:
        """Read lines up to the one with the text."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if text in line:
                return line.rstrip("\n")
        raise AssertionError(f"ended without saying {text!r}")

    def next_pid(self) -> int:
        return int(self.line(" pid ").split()[-1])

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *details: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def test_stages_start_in_order_and_each_waits_for_the_one_before():
    log: list[str] = []

    async def scenario() -> None:
        first_ready = asyncio.Event()

        async def ready_once_seen() -> bool:
            if "first here" in log:
                first_ready.set()
            return first_ready.is_set()

        supervisor = Supervisor(
            stages=[
                Stage("one", [spec("first", "echo here; exec tail -f /dev/null")],
                      ready=ready_once_seen),
                Stage("two", commands=[Command(spec("middle", "echo run"))]),
                Stage("three", [spec("last", FOREVER)], ready=always),
            ],
            drain_order=[("last",), ("first",)],
            log=lambda name, line: log.append(f"{name} {line}"),
        )  # fmt: skip
        supervisor.started = supervisor.request_stop
        async with asyncio.timeout(20):
            await supervisor.run()

    asyncio.run(scenario())

    assert log.index("first here") < log.index("middle run")


def test_captured_output_of_a_command_is_kept_and_its_errors_are_logged():
    log: list[str] = []
    program = "echo '{\"a\": 1}'; echo careful >&2"
    supervisor = Supervisor(
        [Stage("one", commands=[Command(spec("bootstrap", program), captured=True)])],
        [],
        lambda name, line: log.append(f"{name} {line}"),
    )
    supervisor.started = supervisor.request_stop

    asyncio.run(supervisor.run())

    assert supervisor.heard == {"bootstrap": '{"a": 1}'}
    assert "bootstrap careful" in log


def test_failed_command_fails_the_start_and_stops_what_runs():
    supervisor = Supervisor(
        [
            Stage("one", [spec("server", FOREVER)]),
            Stage("two", commands=[Command(spec("migrate", "exit 3"))]),
        ],
        [("server",)],
        lambda name, line: None,
    )

    with pytest.raises(StartFailure, match="migrate failed with code 3"):
        asyncio.run(supervisor.run())

    assert [process.pid for process in supervisor.processes] == [None]


def test_stage_that_is_not_ready_in_time_fails_with_its_own_code():
    stage = Stage("the database", ready=never, timeout_seconds=0.1, failure_code=5)
    supervisor = Supervisor([stage], [], lambda name, line: None)

    with pytest.raises(StartFailure, match="the database is not ready") as caught:
        asyncio.run(supervisor.run())

    assert caught.value.code == 5


def test_process_that_keeps_ending_fails_the_start_before_its_timeout():
    supervisor = Supervisor(
        [Stage("web", [spec("web", "exit 1")], ready=never, timeout_seconds=3600)],
        [],
        lambda name, line: None,
        backoff=Backoff(first_seconds=0.01, longest_seconds=0.01),
    )

    with pytest.raises(StartFailure, match="web keeps ending"):
        asyncio.run(supervisor.run())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stop_signals_drain_the_kinds_in_order_and_end_with_zero(number):
    patient = "trap 'echo stopped; exit 0' TERM; " + WAITING

    with Program(patient, patient, patient) as program:
        for _ in range(3):
            program.line("here")
        program.process.send_signal(number)
        order = [program.line("stopped") for _ in range(3)]

        assert program.process.wait(timeout=20) == 0

    assert order == ["child-1 stopped", "child-2 stopped", "child-3 stopped"]


def test_child_that_dies_while_another_drains_is_still_started_again():
    # The recorder must live until the last worker has ended.
    log: list[str] = []

    async def scenario() -> None:
        news = asyncio.Event()

        def note(name: str, line: str) -> None:
            log.append(f"{name} {line}")
            news.set()

        async def said(text: str, times: int = 1) -> None:
            while sum(text in line for line in log) < times:
                news.clear()
                await news.wait()

        stubborn = "trap 'echo draining' TERM; " + WAITING
        supervisor = Supervisor(
            [Stage("all", [spec("worker", stubborn), spec("recorder", FOREVER)])],
            [("worker",), ("recorder",)],
            note,
            backoff=Backoff(first_seconds=0.01),
        )
        run = asyncio.create_task(supervisor.run())
        async with asyncio.timeout(20):
            await said("worker here")
            await said("recorder pid")
            supervisor.request_stop()
            await said("worker draining")
            worker, recorder = supervisor.processes
            assert recorder.pid is not None
            os.kill(recorder.pid, signal.SIGKILL)
            await said("recorder pid", times=2)
            worker.kill()
            await run

    asyncio.run(scenario())

    assert any("recorder was ended by SIGKILL" in line for line in log)


def test_second_signal_kills_what_does_not_want_to_end(monkeypatch):
    monkeypatch.setattr("launcher.supervisor.SECOND_SIGNAL_AFTER_SECONDS", 0.0)
    stubborn = "trap 'echo no' TERM; " + WAITING
    log: list[str] = []

    async def scenario() -> None:
        news = asyncio.Event()

        def note(name: str, line: str) -> None:
            log.append(f"{name} {line}")
            news.set()

        supervisor = Supervisor([Stage("all", [spec("worker", stubborn)])], [], note)
        run = asyncio.create_task(supervisor.run())
        for answer in ("worker here", "worker no"):
            while answer not in log:
                news.clear()
                await asyncio.wait_for(news.wait(), 60)
            supervisor.request_stop()
        # Far less than the grace of five minutes.
        await asyncio.wait_for(run, 60)

    asyncio.run(scenario())


def test_one_ctrl_c_that_arrives_twice_is_still_a_drain():
    patient = "trap 'echo drained; exit 0' TERM; " + WAITING

    with Program(patient) as program:
        program.line("here")
        program.process.send_signal(signal.SIGINT)
        program.process.send_signal(signal.SIGTERM)

        assert program.line("drained") == "child-1 drained"
        assert program.process.wait(timeout=20) == 0


def test_nothing_is_left_after_the_supervisor_is_killed():
    with Program(FOREVER, "trap '' TERM INT HUP; " + FOREVER) as program:
        first = program.next_pid()
        second = program.next_pid()
        program.process.kill()

        assert has_ended(first)
        assert has_ended(second)


def test_ctrl_c_at_the_terminal_does_not_reach_the_children():
    with Program("trap 'echo interrupted' INT; " + FOREVER) as program:
        child = program.next_pid()

        assert os.getpgid(child) == child
        assert os.getpgid(program.process.pid) != child
