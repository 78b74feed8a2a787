"""The runner and its destinations: places, limits, probes."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from tests.support.worker_bench import Bench, entry, use
from wire import start_guard
from worker.entries import Question
from worker.runner import Verdict


def call_of(name: str, token: int, host: str = "api.example.com", **parts: Any) -> Any:
    made = entry(name, token, **parts)
    return {**made, "tenant": "t", "destination": host, "limits": "", "target": {}}


async def test_the_guard_is_told_the_destination_and_its_limits() -> None:
    bench = Bench()

    bench.take({**call_of("a", 1), "limits": "1,5,", "target": {"timeout_seconds": 10}})
    await bench.outbox.until(1)

    [[question]] = bench.asked
    assert (question.destination, question.limits) == ("t:api.example.com", "1,5,")
    assert question.runtime_ms == 10_000


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [(start_guard.CIRCUIT_OPEN, "circuit_open"), (start_guard.NO_SLOT, "destination_rate")],
)
async def test_what_has_no_room_is_handed_back_with_the_reason(verdict: int, reason: str) -> None:
    bench = Bench()
    bench.verdict = lambda question: [verdict, 1_030_000]

    bench.take(call_of("a", 1))
    (said,) = await bench.outbox.until(1)

    assert said == {"verb": "deferred", "id": "a", "token": 1, "reason": reason, "until": 1030.0}
    assert (bench.runner.held_count, bench.delivered) == (0, [])


async def test_a_kept_slot_is_waited_for_and_asked_for_again() -> None:
    bench = Bench()

    def verdict(question: Question) -> Verdict:
        if bench.clock.time > 1000.0:
            return start_guard.GO
        bench.clock.time = 1000.021
        return [start_guard.SLOT_KEPT, 1_000_020]

    bench.verdict = verdict

    bench.take(call_of("a", 1))
    (said,) = await bench.outbox.until(1)

    assert said["verb"] == "succeeded"
    assert bench.delivered == [("a", 1000.021)]
    assert [len(asked) for asked in bench.asked] == [1, 1]


async def test_what_finds_no_place_goes_when_one_of_its_destination_ends() -> None:
    bench = Bench()
    bench.gate.clear()
    places = [start_guard.PLACED]
    bench.verdict = lambda question: (
        places.pop() if places else [start_guard.NO_PLACE, int(bench.clock.time * 1000) + 250]
    )

    bench.take(call_of("a", 1), call_of("b", 2))
    await bench.until_delivered(1)
    assert bench.runner.held_count == 1
    places.append(start_guard.PLACED)
    bench.gate.set()
    await bench.outbox.until(2)

    assert [name for name, _ in bench.delivered] == ["a", "b"]
    assert [flight.verdict for flight, _ in bench.reports.flights] == [start_guard.PLACED] * 2


async def test_a_destination_that_hangs_leaves_slots_to_others_and_its_surplus_goes_back(
    settings: Settings,
) -> None:
    use(settings, worker_capacity=4)
    bench = Bench()
    bench.gate.clear()

    bench.take(*(call_of(f"slow{number}", number, "slow.example") for number in range(6)))
    bench.take(call_of("quick", 99, "quick.example"))
    await bench.until_delivered(3)
    assert sorted(name for name, _ in bench.delivered) == ["quick", "slow0", "slow1"]
    # Too long for what can start elsewhere: it is parked, and dispatch hears of it.
    bench.clock.time += 4
    said = [one for one in await bench.outbox.until(7) if one["verb"] != "started"]

    assert [one["reason"] for one in said] == ["destination_in_flight"] * 4
    assert [held.entry["id"] for held in bench.reports.late] == [f"slow{n}" for n in range(2, 6)]
    bench.gate.set()
    await bench.outbox.until(10)


async def test_the_probe_is_told_apart() -> None:
    bench = Bench()
    bench.verdict = lambda question: start_guard.PROBE

    bench.take(call_of("a", 1))
    await bench.outbox.until(1)

    [(flight, outcome)] = bench.reports.flights
    assert flight.probe
    assert outcome["verb"] == "succeeded"
