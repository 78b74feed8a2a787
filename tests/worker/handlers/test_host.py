"""Handlers in real child processes, through the worker's door for all kinds."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from shared.conf import conf
from shared.fair_slots import Caller
from tests.support import time_is_up
from tests.support.entries import entry_of, log_of, progress_of, result_of
from tests.support.liveness import lives
from tests.support.waiting import until
from worker.kinds import Kinds

BATCH: Any = {"offset": 0.0, "secrets": {}}


class Worker:
    """What one worker runs and says."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.kinds = Kinds(self.said.append, time.time)

    async def run(self, entry: Any) -> Any:
        return await self.kinds.deliver(entry, BATCH, entry["scheduled_for"])

    def start(self, entry: Any) -> asyncio.Task[Any]:
        return asyncio.ensure_future(self.run(entry))

    async def progress(self, count: int = 1) -> list[Any]:
        """Wait until so much progress has been said, and return it."""
        await asyncio.to_thread(until, lambda: len(self.said) >= count)
        return self.said


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Worker]:
    settings.PUNCTUAL = replace(
        conf(), handler_modules=("tests.support.sample_handlers",), handler_slots=2
    )
    made = Worker()
    yield made
    await made.kinds.close()


def calling(handler: str, payload: Any = None, **parts: Any) -> Any:
    return entry_of("handler", handler=handler, payload=payload, **parts)


async def test_a_handler_gets_its_payload_and_what_it_returns_is_the_result(worker):
    entry = calling("echo", {"n": 1}, last_progress={"row": 7}, parts={"attempt": 2})

    outcome = await worker.run(entry)

    result = result_of(entry, outcome)
    assert (outcome["verb"], outcome["outcome"]) == ("succeeded", "SUCCEEDED")
    assert (result["payload"], result["attempt"]) == ({"n": 1}, 2)
    assert (result["execution_id"], result["last_progress"]) == (entry["id"], {"row": 7})
    assert result["scheduled_for"].endswith("+00:00")


async def test_a_handler_waits_for_its_slot_in_the_order_of_its_tenant(
    worker: Worker, callers: list[Caller]
):
    entry = calling("echo", parts={"weight": 4, "due": 7.0})

    await worker.run(entry)

    assert callers == [Caller(entry["tenant"], 4, 5, 7.0)]


async def test_output_and_log_lines_are_captured_each_with_its_own_run(worker):
    first, second = calling("echo"), calling("echo")

    logs = [log_of(entry, await worker.run(entry)) for entry in (first, second)]

    for log in logs:
        assert log.count("a line of output") == 1
        assert log.count("a line of the log") == 1


async def test_an_async_handler_runs(worker):
    entry = calling("echo_async", [1, 2])

    assert result_of(entry, await worker.run(entry)) == [1, 2]


async def test_a_process_runs_one_execution_after_the_other(worker):
    entries = [calling("echo"), calling("echo")]

    pids = {result_of(entry, await worker.run(entry))["pid"] for entry in entries}

    assert len(pids) == 1
    assert pids != {os.getpid()}


async def test_handlers_run_at_the_same_time_up_to_the_slots(worker):
    running = [worker.start(calling("polite", timeout_seconds=60)) for _ in range(3)]

    await worker.progress(2)
    worker.kinds.interrupt(5.0)
    outcomes = await asyncio.gather(*running)

    # The third never began: it waited for a process while the worker stopped.
    assert len(worker.said) == 2
    assert {outcome["outcome"] for outcome in outcomes} == {"WORKER_LOST"}


async def test_an_exception_is_a_failure_that_is_tried_again(worker):
    entry = calling("raises")

    outcome = await worker.run(entry)

    assert (outcome["verb"], outcome["outcome"]) == ("retrying", "FAILED")
    assert outcome["error_code"] == "handler_error"
    assert outcome["error_message"] == "LookupError: no such invoice"
    log = log_of(entry, outcome)
    assert log.startswith("before it\nTraceback")
    assert "sample_handlers.py" in log


