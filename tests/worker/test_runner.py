"""The worker's runner: heap, start guard, slots, hand-back; with a clock that the test moves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis
from pytest_django import Settings

from tasks.versions import step_version
from tests.support.worker_bench import Bench, entry, message, use
from wire import start_guard
from worker.entries import Held, Question
from worker.runner import Verdict


async def test_due_work_is_delivered_and_its_outcome_names_token_and_worker() -> None:
    bench = Bench()

    bench.take(entry("a", 7))
    (outcome,) = await bench.outbox.until(1)

    assert (outcome["id"], outcome["token"], outcome["worker"]) == ("a", 7, "w1")
    assert outcome["verb"] == "succeeded"


async def test_only_outcomes_of_steps_are_prompt() -> None:
    bench = Bench()

    bench.take(entry("a", 7), entry("step", 8, revision=step_version(1, 1)))
    outcomes = await bench.outbox.until(2)

    names = [row["id"] for row in outcomes]
    assert dict(zip(names, bench.outbox.prompt, strict=True)) == {"a": False, "step": True}


async def test_nothing_starts_before_its_time() -> None:
    bench = Bench()

    bench.take(entry("later", 1, due=1000.05), entry("now", 2))
    await bench.outbox.until(1)
    # The loop's timer may fire; what is not due by Redis' clock waits on.
    assert [name for name, _ in bench.delivered] == ["now"]
    assert bench.runner.held_count == 1
    bench.clock.time = 1000.06
    await bench.outbox.until(2)

    assert bench.delivered[1] == ("later", 1000.06)


async def test_the_guard_is_asked_ahead_and_nothing_is_sent_before_its_time() -> None:
    bench = Bench()

    bench.take(*(entry(f"e{number}", number, due=1000.0 + number / 1000) for number in range(4)))
    await bench.outbox.until(1)
    assert [len(asked) for asked in bench.asked] == [4]
    assert [name for name, _ in bench.delivered] == ["e0"]
    assert len(bench.runner.flying) == 3
    bench.clock.time = 1000.0029
    await bench.outbox.until(3)
    assert {name for name, _ in bench.delivered} == {"e0", "e1", "e2"}
    bench.clock.time = 1000.004
    await bench.outbox.until(4)

    assert bench.delivered[3] == ("e3", 1000.004)
    assert [row["started"] for row in bench.outbox.outcomes] == [
        1000.0,
        1000.0029,
        1000.0029,
        1000.004,
    ]


async def test_work_of_a_limited_destination_asks_at_its_time_and_no_sooner() -> None:
    bench = Bench()

    bench.take({**entry("limited", 1, due=1000.004), "limits": "1,5,"}, entry("free", 2))
    await bench.outbox.until(1)
    assert [len(asked) for asked in bench.asked] == [1]
    bench.clock.time = 1000.004
    await bench.outbox.until(2)

    assert bench.delivered == [("free", 1000.0), ("limited", 1000.004)]


async def test_what_is_cancelled_between_its_verdict_and_its_time_is_not_sent() -> None:
    bench = Bench()
    bench.take(entry("now", 1), entry("soon", 2, due=1000.004))
    await bench.outbox.until(1)

    bench.runner.cancel([2])
    (_, outcome) = await bench.outbox.until(2)

    assert (outcome["id"], outcome["verb"]) == ("soon", "cancelled")
    assert [name for name, _ in bench.delivered] == ["now"]


async def test_all_that_is_due_in_a_tick_is_asked_in_one_question() -> None:
    bench = Bench()

    bench.take(*(entry(f"e{number}", number) for number in range(5)))
    await bench.outbox.until(5)

    assert [len(asked) for asked in bench.asked] == [5]


async def test_urgent_work_overtakes_what_waits_for_a_slot(settings: Settings) -> None:
    use(settings, worker_capacity=1)
    bench = Bench()
    bench.gate.clear()

    bench.take(entry("first", 1))
    bench.take(entry("low", 2, priority=9), entry("high", 3, priority=0))
    bench.gate.set()
    await bench.outbox.until(3)

    assert [name for name, _ in bench.delivered] == ["first", "high", "low"]


async def test_slots_bound_what_is_in_flight(settings: Settings) -> None:
    use(settings, worker_capacity=2)
    bench = Bench()
    bench.gate.clear()

    bench.take(*(entry(f"e{number}", number) for number in range(6)))
    await bench.until_delivered(2)
    assert (len(bench.runner.flying), bench.runner.held_count) == (2, 4)
    bench.gate.set()
    await bench.outbox.until(6)

    assert len(bench.delivered) == 6


async def test_slots_that_come_free_together_are_given_out_by_one_question(
    settings: Settings,
) -> None:
    use(settings, worker_capacity=3)
    bench = Bench()
    bench.gate.clear()
    bench.take(*(entry(f"e{number}", number) for number in range(9)))
    await bench.until_delivered(3)

    bench.gate.set()
    await bench.outbox.until(9)

    assert [len(asked) for asked in bench.asked] == [3, 3, 3]


@pytest.mark.parametrize(
    ("verdict", "verbs"),
    [(start_guard.VOID, []), (start_guard.STALE, ["released"]), (start_guard.LATE, ["released"])],
)
async def test_what_the_guard_refuses_is_not_sent(verdict: int, verbs: list[str]) -> None:
    bench = Bench()
    bench.verdict = lambda question: verdict

    bench.take(entry("a", 1))
    await bench.runner.drain(1)

    assert bench.delivered == []
    assert [outcome["verb"] for outcome in bench.outbox.outcomes] == verbs


async def test_what_is_beyond_the_hold_is_handed_back_at_once(settings: Settings) -> None:
    use(settings, worker_hold=0, worker_capacity=1)
    bench = Bench()

    bench.take(entry("a", 1, due=2000.0), entry("b", 2, due=2000.0))

    assert [outcome["verb"] for outcome in bench.outbox.outcomes] == ["released"]
    assert bench.runner.held_count == 1


async def test_what_leaves_slots_free_is_held_in_their_place(settings: Settings) -> None:
    use(settings, worker_hold=1, worker_capacity=2)
    bench = Bench()

    bench.take(*(entry(name, number, due=2000.0) for number, name in enumerate("ab")))
    # For all workers of a pool: what is too much for one is another's.
    bench.take(*(entry(name, number, due=2000.0) for number, name in enumerate("cde", 7)))

    assert [outcome["id"] for outcome in bench.outbox.outcomes] == ["d", "e"]
    assert bench.runner.held_count == 3


async def test_bytes_are_bounded_too(settings: Settings) -> None:
    use(settings, worker_hold_bytes=150)
    bench = Bench()

    bench.take(entry("a", 1, due=2000.0))
    bench.take(entry("b", 2, due=2000.0))

    assert [outcome["id"] for outcome in bench.outbox.outcomes] == ["b"]


async def test_what_a_stopping_worker_hands_back_takes_no_bytes_of_its_hold(
    settings: Settings,
) -> None:
    use(settings, worker_hold_bytes=150)
    bench = Bench()
    bench.take(entry("a", 1, due=2000.0))

    bench.runner.stop_taking()

    [outcome] = bench.outbox.outcomes
    assert (outcome["id"], outcome["verb"]) == ("a", "released")
    whole = message("r:1", entry("b", 2))
    [b] = whole["executions"]
    assert bench.runner._hold_bytes.add(Held(2000.0, 5, 2, b, whole, 150), 1000.0)


async def test_large_payloads_in_its_message_cost_a_tenant_nothing(settings: Settings) -> None:
    use(settings, worker_hold_bytes=1600)
    bench = Bench()

    def of(tenant: str, token: int, payload: int = 0) -> Any:
        parts = {"tenant": tenant, "payload": "p" * payload}
        return {**entry(f"{tenant}{token}", token, due=2000.0), **parts}

    bench.runner.accept(message("r:1", of("a", 1, 1000), of("b", 2)), 1100)
    bench.runner.accept(message("r:1", of("a", 3)), 400)
    bench.runner.accept(message("r:1", of("b", 4), of("a", 5)), 100)

    # The last 100 bytes are kept: for those who have fewer than that.
    assert [outcome["id"] for outcome in bench.outbox.outcomes] == ["a5"]


async def test_a_question_whose_answer_was_lost_is_asked_again_with_the_same_nonce() -> None:
    bench = Bench()
    bench.guard_error = redis.ConnectionError("away")
    bench.take(entry("a", 1), entry("b", 2))
    await asyncio.wait_for(bench.refused.wait(), 60)

    bench.guard_error = None
    bench.clock.time += 1
    await bench.outbox.until(2)

    nonces = {question.nonce for asked in bench.asked for question in asked}
    assert len(nonces) == 2
    assert sorted(name for name, _ in bench.delivered) == ["a", "b"]


@pytest.mark.logs("start_guard.away")
async def test_work_that_cannot_start_in_time_is_handed_back_while_redis_is_away() -> None:
    bench = Bench()
    bench.guard_error = redis.ConnectionError("away")
    bench.clock.time = 1011.0

    bench.take(entry("a", 1))
    (outcome,) = await bench.outbox.until(1)

    assert outcome["verb"] == "released"


async def test_draining_hands_back_what_is_held_and_waits_for_what_flies() -> None:
    bench = Bench()
    bench.gate.clear()
    bench.take(entry("flying", 1), entry("held", 2, due=2000.0))
    await bench.until_delivered(1)

    draining = asyncio.create_task(bench.runner.drain(5))
    await bench.outbox.until(1)
    assert not draining.done()
    bench.gate.set()

    assert await draining == 0
    assert [(row["id"], row["verb"]) for row in bench.outbox.outcomes] == [
        ("held", "released"),
        ("flying", "succeeded"),
    ]
    bench.take(entry("late", 3))
    assert bench.outbox.outcomes[-1]["verb"] == "released"


@pytest.mark.logs("drain.incomplete")
async def test_a_drain_that_runs_out_of_time_says_what_it_left() -> None:
    bench = Bench()
    bench.gate.clear()
    bench.take(entry("slow", 1))
    await bench.until_delivered(1)

    assert await bench.runner.drain(0.01) == 1
    bench.gate.set()
    await bench.outbox.until(1)


async def test_a_cancelled_request_reports_cancelled() -> None:
    bench = Bench()
    bench.gate.clear()
    bench.take(entry("a", 1), entry("b", 2))
    await bench.until_delivered(2)

    bench.runner.cancel([1, 99])
    (outcome,) = await bench.outbox.until(1)

    assert (outcome["id"], outcome["verb"], outcome["outcome"]) == ("a", "cancelled", "CANCELLED")
    bench.gate.set()
    await bench.outbox.until(2)


async def test_what_is_cancelled_before_its_first_step_reports_it_and_leaves_its_slot(
    settings: Settings,
) -> None:
    use(settings, worker_capacity=1)
    bench = Bench()

    def verdict(question: Question) -> Verdict:
        if question.token == 1:
            asyncio.get_running_loop().call_soon(bench.runner.cancel, [1])
        return start_guard.GO

    bench.verdict = verdict
    bench.gate.clear()
    bench.take(entry("cancelled", 1), entry("next", 2))
    await bench.outbox.until(1)
    bench.gate.set()
    outcomes = await bench.outbox.until(2)

    assert [(row["id"], row["verb"]) for row in outcomes] == [
        ("cancelled", "cancelled"),
        ("next", "succeeded"),
    ]
    assert not bench.runner.flying


async def test_a_long_request_is_announced_once() -> None:
    bench = Bench()
    bench.gate.clear()
    bench.take(entry("slow", 1))
    await bench.until_delivered(1)

    bench.runner.announce_running()
    assert bench.outbox.outcomes == []
    bench.clock.time += 1
    bench.runner.announce_running()
    bench.runner.announce_running()

    assert [(row["verb"], row["at"]) for row in bench.outbox.outcomes] == [("started", 1000.0)]
    bench.gate.set()
    await bench.outbox.until(2)


async def test_a_fault_of_our_own_is_reported_and_tried_again() -> None:
    bench = Bench()

    bench.take(entry("broken", 1), {**entry("broken", 2), "attempt": 2})
    outcomes = await bench.outbox.until(2)

    assert {(row["verb"], row["error_code"]) for row in outcomes} == {
        ("retrying", "internal"),
        ("failed", "internal"),
    }


async def test_a_line_about_an_attempt_has_its_ids(json_lines: Any) -> None:
    bench = Bench()
    ids = {"task": "t-1", "tenant": "tenant-1", "attempt": 2, "trace": f"{'ab' * 16}-01"}

    bench.take({**entry("broken", 1), **ids})
    await bench.outbox.until(1)

    [line] = json_lines()
    assert (line["event"], "Traceback" in line["exception"]) == ("attempt.crashed", True)
    assert {
        "execution_id": "broken",
        "task_id": "t-1",
        "tenant_id": "tenant-1",
        "trace_id": "ab" * 16,
        "attempt": 2,
    }.items() <= line.items()


@pytest.mark.parametrize(
    "error",
    [
        redis.ResponseError("NOPERM"),
        redis.TimeoutError("slow"),
        pytest.param(RuntimeError("a bug"), marks=pytest.mark.logs("start_guard.crashed")),
    ],
)
async def test_whatever_keeps_the_guard_from_answering_costs_no_slot(
    settings: Settings, error: Exception
) -> None:
    use(settings, worker_capacity=1)
    bench = Bench()
    bench.guard_error = error
    bench.take(entry("a", 1))
    await asyncio.wait_for(bench.refused.wait(), 60)

    bench.guard_error = None
    bench.clock.time += 1
    bench.take(entry("b", 2))
    await bench.outbox.until(2)

    assert sorted(name for name, _ in bench.delivered) == ["a", "b"]


async def test_a_message_that_cannot_be_read_leaves_no_half_behind() -> None:
    bench = Bench()
    broken = {key: value for key, value in entry("b", 2).items() if key != "due"}

    with pytest.raises(KeyError):
        bench.take(entry("a", 1), broken)

    assert bench.runner.held_count == 0


async def test_long_requests_are_announced_by_themselves_and_quick_ones_are_not() -> None:
    bench = Bench()
    bench.take(entry("quick", 1))
    await bench.outbox.until(1)
    bench.gate.clear()
    bench.take(entry("slow", 2))
    await bench.until_delivered(2)

    bench.clock.time += 1
    outcomes = await bench.outbox.until(2)

    assert [(row["id"], row["verb"]) for row in outcomes] == [
        ("quick", "succeeded"),
        ("slow", "started"),
    ]
    bench.gate.set()
    await bench.outbox.until(3)


async def test_a_free_slot_goes_to_the_most_urgent_of_what_is_due(settings: Settings) -> None:
    use(settings, worker_capacity=1)
    bench = Bench()
    bench.gate.clear()
    bench.take(entry("first", 1))
    await bench.until_delivered(1)
    bench.take(entry("low", 2, priority=9), entry("high", 3, due=1000.0, priority=0))

    bench.gate.set()
    await bench.outbox.until(3)

    assert [name for name, _ in bench.delivered] == ["first", "high", "low"]


async def test_work_of_two_incarnations_is_asked_for_apart() -> None:
    bench = Bench()
    bench.clock.time = 999.0
    bench.runner.accept(message("a:1", entry("a", 1)), 10)
    bench.runner.accept(message("b:1", entry("b", 2)), 10)
    bench.clock.time = 1000.0

    await bench.outbox.until(2)

    assert [len(asked) for asked in bench.asked] == [1, 1]


# --- destinations --------------------------------------------------------------------------------
