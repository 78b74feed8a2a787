"""What the report about open tabs judges, from turns that are given."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench import live
from bench.live import Changes, Place, Seen, change, judged, readings_of, visible_of, working
from bench.members import Member
from bench.peers.figures import OWN, Turn
from operations.proof.percentiles import distribution


def turn(*delays: float, received: int | None = None) -> Turn:
    count = len(delays)
    got = count if received is None else received
    return Turn(OWN, count, got, count - got, 0, 100.0, distribution(delays))


def seen(*visible: float, unseen: int = 0, delay: float = 10.0) -> Seen:
    return Seen(turn(delay), Changes(list(visible), unseen), [20.0, 40.0], 4.0)


def test_changes_that_are_drawn_within_a_second_beside_undisturbed_work_pass():
    assert judged([turn(10.0)], [seen(300.0, 900.0), seen(500.0)]) == []


def test_a_late_change_and_one_that_was_never_drawn_are_told():
    assert judged([turn(10.0)], [seen(300.0, 1000.0, unseen=1)]) == [
        "target missed: visible p95 1000 ms, not under 1000 ms",
        "1 changes were never drawn",
    ]


def test_a_turn_without_a_change_proves_nothing():
    assert judged([turn(10.0)], [seen()]) == ["target missed: visible p95 0 ms, not under 1000 ms"]


def test_ordinary_executions_are_held_to_what_they_are_alone():
    assert judged([turn(10.0)], [seen(1.0, delay=15.1)]) == [
        "target missed: start delay p99 15.10 ms beside, not within 15.00 ms"
    ]


def test_readings_are_counted_over_all_turns():
    found = readings_of([seen(1.0), seen(2.0)])

    assert found["a_second"] == 0.5
    assert found["ms"]["max"] == 40.0
    assert visible_of([seen(1.0), seen(2.0)]).count == 2


def test_a_task_is_paused_and_resumed_by_turns():
    class Client:
        sent: list[Any] = []

        async def expect(self, *call: Any) -> None:
            self.sent.append(call)

    client = Client()
    place = Place(Member("t", 1, "", "", ""), "7")  # type: ignore[arg-type]  # ids are not read

    async def twice() -> None:
        await change(client, place)  # type: ignore[arg-type]  # has what is called
        await change(client, place)  # type: ignore[arg-type]  # has what is called

    asyncio.run(twice())

    assert client.sent == [
        (200, "PATCH", "/v1/tasks/7", {"status": "PAUSED"}),
        (200, "PATCH", "/v1/tasks/7", {"status": "SCHEDULED"}),
    ]


def test_what_goes_wrong_in_a_tab_ends_the_turn():
    async def fail() -> None:
        raise OSError("the page answered 500")

    async def turn_beside() -> None:
        async with working([fail()]):
            await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(turn_beside())

    assert raised.group_contains(OSError, match="answered 500")


def test_every_page_of_the_tabs_is_one_of_the_task_or_of_the_tenant():
    assert [path.format(task="7") for path in live.PATHS] == [
        "/",
        "/tasks",
        "/executions",
        "/tasks/7",
    ]
