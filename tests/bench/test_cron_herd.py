from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from bench import cron_herd
from bench.cron_herd import Herd, first_minute
from tasks.limits import current_limits
from tasks.schedules import spec
from tasks.validation.bodies import parse_create

FIRST = datetime(2026, 11, 22, 23, 58, tzinfo=UTC)
HERD = Herd(10, 5, FIRST)


SPREAD = Herd(1000, 5, FIRST, timedelta(seconds=1))


@pytest.mark.parametrize("herd", [HERD, SPREAD])
@pytest.mark.parametrize("number", range(10))
@pytest.mark.django_db
def test_each_schedule_fires_first_at_its_instant_whatever_its_zone(herd: Herd, number: int):
    now = FIRST - timedelta(minutes=2)
    made = parse_create(
        herd.body(number, "https://api.example.com"), now=now, limits=current_limits()
    )

    found = spec.parse(made.type, made.schedule, seed="", anchor=now, calendars=[])

    occurrence = found.next_after(now)
    assert occurrence is not None
    assert occurrence.at == herd.due(number)


def test_schedules_share_full_minutes_or_the_seconds_between():
    assert [HERD.due(number) for number in (0, 4, 5)] == [
        FIRST,
        FIRST + timedelta(minutes=4),
        FIRST,
    ]
    assert [SPREAD.due(number) for number in (0, 299, 300)] == [
        FIRST,
        FIRST + timedelta(seconds=299),
        FIRST,
    ]


def test_the_first_minute_leaves_time_to_create():
    now = datetime(2026, 11, 22, 12, 0, 30, tzinfo=UTC)

    assert first_minute(now, 0) == datetime(2026, 11, 22, 12, 2, tzinfo=UTC)
    assert first_minute(now, 80_000) == datetime(2026, 11, 22, 12, 3, tzinfo=UTC)


def arrivals(delay_ms: float = 5.0) -> list[tuple[int, int]]:
    return [
        (number, round((HERD.due(number).timestamp() * 1000 + delay_ms) * 1e6))
        for number in range(10)
    ]


@pytest.mark.parametrize(
    ("came", "code", "said"),
    [
        (arrivals(), 0, "PASSED"),
        (arrivals()[1:], 1, "1 missed"),
        ([*arrivals(), arrivals()[0]], 1, "1 doubled"),
        (arrivals(-5.0), 1, "10 early"),
        (arrivals(1500.0), 1, "target missed: p95 1500 ms"),
    ],
)
def test_what_was_broken_is_told(
    came: list[tuple[int, int]],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    chosen = cron_herd.options(["--results", str(tmp_path)])

    assert cron_herd.publish(HERD, came, chosen) == code

    assert said in capsys.readouterr().out
    [stored] = tmp_path.iterdir()
    assert orjson.loads(stored.read_bytes())["passed"] == (code == 0)
