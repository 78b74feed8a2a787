from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from bench.chaos.processes import signal_all, stopped, until_true
from bench.chaos.table import EXPERIMENTS
from bench.installation import InstallationError
from tests.support.waiting import until


def test_a_process_that_has_just_ended_is_passed_over():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lives = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    signal_all([ended.pid, lives.pid], signal.SIGKILL)

    assert lives.wait() == -signal.SIGKILL


def test_what_was_stopped_goes_on_after_the_block():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    async def stop_a_moment() -> None:
        async with stopped([process.pid]):
            until(lambda: _state(process.pid) == "T")

    try:
        asyncio.run(stop_a_moment())
        until(lambda: _state(process.pid) != "T")
    finally:
        process.kill()
        process.wait()


def test_waiting_for_what_never_holds_says_for_what():
    with pytest.raises(InstallationError, match="pigs fly"):
        asyncio.run(until_true("pigs fly", lambda: False, 0.01))


def test_every_fault_has_an_id_of_its_own():
    ids = [one.id for one in EXPERIMENTS]

    assert len(ids) == len(set(ids))


def _state(pid: int) -> str:
    with open(os.path.join("/proc", str(pid), "stat"), encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[0]
