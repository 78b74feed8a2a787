"""A worker's clock never runs ahead of Redis'."""

from __future__ import annotations

from worker.clock import WorkerClock


class Redis:
    """A server with a clock of its own, whose answer takes time on its way."""

    def __init__(self, ahead: float = 500.0) -> None:
        self.ahead = ahead
        self.monotonic = 100.0

    async def time(self) -> tuple[int, int]:
        stamp = self.monotonic + self.ahead
        self.monotonic += self.way_back
        return int(stamp), round(stamp % 1 * 1e6)

    async def calibrate(self, clock: WorkerClock, *, way_back: float = 0.0) -> None:
        self.way_back = way_back
        await clock.calibrate(self)  # type: ignore[arg-type]  # only its time is asked

    @property
    def now(self) -> float:
        return self.monotonic + self.ahead


def pair(ahead: float = 500.0) -> tuple[Redis, WorkerClock]:
    redis = Redis(ahead)
    return redis, WorkerClock(lambda: redis.monotonic)


async def test_a_reading_is_a_lower_bound_of_redis_time() -> None:
    redis, clock = pair()

    await redis.calibrate(clock, way_back=0.25)

    assert clock.now() == redis.now - 0.25


async def test_the_tightest_of_several_bounds_is_used() -> None:
    redis, clock = pair()
    for way_back in (0.25, 0.125, 0.5):
        await redis.calibrate(clock, way_back=way_back)

    assert clock.now() == redis.now - 0.125


async def test_it_follows_a_clock_that_is_set_forward() -> None:
    redis, clock = pair()
    await redis.calibrate(clock)

    redis.ahead += 60.0
    await redis.calibrate(clock, way_back=0.25)

    assert clock.now() == redis.now - 0.25


async def test_bounds_from_before_a_step_back_are_forgotten() -> None:
    redis, clock = pair()
    await redis.calibrate(clock)

    redis.ahead -= 60.0
    await redis.calibrate(clock, way_back=0.25)

    assert clock.now() == redis.now - 0.25


async def test_nothing_is_due_before_the_first_calibration() -> None:
    redis, clock = pair()

    assert not clock.calibrated
    assert clock.now() == float("-inf")
    await redis.calibrate(clock)
    assert clock.calibrated
