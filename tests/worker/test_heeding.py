"""What a worker does about the wishes that its heartbeats bring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from wire.worker_wishes import NO_WISH, Wish, Word
from worker.heeding import Heeding
from worker.runner import Runner

QUIET, DRAIN = Wish(Word.QUIET, 1, 0.0), Wish(Word.DRAIN, 1, 0.0)


@dataclass
class Worker:
    """Notes what the worker is told; ``empty`` and ``still_wished`` are its answers."""

    empty: bool = True
    still_wished: bool = True
    told: list[str] = field(default_factory=list)
    heeding: Heeding = field(init=False)

    def __post_init__(self) -> None:
        async def claim(_: Wish) -> bool:
            self.told.append("claim")
            return self.still_wished

        self.heeding = Heeding(
            cast(Runner, self), lambda: self.empty, claim, lambda: self.told.append("end")
        )
        self.heeding.intake = lambda reads: self.told.append("read" if reads else "leave")

    def stop_taking(self) -> None:
        self.told.append("stop")

    def take_again(self) -> None:
        self.told.append("take")

    async def beats(self, *wishes: Wish) -> list[bool]:
        self.told.clear()
        return [await self.heeding.heed(wish) for wish in wishes]


@pytest.fixture
def worker() -> Worker:
    return Worker()


async def test_without_a_wish_it_reads_its_queues(worker: Worker):
    assert await worker.beats(NO_WISH, NO_WISH) == [False, False]
    assert worker.told == ["read", "read"]


async def test_it_becomes_quiet_with_the_second_heartbeat_that_brings_the_wish(worker: Worker):
    assert await worker.beats(QUIET, QUIET, QUIET) == [False, True, False]

    # What was sent before the wish has arrived by then; the queues are left each time.
    assert worker.told == ["read", "stop", "leave", "leave"]
    assert worker.heeding.quiet


@pytest.mark.logs("worker.quiet", "worker.resumed")
async def test_it_works_again_at_once(worker: Worker):
    await worker.beats(QUIET, QUIET)

    assert await worker.beats(Wish(Word.WORK, 2, 0.0)) == [True]

    assert worker.told == ["take", "read"]
    assert not worker.heeding.quiet


async def test_a_wish_that_is_taken_back_before_it_counts_does_nothing(worker: Worker):
    assert await worker.beats(QUIET, Wish(Word.WORK, 2, 0.0)) == [False, False]
    assert worker.told == ["read", "read"]


@pytest.mark.logs("worker.drained")
async def test_one_that_drains_ends_when_it_is_empty(worker: Worker):
    worker.empty = False
    await worker.beats(DRAIN, DRAIN)
    assert worker.told == ["read", "stop", "leave"]

    worker.empty = True
    await worker.beats(DRAIN)

    assert worker.told == ["leave", "claim", "end"]


async def test_one_that_is_quiet_drains_with_the_next_heartbeat(worker: Worker):
    await worker.beats(QUIET, QUIET)

    await worker.beats(Wish(Word.DRAIN, 2, 0.0))

    assert worker.told == ["leave", "claim", "end"]


async def test_it_does_not_end_where_the_wish_has_changed_meanwhile(worker: Worker):
    worker.still_wished = False

    await worker.beats(DRAIN, DRAIN)

    assert worker.told[-1] == "claim"


async def test_a_worker_that_a_signal_stops_heeds_no_wish(worker: Worker):
    await worker.beats(QUIET, QUIET)
    worker.heeding.stop()

    assert await worker.beats(Wish(Word.WORK, 2, 0.0)) == [False]

    assert worker.told == []
    assert not worker.heeding.quiet