async def test_the_last_attempt_is_not_tried_again(worker):
    outcome = await worker.run(calling("raises", parts={"attempt": 5}))

    assert (outcome["verb"], outcome["reason"]) == ("failed", "attempts_exhausted")


async def test_a_permanent_failure_is_not_tried_again(worker):
    outcome = await worker.run(calling("permanent"))

    assert (outcome["verb"], outcome["reason"]) == ("failed", "not_retryable")
    assert outcome["error_message"] == "Permanent: the customer is gone"


async def test_leaving_by_exit_is_a_failure_and_the_process_lives_on(worker):
    outcome = await worker.run(calling("exits"))

    assert (outcome["error_code"], outcome["error_message"]) == ("handler_error", "SystemExit: 3")


async def test_an_unknown_handler_fails_for_good_and_names_the_setting(worker):
    outcome = await worker.run(calling("nobody"))

    assert (outcome["verb"], outcome["error_code"]) == ("failed", "handler_error")
    assert "HANDLER_MODULES" in outcome["error_message"]
    assert "'nobody'" in outcome["error_message"]


@pytest.mark.parametrize(
    ("name", "how"), [("segfault", "ended by SIGSEGV"), ("dies", "ended with code 9")]
)
async def test_a_process_that_dies_loses_exactly_its_own_run(worker, name, how):
    other = calling("polite", timeout_seconds=60)
    running = worker.start(other)
    await worker.progress()

    outcome = await worker.run(calling(name))
    after = await worker.run(calling("echo"))
    running.cancel()
    ended = await running

    assert (outcome["outcome"], outcome["verb"]) == ("WORKER_LOST", "retrying")
    assert (outcome["error_code"], outcome["lost"]) == ("worker_lost", 1)
    assert how in outcome["error_message"]
    assert after["outcome"] == "SUCCEEDED"
    assert ended["outcome"] == "CANCELLED"


async def test_what_a_dying_process_wrote_is_kept(worker):
    entry = calling("dies")

    assert log_of(entry, await worker.run(entry)) == "last words\n"


async def test_the_third_loss_is_poison(worker):
    outcome = await worker.run(calling("dies", parts={"lost": 2}))

    assert (outcome["verb"], outcome["reason"]) == ("failed", "poisoned")


async def test_work_that_has_lost_two_workers_runs_in_a_process_of_its_own(worker):
    usual, alone, again = calling("echo"), calling("echo", parts={"lost": 2}), calling("echo")

    pids = [result_of(entry, await worker.run(entry))["pid"] for entry in (usual, alone, again)]

    assert pids[0] == pids[2]
    assert pids[1] != pids[0]


async def test_a_cancelled_handler_may_tidy_up(worker):
    entry = calling("polite_async", timeout_seconds=60)
    running = worker.start(entry)
    await worker.progress()

    running.cancel()
    outcome = await running

    assert (outcome["verb"], outcome["outcome"]) == ("cancelled", "CANCELLED")
    assert "tidied up" in log_of(entry, outcome)


async def test_a_handler_that_is_deaf_to_a_cancel_is_killed_after_its_grace(worker):
    entry = calling("deaf", timeout_seconds=60, cancel_grace_seconds=0.1)
    running = worker.start(entry)
    (said,) = await worker.progress()
    pid = progress_of(entry, said)["pid"]

    running.cancel()
    outcome = await running

    assert outcome["outcome"] == "CANCELLED"
    until(lambda: not lives(pid))


async def test_a_handler_whose_time_is_up_is_killed_with_all_it_has_started(worker, monkeypatch):
    time_is_up.when(monkeypatch, lambda: worker.said)
    entry = calling("leaves_a_process", timeout_seconds=60, cancel_grace_seconds=0.1)
    running = worker.start(entry)
    (said,) = await worker.progress()
    grandchild = progress_of(entry, said)

    outcome = await running

    assert (outcome["verb"], outcome["outcome"]) == ("retrying", "TIMED_OUT")
    assert outcome["error_code"] == "timeout_total"
    until(lambda: not lives(grandchild))


