from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from executions.models.minute_stat import START_DELAY_BUCKETS_MS, MinuteStat
from insight.statistics.minutes import (
    MOST_MINUTES,
    bound_text,
    percentile,
    start_delay,
    throughput,
    wire_bound,
)
from tenants.models import Tenant

NOW = datetime(2026, 11, 20, 12, 30, 40, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def delays(**counts: int) -> list[int]:
    """Return the counts by bucket: ``delays(ms5=2, above=1)``."""
    found = [counts.pop(f"ms{bound}", 0) for bound in START_DELAY_BUCKETS_MS]
    return [*found, counts.pop("above", 0)]


def add(tenant: Tenant, ago: int, **parts: int) -> None:
    named = ("succeeded", "failed", "retried", "cancelled", "late")
    counts = {name: parts.pop(name) for name in named if name in parts}
    minute = NOW.replace(second=0) - ago * MINUTE
    MinuteStat.objects.create(
        tenant_id=tenant.id, minute=minute, start_delays=delays(**parts), **counts
    )


@pytest.mark.django_db
def test_every_minute_of_the_hour_has_a_point(alpha: Tenant):
    add(alpha, 0, succeeded=3, ms5=3)
    add(alpha, 59, failed=1, retried=2, cancelled=4, late=1, ms2000=1)
    add(alpha, 60, succeeded=100)

    points = throughput(alpha.id, now=NOW)

    assert len(points) == 60
    assert [points[0].minute, points[-1].minute] == [
        NOW.replace(second=0) - 59 * MINUTE,
        NOW.replace(second=0),
    ]
    first, last = points[0], points[-1]
    assert (first.failed, first.retried, first.cancelled, first.late) == (1, 2, 4, 1)
    assert (last.succeeded, last.start_delays) == (3, tuple(delays(ms5=3)))
    assert all(point.succeeded == 0 and not any(point.start_delays) for point in points[1:-1])


@pytest.mark.django_db
def test_another_tenants_minutes_are_not_seen(alpha: Tenant, beta: Tenant):
    add(beta, 0, succeeded=3)

    assert not any(point.succeeded for point in throughput(alpha.id, now=NOW))


@pytest.mark.django_db
@pytest.mark.parametrize(("asked", "got"), [(0, 1), (5, 5), (10**6, MOST_MINUTES)])
def test_a_stretch_is_between_a_minute_and_a_day(alpha: Tenant, asked: int, got: int):
    assert len(throughput(alpha.id, asked, now=NOW)) == got


@pytest.mark.parametrize(
    ("counts", "share", "bound"),
    [
        (delays(ms5=1), 0.5, 5),
        (delays(ms5=98, ms500=2), 0.95, 5),
        (delays(ms5=98, ms500=2), 0.99, 500),
        (delays(ms1=1, ms60000=1), 0.5, 1),
        (delays(above=1), 0.5, math.inf),
    ],
)
def test_a_percentile_is_the_upper_bound_of_its_bucket(
    counts: list[int], share: float, bound: float
):
    assert percentile(counts, share) == bound


@pytest.mark.parametrize(
    ("bound", "words", "wire"),
    [
        (None, "-", None),
        (1.0, "≤ 1 ms", 1.0),
        (500.0, "≤ 500 ms", 500.0),
        (1000.0, "≤ 1 s", 1000.0),
        (60_000.0, "≤ 60 s", 60_000.0),
        (math.inf, "> 60 s", 60_000.0),
    ],
)
def test_a_percentile_is_told_as_the_bound_that_it_is(
    bound: float | None, words: str, wire: float | None
):
    assert (bound_text(bound), wire_bound(bound)) == (words, wire)


@pytest.mark.django_db
def test_start_delays_of_several_minutes_are_taken_together(alpha: Tenant):
    add(alpha, 0, ms5=90)
    add(alpha, 1, ms100=8, ms2000=2)

    found = start_delay(throughput(alpha.id, now=NOW))

    assert (found.p50, found.p95, found.p99, found.count) == (5, 100, 2_000, 100)


@pytest.mark.django_db
def test_without_a_start_there_is_no_percentile(alpha: Tenant):
    found = start_delay(throughput(alpha.id, now=NOW))

    assert (found.p50, found.p99, found.count) == (None, None, 0)
