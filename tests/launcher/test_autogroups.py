from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher import autogroups
from launcher.autogroups import hold_back
from tests.support.waiting import until

PARENT = 4_000_000


@contextlib.contextmanager
def child(*, leading: bool) -> Iterator[int]:
    """Run a process that leads a session, or one that is in ours."""
    with subprocess.Popen(["sleep", "60"], start_new_session=leading) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def fake_kernel(proc: Path, *children: int, enabled: str = "1", own: str = "/autogroup-7 nice 0"):
    """Lay out the files of a kernel that shares by session, and a parent with these children."""
    for path, text in {
        "sys/kernel/sched_autogroup_enabled": f"{enabled}\n",
        "self/autogroup": f"{own}\n" if own else "",
        f"{PARENT}/task/{PARENT}/children": " ".join(map(str, children)),
        **{f"{pid}/autogroup": "/autogroup-9 nice 0\n" for pid in children},
    }.items():
        (proc / path).parent.mkdir(parents=True, exist_ok=True)
        (proc / path).write_text(text, encoding="ascii")
    return proc


async def until_told(proc: Path, pid: int) -> str:
    def told() -> str:
        said = (proc / f"{pid}/autogroup").read_text(encoding="ascii")
        return "" if said.startswith("/") else said

    return await asyncio.to_thread(until, told)


@contextlib.asynccontextmanager
async def holding(niceness: int, proc: Path):
    task = asyncio.create_task(hold_back(PARENT, niceness, proc))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.parametrize(
    ("own", "niceness", "told"),
    [("/autogroup-7 nice 0", 10, "10"), ("/autogroup-7 nice 15", 10, "19"), ("", 5, "5")],
)
async def test_the_session_of_a_child_stands_back_from_our_own(tmp_path, own, niceness, told):
    with child(leading=True) as pid:
        proc = fake_kernel(tmp_path, pid, own=own)
        async with holding(niceness, proc):
            assert await until_told(proc, pid) == told


async def test_a_child_of_our_own_session_is_left_alone():
    """What is told of it would hold for the supervisor and all its processes."""
    with child(leading=False) as ours:
        assert not autogroups._leads(ours)
    with child(leading=True) as leading:
        assert autogroups._leads(leading)


async def test_only_children_that_lead_a_session_are_told(tmp_path):
    with child(leading=False) as ours, child(leading=True) as leading:
        proc = fake_kernel(tmp_path, ours, leading)
        async with holding(10, proc):
            await until_told(proc, leading)

            assert (proc / f"{ours}/autogroup").read_text().startswith("/")


async def test_a_child_that_comes_later_is_told_too(tmp_path, monkeypatch):
    monkeypatch.setattr(autogroups, "_LOOK_SECONDS", 0.01)
    with child(leading=True) as first, child(leading=True) as second:
        proc = fake_kernel(tmp_path, first)
        async with holding(10, proc):
            await until_told(proc, first)
            fake_kernel(tmp_path, first, second)

            assert await until_told(proc, second) == "10"


async def test_a_child_that_has_ended_stops_nothing(tmp_path):
    with child(leading=True) as gone:
        pass
    with child(leading=True) as pid:
        proc = fake_kernel(tmp_path, gone, pid)
        async with holding(10, proc):
            await until_told(proc, pid)


async def test_a_kernel_that_lets_few_be_told_at_once_is_asked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(autogroups, "_AGAIN_SECONDS", 0.01)
    tell = autogroups._tell
    refused: list[Path] = []

    def seldom(process: Path, niceness: int) -> None:
        if len(refused) < 2:
            refused.append(process)
            raise BlockingIOError
        tell(process, niceness)

    monkeypatch.setattr(autogroups, "_tell", seldom)
    with child(leading=True) as pid:
        proc = fake_kernel(tmp_path, pid)
        async with holding(10, proc):
            await until_told(proc, pid)

    assert len(refused) == 2


async def test_where_we_may_not_say_it_is_given_up(tmp_path, monkeypatch):
    def refuse(process: Path, niceness: int) -> None:
        raise PermissionError

    monkeypatch.setattr(autogroups, "_tell", refuse)
    with child(leading=True) as pid:
        async with asyncio.timeout(10):
            await hold_back(PARENT, 10, fake_kernel(tmp_path, pid))


@pytest.mark.parametrize("enabled", ["0", None])
async def test_where_processors_are_not_shared_by_session_nothing_is_done(tmp_path, enabled):
    if enabled is not None:
        fake_kernel(tmp_path, enabled=enabled)

    async with asyncio.timeout(10):
        await hold_back(PARENT, 10, tmp_path)


@pytest.mark.skipif(
    not autogroups._shares_by_session(Path("/proc")), reason="this kernel has no autogroups"
)
async def test_this_kernel_takes_what_it_is_told():
    with child(leading=True) as pid:
        task = asyncio.create_task(hold_back(os.getpid(), 5))
        own = autogroups._niceness_of(Path("/proc/self"))
        theirs = Path(f"/proc/{pid}")
        try:
            await asyncio.to_thread(
                until, lambda: autogroups._niceness_of(theirs) == min(19, own + 5)
            )
        finally:
            task.cancel()
    assert autogroups._niceness_of(Path("/proc/self")) == own
