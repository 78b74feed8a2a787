"""The tasks that the load generators create: pure functions of seed, time and receiver URL."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from operations.proof.oracle import Planned, Schedule, to_text

#: A day has 1,440 minutes; "compressed into ten minutes" makes an hour 25 seconds.
PERIODS_SECONDS = (5, 10, 15, 25, 30, 60, 100, 120, 300)
SECOND_CRONS = (
    "*/10 * * * * *",
    "*/15 * * * * *",
    "*/20 * * * * *",
    "0,30 * * * * *",
    "7 * * * * *",
    "5-55/25 * * * * *",
    "40 */2 * * * *",
)
#: The crons of a storm: an instant is never further away than this.
EVERY_SECOND = "* * * * * *"
MINUTE_CRONS = ("* * * * *", "*/2 * * * *", "*/3 * * * *", "*/5 * * * *")


@dataclass(frozen=True, slots=True)
class Window:
    """When the load runs, in milliseconds since 1970; recurring tasks end with it."""

    begin_ms: int
    end_ms: int
    receiver_url: str
    name: str

    @property
    def length_ms(self) -> int:
        """Return how long it runs."""
        return self.end_ms - self.begin_ms


@dataclass(frozen=True, slots=True)
class _Behaviour:
    name: str
    path: str
    max_attempts: int = 5


def mixed_day(window: Window, count: int, seed: int) -> list[Planned]:
    """Return a day of mixed tasks: half one-time, a quarter fixed rate, a quarter cron."""
    rng = random.Random(seed)  # noqa: S311 - a load, no secret
    planned = []
    for number in range(count):
        behaviour = _behaviour(rng)
        kind = number % 4
        if kind < 2:
            schedule, create_after_ms = _one_time(rng, window)
        else:
            schedule = _fixed_rate(rng, window) if kind == 2 else _cron(rng, window)
            create_after_ms = 0
        planned.append(_planned(window, number, schedule, behaviour, create_after_ms))
    return sorted(planned, key=lambda task: task.create_after_ms)


def steady(
    window: Window,
    rate: float,
    *,
    slow_share: float = 0.0,
    one_time_share: float = 0.2,
    every_ms: int = 10_000,
) -> list[Planned]:
    """Return tasks that fire ``rate`` times a second, evenly: fixed rate and a share one-time.

    One-time tasks are created on the fly, 3 to 8 s ahead. A share of the webhooks is slow, so
    that requests are in flight at any moment.
    """
    recurring = max(1, round(rate * (1 - one_time_share) * every_ms / 1000))
    planned = []
    for number in range(recurring):
        start_ms = window.begin_ms + number * every_ms // recurring
        schedule = Schedule(every_ms=every_ms, start_ms=start_ms, end_ms=window.end_ms)
        behaviour = _steady_behaviour(number, slow_share)
        planned.append(_planned(window, number, schedule, behaviour, 0))
    planned += _singles(window, recurring, rate * one_time_share, slow_share)
    return sorted(planned, key=lambda task: task.create_after_ms)


def stormy(window: Window, rate: float, *, slow_share: float = 0.2) -> list[Planned]:
    """Return the load of a storm: 40 % by crons of every second, 40 % fixed rate, 20 % one-time.

    Every missed instant is replayed, so that each has to run, after an outage of any length.
    """
    pulses = max(1, round(rate * 0.4))
    every_ms = 5_000
    recurring = max(1, round(rate * 0.4 * every_ms / 1000))
    schedules = [
        *(Schedule(cron=EVERY_SECOND, end_ms=window.end_ms) for _ in range(pulses)),
        *(
            Schedule(
                every_ms=every_ms,
                start_ms=window.begin_ms + number * every_ms // recurring,
                end_ms=window.end_ms,
            )
            for number in range(recurring)
        ),
    ]
    planned = []
    for number, schedule in enumerate(schedules):
        task = _planned(window, number, schedule, _steady_behaviour(number, slow_share), 0)
        fields = task.definition.get("schedule", task.definition)
        fields |= {"misfire_policy": "replay", "misfire_replay_per_second": 1000}
        planned.append(task)
    planned += _singles(window, len(planned), rate * 0.2, slow_share)
    return sorted(planned, key=lambda task: task.create_after_ms)


def _singles(window: Window, first: int, rate: float, slow_share: float) -> list[Planned]:
    """Return one-time tasks, evenly over the window, each created 3 to 8 s ahead."""
    count = round(rate * window.length_ms / 1000)
    planned = []
    for number in range(count):
        # Between the fixed-rate instants, so that the load stays even.
        run_at_ms = window.begin_ms + (2 * number + 1) * window.length_ms // (2 * count)
        ahead_ms = 3000 + number * 997 % 5000
        create_after_ms = max(0, run_at_ms - ahead_ms - window.begin_ms)
        behaviour = _steady_behaviour(number, slow_share)
        schedule = Schedule(run_at_ms=run_at_ms)
        planned.append(_planned(window, first + number, schedule, behaviour, create_after_ms))
    return planned


def _steady_behaviour(number: int, slow_share: float) -> _Behaviour:
    # Spread by a fixed stride instead of chance: the same tasks are slow in every run.
    if (number * 61) % 100 < slow_share * 100:
        return _Behaviour("slow", f"/slow?ms={200 + number * 37 % 300}")
    return _Behaviour("ok", "/ok")


def _behaviour(rng: random.Random) -> _Behaviour:
    chance = rng.random()
    if chance < 0.05:
        return _Behaviour("failing", "/500", rng.choice((2, 3)))
    if chance < 0.15:
        status = rng.choice((500, 502, 503, 429))
        return _Behaviour("flaky", f"/flaky?fail={rng.randint(1, 3)}&status={status}")
    if chance < 0.25:
        return _Behaviour("slow", f"/slow?ms={rng.randint(200, 2000)}")
    return _Behaviour("ok", "/ok")


def _one_time(rng: random.Random, window: Window) -> tuple[Schedule, int]:
    chance = rng.random()
    if chance < 0.2:  # a delay, asked for during the day
        delay_ms = rng.randint(1, 20) * 1000
        create_after_ms = rng.randrange(max(1, window.length_ms - delay_ms - 2000))
        return Schedule(delay_ms=delay_ms), create_after_ms
    run_at_ms = window.begin_ms + rng.randrange(1000, window.length_ms - 1000)
    if chance < 0.3:  # people like round times: many at the same instant
        run_at_ms = -(-run_at_ms // 30_000) * 30_000
        run_at_ms = min(run_at_ms, window.end_ms - 1000)
    if chance < 0.5:  # asked for shortly before
        ahead_ms = rng.randint(500, 15_000)
        return Schedule(run_at_ms=run_at_ms), max(0, run_at_ms - ahead_ms - window.begin_ms)
    return Schedule(run_at_ms=run_at_ms), 0


def _fixed_rate(rng: random.Random, window: Window) -> Schedule:
    every_ms = rng.choice(PERIODS_SECONDS) * 1000
    start_ms = window.begin_ms + rng.randrange(min(every_ms, window.length_ms))
    times = rng.randint(2, 20) if rng.random() < 0.2 else None
    return Schedule(
        every_ms=every_ms, start_ms=start_ms, end_ms=window.end_ms, max_occurrences=times
    )


def _cron(rng: random.Random, window: Window) -> Schedule:
    expression = rng.choice(SECOND_CRONS if rng.random() < 0.5 else MINUTE_CRONS)
    return Schedule(cron=expression, end_ms=window.end_ms)


def _planned(
    window: Window,
    number: int,
    schedule: Schedule,
    behaviour: _Behaviour,
    create_after_ms: int,
) -> Planned:
    url = window.receiver_url + behaviour.path
    body = {"run": window.name, "number": number}
    fields = _schedule_fields(schedule)
    definition: dict[str, Any] = {
        "name": f"{window.name} {number} {schedule.kind} {behaviour.name}",
        "type": "ONE_TIME" if schedule.kind == "one-time" else "RECURRING",
        "labels": {"run": window.name},
        "retry_policy": {
            "max_attempts": behaviour.max_attempts,
            "initial_delay_seconds": 0.5,
            "max_delay_seconds": 5,
        },
    }
    if number % 5 == 0:  # the short form has to work as well
        definition |= {**fields, "payload": {"webhook_url": url, "method": "POST", "body": body}}
    else:
        target = {"kind": "webhook", "url": url, "method": "POST", "timeout_seconds": 10}
        definition |= {"schedule": fields, "target": target, "payload": body}
    return Planned(
        schedule,
        behaviour.path,
        definition,
        behaviour.name,
        behaviour.max_attempts,
        create_after_ms,
    )


def _schedule_fields(schedule: Schedule) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if schedule.run_at_ms is not None:
        fields["run_at"] = to_text(schedule.run_at_ms)
    if schedule.delay_ms is not None:
        fields["delay_seconds"] = schedule.delay_ms / 1000
    if schedule.every_ms is not None:
        fields["every"] = f"PT{schedule.every_ms // 1000}S"
        fields["start_at"] = to_text(schedule.start_ms)
    if schedule.cron is not None:
        fields["cron_expression"] = schedule.cron
        fields["timezone"] = "UTC"
    if schedule.end_ms is not None:
        fields["end_at"] = to_text(schedule.end_ms)
    if schedule.max_occurrences is not None:
        fields["max_occurrences"] = schedule.max_occurrences
    return fields
