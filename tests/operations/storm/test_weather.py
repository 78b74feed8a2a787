from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import Mock

import pytest
import redis

from operations.proof.workload import Window
from operations.storm.ground import Ground, Process
from operations.storm.order import FLUSH, Order
from operations.storm.weather import Weather, faults
from tests.operations.storm.evidence import strike


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def gone() -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process


def weather(ground: Mock, *, kinds: tuple[str, ...] = ("worker",), **order) -> Weather:
    asked = Order(seconds=0.2, kinds=kinds, seed=1, every_seconds=0.05, **order)
    return Weather(ground, asked, lambda text: None, dict)


def ground_of(*processes: Process) -> Mock:
    async def recovered(seconds: float) -> bool:
        return True

    ground = Mock(spec=Ground)
    ground.unrecorded_since_ns.return_value = None
    ground.living.return_value = list(processes)
    ground.targets.side_effect = [[*processes], *([[]] * 20)]
    ground.until_recovered = recovered
    return ground


def window() -> Window:
    now_ms = time.time_ns() // 1_000_000
    return Window(now_ms, now_ms + 200, "http://r", "storm")


async def test_a_process_of_the_kind_is_killed_and_told(victim: subprocess.Popen[bytes]):
    ground = ground_of(Process("worker", "worker-1", victim.pid, 0, time.time()))
    storm = weather(ground)

    found = await storm(window())

    assert victim.wait(20) == -signal.SIGKILL
    assert [(one.kind, one.pid, one.alone) for one in storm.strikes] == [
        ("worker", victim.pid, True)
    ]
    assert len(found) == 1
    assert storm.recovered


async def test_a_process_that_ended_by_itself_is_no_strike(gone: subprocess.Popen[bytes]):
    storm = weather(ground_of(Process("worker", "worker-1", gone.pid, 0, time.time())))

    assert await storm(window()) == ()


async def test_redis_is_emptied_where_that_was_ordered():
    ground = ground_of()
    ground.targets.side_effect = None
    ground.targets.return_value = []
    storm = weather(ground, flush=True)

    await storm(window())

    assert {one.kind for one in storm.strikes} == {FLUSH}
    assert ground.forget_all.called


async def test_a_flush_while_redis_is_away_is_no_strike():
    ground = ground_of()
    ground.targets.side_effect = None
    ground.targets.return_value = []
    ground.forget_all.side_effect = redis.ConnectionError()
    storm = weather(ground, flush=True)

    assert await storm(window()) == ()


async def test_refused_writes_are_added_up_over_restarts_of_redis():
    looks = iter([{"outcomes": 5}, {"outcomes": 7}, {"outcomes": 1}, {"outcomes": 1}])
    storm = Weather(ground_of(), Order(1.0, (), 1), lambda text: None, lambda: next(looks))

    for _ in range(4):
        await storm.sample()

    assert storm.refused["outcomes"] == 8


async def test_a_look_while_redis_is_away_counts_nothing():
    def away() -> dict[str, int]:
        raise redis.ConnectionError

    storm = Weather(ground_of(), Order(1.0, (), 1), lambda text: None, away)

    await storm.sample()

    assert not storm.refused


def test_a_strike_doubts_what_was_answered_just_before():
    [fault] = faults([strike(10)])

    assert (fault.before_ns, fault.after_ns) == (500_000_000, 500_000_000)


def test_a_strike_that_loses_unrecorded_outcomes_doubts_all_since_the_recording_stopped():
    _, second = faults([strike(10, "recorder"), strike(14, FLUSH)])

    assert second.before_ns == 4_500_000_000


@pytest.mark.parametrize("kind", ["redis", FLUSH])
def test_what_redis_held_is_lost_since_the_oldest_of_it(kind: str):
    """However many strikes came between what held up the recording and this one."""
    held = replace(strike(40, kind), unrecorded_since_ns=strike(22).at_ns)

    *_, last = faults([strike(20, "postgres"), strike(30, "scheduler"), held])

    assert (last.before_ns, last.after_ns) == (18_500_000_000, 500_000_000)


def test_what_redis_held_shortens_no_doubt():
    held = replace(strike(14, FLUSH), unrecorded_since_ns=strike(13).at_ns)

    assert faults([strike(10, "recorder"), held])[1].before_ns == 4_500_000_000


async def test_before_redis_is_emptied_it_is_asked_since_when_outcomes_wait():
    ground = ground_of()
    ground.targets.side_effect = None
    ground.targets.return_value = []
    order: list[str] = []

    def asked() -> int:
        order.append("asked")
        return 7

    ground.unrecorded_since_ns.side_effect = asked
    ground.forget_all.side_effect = lambda: order.append("emptied")
    storm = weather(ground, flush=True)

    await storm(window())

    assert order[:2] == ["asked", "emptied"]
    assert storm.strikes[0].unrecorded_since_ns == 7


@pytest.mark.parametrize(
    ("former", "later", "seconds"),
    [("recorder", "scheduler", 4), ("scheduler", "worker", 4), ("recorder", "worker", 11)],
)
def test_other_strikes_doubt_no_more_than_their_own(former: str, later: str, seconds: float):
    _, second = faults([strike(10, former), strike(10 + seconds, later)])

    assert second.before_ns == 500_000_000
