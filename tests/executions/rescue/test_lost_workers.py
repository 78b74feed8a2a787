from __future__ import annotations

from datetime import timedelta

import pytest

from executions.complete.outcome_stream import ensure_group
from executions.loop.clocks import database_now
from executions.rescue import lost_workers as module
from executions.rescue import stream_position
from executions.rescue.lost_workers import Silence
from shared.conf import conf
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client
from tests.support.beats import beat
from tests.support.beats import silence as silent
from tests.support.starts import ask
from wire.heartbeats import workers

pytestmark = pytest.mark.django_db


class Time:
    """A monotonic clock that stands still until told."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_a_live_worker_is_not_lost(clock: Time):
    silence = Silence()
    beat("w1")

    assert silence.lost({"w1"}) == []
    clock.now += 60
    assert silence.lost({"w1"}) == []


def test_a_silent_worker_is_lost_once_redis_has_answered_for_a_while(clock: Time):
    silence = Silence()
    beat("w1")
    silent("w1", conf().worker_lost_seconds + 1)

    # Just started: Redis itself may have been away until now.
    assert silence.lost({"w1"}) == []
    clock.now += conf().worker_lost_seconds

    assert silence.lost({"w1"}) == ["w1"]
    beat("w2")
    silent("w2", conf().worker_lost_seconds + 1)
    assert silence.lost({"w2"}) == ["w2"]


def test_a_worker_that_starts_work_before_its_next_beat_is_not_lost(clock: Time):
    silence = Silence()
    beat("w1")
    silent("w1", conf().worker_lost_seconds + 1)
    silence.lost({"w1"})
    clock.now += conf().worker_lost_seconds

    ask([7], worker="w1")

    assert silence.lost({"w1"}) == []


def test_who_only_asks_to_start_is_no_worker(clock: Time):
    ask([8], worker="somebody")

    assert workers() == []


def test_a_worker_that_beats_again_has_its_whole_time_again(clock: Time):
    silence = Silence()
    assert silence.lost({"w1"}) == []
    clock.now += conf().worker_lost_seconds - 1
    beat("w1")
    assert silence.lost({"w1"}) == []
    client().flushall()

    clock.now += 2
    assert silence.lost({"w1"}) == []


def test_a_worker_is_not_lost_before_its_last_words_are_recorded(clock: Time):
    ensure_group()
    silence = Silence()
    entry = client().xadd(OUTCOME_STREAM, {"d": b"{}"})
    silence.lost({"w1"})
    clock.now += 60

    assert silence.lost({"w1"}) == []
    client().xreadgroup(OUTCOME_GROUP, "r1", {OUTCOME_STREAM: ">"})
    client().xack(OUTCOME_STREAM, OUTCOME_GROUP, entry)

    assert silence.lost({"w1"}) == ["w1"]


def test_a_worker_with_nothing_running_is_forgotten(clock: Time):
    silence = Silence()
    silence.lost({"w1"})
    clock.now += 60
    silence.lost(set())

    # Named again, it is silent since now.
    assert silence.lost({"w1"}) == []


def listening(clock: Time) -> Silence:
    """Return one that has heard Redis for long enough."""
    silence = Silence()
    silence.listen()
    clock.now += conf().worker_lost_seconds
    return silence


def test_everything_up_to_now_is_recorded_when_the_stream_is_read(clock: Time):
    ensure_group()
    before = database_now()

    found = listening(clock).recorded_until()

    assert before <= found <= database_now()


def test_nothing_is_known_to_be_recorded_before_redis_has_answered_for_a_while(clock: Time):
    ensure_group()

    assert Silence().recorded_until().year == 1970


def test_the_moment_stands_still_while_recorders_are_behind(clock: Time):
    ensure_group()
    silence = listening(clock)
    reached = silence.recorded_until()
    client().xadd(OUTCOME_STREAM, {"d": b"{}"})

    assert silence.recorded_until() == reached
    assert silence.recorded_until() == reached


@pytest.mark.moving_clock
def test_the_moment_lies_before_the_question_for_the_streams_end(
    clock: Time, monkeypatch: pytest.MonkeyPatch
):
    asked = []

    def end() -> stream_position.Position:
        asked.append(database_now())
        return (0, 0)

    monkeypatch.setattr(stream_position, "end", end)

    assert listening(clock).recorded_until() < asked[0] < database_now() + timedelta(seconds=1)
