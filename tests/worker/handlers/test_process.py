"""One process at a time; what the host does with many is tested with the host."""

from __future__ import annotations

import pytest

from worker.handlers.frames import Job
from worker.handlers.process import CannotStart, HandlerProcess
from worker.head_tail import HeadTail

MODULES = ("tests.support.sample_handlers",)
JOB: Job = {
    "token": 1,
    "handler": "echo_async",
    "execution_id": "e",
    "task_id": "t",
    "attempt": 1,
    "scheduled_for": "2026-11-20T08:00:00.000Z",
    "payload": [1],
    "last_progress": None,
}


async def test_it_answers_and_says_how_large_it_is():
    process = await HandlerProcess.start(MODULES)

    answer = await process.run(JOB, HeadTail(1000), lambda value: None)

    assert (answer["verb"], answer["result"]) == ("returned", [1])
    assert process.memory_bytes > 1_000_000
    assert (process.runs, process.usable) == (1, True)
    await process.close()
    assert not process.usable


async def test_a_killed_process_is_told_and_not_used_again():
    process = await HandlerProcess.start(MODULES)
    process.kill()

    answer = await process.run(JOB, HeadTail(1000), lambda value: None)

    assert (answer["verb"], answer["code"]) == ("died", -9)
    assert not process.usable
    await process.close()


async def test_modules_that_cannot_be_imported_keep_it_from_starting():
    with pytest.raises(CannotStart, match="No module named 'nowhere'"):
        await HandlerProcess.start(("nowhere",))


async def test_a_module_that_ends_the_process_keeps_it_from_starting(tmp_path, monkeypatch):
    (tmp_path / "ends_it.py").write_text("import os; print('bye', flush=True); os._exit(5)")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(CannotStart, match="bye"):
        await HandlerProcess.start(("ends_it",))
