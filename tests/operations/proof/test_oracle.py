from __future__ import annotations

import pytest

from operations.proof.oracle import Accepted, Planned, Schedule, targets, to_ms, to_text

BEGIN = to_ms("2026-11-20T12:00:00Z")
UNTIL = BEGIN + 600_000


def accepted(schedule: Schedule, sent_ms: int = BEGIN, answered_ms: int = BEGIN + 20) -> Accepted:
    planned = Planned(schedule, "/ok", {})
    return Accepted("t1", planned, sent_ms * 1_000_000, answered_ms * 1_000_000)


def offsets(schedule: Schedule, **clock: int) -> list[int]:
    return [t.at_ms - BEGIN for t in targets(accepted(schedule, **clock), UNTIL) if t.required]


def test_a_one_time_task_runs_at_its_instant():
    assert offsets(Schedule(run_at_ms=BEGIN + 5)) == [5]


def test_a_delay_counts_from_somewhere_within_the_call():
    found = targets(accepted(Schedule(delay_ms=1000)), UNTIL)[0]

    assert (found.at_ms - BEGIN, found.slack_ms) == (1000, 21)


def test_a_fixed_rate_begins_at_its_start_and_ends_before_its_end():
    schedule = Schedule(every_ms=10_000, start_ms=BEGIN + 500, end_ms=BEGIN + 30_500)

    assert offsets(schedule) == [500, 10_500, 20_500]


def test_a_fixed_rate_that_began_earlier_keeps_its_anchor():
    schedule = Schedule(every_ms=7000, start_ms=BEGIN - 20_000, end_ms=BEGIN + 10_000)

    assert offsets(schedule) == [1000, 8000]


def test_occurrences_are_counted_from_the_first():
    schedule = Schedule(every_ms=1000, start_ms=BEGIN + 100, max_occurrences=3)

    assert offsets(schedule) == [100, 1100, 2100]


def test_cron_runs_every_minute_after_the_answer():
    assert offsets(Schedule(cron="* * * * *")) == [60_000 * n for n in range(1, 11)]


def test_cron_with_six_fields_has_seconds_first():
    schedule = Schedule(cron="7 */2 * * * *", end_ms=BEGIN + 200_000)

    assert offsets(schedule) == [7000, 127_000]


def test_an_instant_within_the_creating_call_may_run_but_need_not():
    found = targets(accepted(Schedule(cron="* * * * * *"), BEGIN - 5, BEGIN + 20), BEGIN + 1000)

    assert [(t.at_ms - BEGIN, t.required) for t in found] == [(0, False), (1000, True)]


def test_an_instant_at_the_end_may_run_but_need_not():
    schedule = Schedule(every_ms=1000, start_ms=BEGIN + 1000, end_ms=BEGIN + 2000)

    found = targets(accepted(schedule), UNTIL)

    assert [t.required for t in found] == [True, False]


def test_a_schedule_without_a_time_is_refused():
    with pytest.raises(ValueError, match="needs"):
        targets(accepted(Schedule()), UNTIL)


@pytest.mark.parametrize(
    ("text", "back"),
    [
        ("2026-11-20T12:00:00.123Z", "2026-11-20T12:00:00.123Z"),
        ("2026-11-20T13:00:00.123999+01:00", "2026-11-20T12:00:00.123Z"),
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00.000Z"),
    ],
)
def test_times_are_whole_milliseconds_in_utc(text: str, back: str):
    assert to_text(to_ms(text)) == back


def test_a_time_without_offset_is_refused():
    with pytest.raises(ValueError, match="without offset"):
        to_ms("2026-11-20T12:00:00")