async def test_a_time_out_that_the_policy_does_not_retry_is_final(worker):
    policy: Any = {"retry_policy": {"retry_on": []}}
    entry = calling("polite", timeout_seconds=0.1, cancel_grace_seconds=5, parts=policy)

    outcome = await worker.run(entry)

    assert (outcome["outcome"], outcome["reason"]) == ("TIMED_OUT", "not_retryable")


async def test_a_stopping_worker_asks_and_hands_the_run_to_another(worker):
    running = worker.start(calling("polite", timeout_seconds=60))
    await worker.progress()

    assert worker.kinds.interruptible
    worker.kinds.interrupt(5.0)
    outcome = await running

    assert (outcome["verb"], outcome["retry_in"]) == ("retrying", 0.0)
    assert (outcome["outcome"], outcome.get("lost", 0)) == ("WORKER_LOST", 0)
    assert not worker.kinds.interruptible


async def test_progress_is_said_at_a_bounded_pace_and_the_last_before_the_outcome(worker):
    entry = calling("checkpoints", 200)

    outcome = await worker.run(entry)

    steps = [progress_of(entry, said)["step"] for said in worker.said]
    assert outcome["outcome"] == "SUCCEEDED"
    assert (steps[0], steps[-1]) == (0, 199)
    assert len(steps) < 100


async def test_progress_that_is_too_large_is_the_handlers_error(worker):
    outcome = await worker.run(calling("too_much_progress"))

    assert outcome["error_message"].startswith("ValueError: progress of 20002 bytes")
    assert worker.said == []


async def test_of_much_output_the_beginning_and_the_end_are_kept(worker):
    entry = calling("floods", 5000)

    outcome = await worker.run(entry)

    log = log_of(entry, outcome)
    assert outcome["outcome"] == "SUCCEEDED"
    assert log.startswith("first\n")
    assert log.endswith("last\n")
    assert "bytes left out" in log
    assert len(log) < 66_000


@pytest.mark.parametrize(
    ("name", "message"), [("large_result", "takes 70002 bytes"), ("no_json", "is no JSON")]
)
async def test_a_result_that_cannot_be_kept_fails_for_good(worker, name, message):
    outcome = await worker.run(calling(name))

    assert (outcome["verb"], outcome["reason"]) == ("failed", "not_retryable")
    assert message in outcome["error_message"]


async def test_a_process_is_renewed_when_it_has_grown(worker, settings):
    settings.PUNCTUAL = replace(conf(), handler_process_bytes=1)
    entries = [calling("grows", 1024), calling("grows", 1024)]

    pids = {result_of(entry, await worker.run(entry)) for entry in entries}

    assert len(pids) == 2


async def test_a_process_is_renewed_after_so_many_runs(worker, settings):
    settings.PUNCTUAL = replace(conf(), handler_process_runs=2)
    entries = [calling("grows", 1) for _ in range(3)]

    pids = [result_of(entry, await worker.run(entry)) for entry in entries]

    assert pids[0] == pids[1] != pids[2]


async def test_modules_that_cannot_be_imported_are_said_and_tried_again(worker, settings):
    settings.PUNCTUAL = replace(conf(), handler_modules=("tests.no_such_module",))

    outcome = await worker.run(calling("echo"))

    assert (outcome["verb"], outcome["error_code"]) == ("retrying", "handler_error")
    assert "No module named 'tests.no_such_module'" in outcome["error_message"]


async def test_without_modules_nothing_is_run(worker, settings):
    settings.PUNCTUAL = replace(conf(), handler_modules=())

    outcome = await worker.run(calling("echo"))

    assert outcome["reason"] == "not_retryable"
    assert "HANDLER_MODULES" in outcome["error_message"]


async def test_what_was_sealed_under_a_key_that_is_gone_is_tried_again(worker, settings):
    entry = calling("echo")
    settings.PUNCTUAL = replace(conf(), encryption_keys={"other": b"x" * 32})

    outcome = await worker.run(entry)

    assert (outcome["verb"], outcome["error_code"]) == ("retrying", "internal")
