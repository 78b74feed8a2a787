"""A program's process; what a worker makes of it is tested with the runner."""

from __future__ import annotations

import asyncio
import os

import pytest

from worker.programs.program import CannotRun, Invocation, Program


def program(*argv: str, stdin: bytes = b"") -> Program:
    return Program(Invocation(argv, {"PATH": "/bin:/usr/bin"}, stdin, 1000, None))


async def test_both_streams_are_logged_and_one_is_kept_apart():
    one = program("/bin/sh", "-c", "cat; echo err >&2; exit 4", stdin=b"in\n")

    assert await one.run() == 4
    assert one.stdout == b"in\n"
    assert sorted(one.log.kept().split()) == [b"err", b"in"]


async def test_output_of_one_that_left_the_group_is_not_waited_for(tmp_path):
    pid = tmp_path / "pid"
    script = f"setsid sh -c 'echo $$ > {pid}; exec sleep 600' & while [ ! -s {pid} ]; do :; done"

    code = await asyncio.wait_for(program("/bin/sh", "-c", script).run(), 20)

    os.kill(int(pid.read_text()), 9)
    assert code == 0


async def test_a_program_that_was_asked_to_end_before_it_was_spawned_ends():
    one = program("/bin/sleep", "600")
    running = asyncio.ensure_future(one.run())

    one.ask()

    assert await asyncio.wait_for(running, 20) == -15


async def test_one_that_cannot_be_started_is_told():
    with pytest.raises(CannotRun, match="No such file"):
        await program("/no/such/program").run()
