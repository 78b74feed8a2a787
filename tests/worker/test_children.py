from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from tests.support.liveness import lives
from tests.support.waiting import until
from worker.children import (
    child_environment,
    die_with_parent,
    end_leader,
    in_memory,
    spawn_leader,
)


def test_a_child_finds_what_this_process_has_imported(monkeypatch):
    monkeypatch.setenv("FROM_THE_WORKER", "1")

    found = child_environment()

    assert found["FROM_THE_WORKER"] == "1"
    assert set(found["PYTHONPATH"].split(os.pathsep)) == {path for path in sys.path if path}


@pytest.mark.parametrize("data", [b"", b"payload", b"x" * 1_000_000])
def test_standard_input_from_memory(data):
    descriptor = in_memory(data)

    try:
        found = subprocess.run(["cat"], stdin=descriptor, capture_output=True, check=True)
    finally:
        os.close(descriptor)

    assert found.stdout == data


def test_a_process_ends_with_the_one_that_started_it():
    parent = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", '''
from worker.children import die_with_parent
die_with_parent({{}})
print("bound", flush=True)
import time; time.sleep(600)
'''.format(os.getpid())], stdout=subprocess.PIPE, env={child_environment()!r})
child.stdout.readline()
print(child.pid, flush=True)
os._exit(0)
"""
    found = subprocess.run([sys.executable, "-c", parent], capture_output=True, check=True)

    child = int(found.stdout)
    until(lambda: not lives(child))


def test_a_process_whose_parent_has_gone_already_ends_at_once(monkeypatch):
    ended: list[int] = []
    monkeypatch.setattr("worker.children.os._exit", ended.append)
    # Not for good: the test's own process must outlive its parent's thread.
    monkeypatch.setattr("worker.children._PR_SET_PDEATHSIG", 2)

    die_with_parent(-1)

    assert ended == [1]


async def test_a_cancelled_start_leaves_neither_the_process_nor_what_it_has_started(tmp_path):
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait"
    starting = asyncio.ensure_future(spawn_leader("/bin/sh", "-c", script))
    await asyncio.sleep(0)

    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    # Killed before or after it could write them down.
    left = pids.read_text().split() if pids.exists() else []
    for pid in left:
        await asyncio.to_thread(until, lambda pid=pid: not lives(int(pid)))


async def test_a_cancelled_start_of_what_is_no_program_is_a_cancel():
    starting = asyncio.ensure_future(spawn_leader("/no/such/program"))
    await asyncio.sleep(0)

    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting


async def test_a_leader_is_ended_with_what_it_has_started(tmp_path):
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! > {pids}.new; mv {pids}.new {pids}; wait"
    process = await spawn_leader("/bin/sh", "-c", script)
    await asyncio.to_thread(until, pids.exists)

    await end_leader(process)
    await end_leader(process)

    assert process.returncode == -signal.SIGKILL
    await asyncio.to_thread(until, lambda: not lives(int(pids.read_text())))
