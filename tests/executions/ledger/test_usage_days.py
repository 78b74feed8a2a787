from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from executions import transitions
from executions.housekeeping import stage as housekeeping
from executions.ledger import retention, usage_days
from executions.ledger.minute_stats import Ended, count
from executions.ledger.usage_days import midnight
from executions.loop.clocks import database_now
from executions.models import MinuteStat, UsageDay
from executions.transitions import Finish
from insight.statistics.usage import span_of, usage_of
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import WORKER, make_task, once, prepare, release
from tests.support.recounting import recounts
from wire.messages import Claimed

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
_GONE = "00000000-0000-7000-8000-000000000001"
_RECOUNT = """
SELECT count(*) FILTER (WHERE number = 1), count(*),
       coalesce(sum(round(extract(epoch FROM finished_at - started_at) * 1000)), 0)::bigint,
       coalesce(sum(octet_length(sealed_response)), 0)::bigint
FROM attempts WHERE tenant_id = %s AND (finished_at AT TIME ZONE 'UTC')::date = %s
"""


def minute(tenant: Tenant, at: datetime, succeeded: int) -> MinuteStat:
    return MinuteStat.objects.create(
        tenant_id=tenant.id,
        minute=at.replace(second=0, microsecond=0),
        succeeded=succeeded,
        started=succeeded,
        attempts=succeeded,
        execution_ms=succeeded * 10,
        recorded_bytes=succeeded * 100,
        start_delays=[],
    )


def roll_up() -> None:
    now = database_now()
    usage_days.roll_up(now, now - conf().retention_days * DAY)


def stored(tenant: Tenant) -> dict[int, int]:
    """Return the successes of each stored day, by how many days it is ago."""
    today = midnight(database_now()).date()
    found = UsageDay.objects.filter(tenant_id=tenant.id)
    return {(today - one.day).days: one.succeeded for one in found}


def queued(tenant: Tenant, count: int) -> list[Claimed]:
    for _ in range(count):
        make_task(tenant, once())
    prepare()
    return release()


@recounts("usage.recorded_bytes", "usage.attempts", "usage.execution_seconds")
def test_the_usage_of_a_day_is_that_of_its_attempts_to_the_row(alpha: Tenant):
    now = database_now()
    one, two, three, four = queued(alpha, 4)
    begin = now - timedelta(seconds=2, milliseconds=7)

    def ended(row: Claimed, status: str, outcome: str, **parts: Any) -> Finish:
        fields = {"worker": WORKER, "started_at": begin, "finished_at": now, **parts}
        return Finish(row.id, row.token, row.attempt + 1, status, outcome, **fields)

    first = [
        ended(one, "SUCCEEDED", "SUCCEEDED", sealed_response=b"x" * 300),
        ended(two, "FAILED", "FAILED", error_code="http_status", response_status=500),
        ended(three, "RETRYING", "FAILED", sealed_response=b"y" * 11),
        ended(four, "CANCELLED", "CANCELLED"),
    ]
    transitions.finish(first)
    # A stream that is read again counts nothing twice.
    transitions.finish(first)
    (again,) = release()
    transitions.finish([ended(again, "SUCCEEDED", "SUCCEEDED", sealed_response=b"z")])
    roll_up()
    roll_up()

    (row,) = UsageDay.objects.filter(day=now.date())
    with connection.cursor() as cursor:
        cursor.execute(_RECOUNT, [alpha.id, now.date()])
        recount = cursor.fetchone()
    assert (row.started, row.attempts, row.execution_ms, row.recorded_bytes) == recount
    assert recount == (4, 5, 5 * 2007, 312)
    assert (row.succeeded, row.failed, row.cancelled) == (2, 1, 1)
    assert usage_of(alpha.id, span_of(now.date(), now.date()))[0].execution_ms == 5 * 2007


def test_an_execution_that_failed_without_a_start_has_no_attempt(alpha: Tenant):
    at = database_now().replace(second=0, microsecond=0)
    count([Ended(alpha.id, alpha.id, "FAILED", 0, None, at, milliseconds=5)])
    roll_up()

    row = UsageDay.objects.get()
    assert (row.failed, row.started, row.attempts, row.execution_ms) == (1, 0, 0, 0)


def test_a_repeat_changes_nothing_and_later_minutes_of_a_day_are_added(alpha: Tenant):
    yesterday = midnight(database_now()) - timedelta(minutes=1)
    minute(alpha, yesterday, 3)
    roll_up()
    roll_up()
    assert stored(alpha) == {1: 3}

    # An outcome that is recorded after midnight belongs to the day on which it ended.
    minute(alpha, yesterday - timedelta(minutes=5), 4)
    roll_up()

    assert stored(alpha) == {1: 7}


def test_every_day_is_stored_also_after_a_long_time_without_housekeeping(alpha: Tenant):
    noon = midnight(database_now()) - DAY / 2
    for ago in (1, 20, 200):
        minute(alpha, noon - (ago - 1) * DAY, ago)

    roll_up()

    assert stored(alpha) == {1: 1, 20: 20, 200: 200}


def test_an_outcome_that_is_late_by_weeks_is_in_its_day_before_the_minutes_go(
    alpha: Tenant, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retention, "drop_days", lambda before: 0)
    settings.PUNCTUAL = replace(conf(), retention_days=10)
    noon = midnight(database_now()) - DAY / 2
    minute(alpha, noon - 8 * DAY, 2)
    minute(alpha, noon + DAY / 2, 1)
    roll_up()
    minute(alpha, noon - 8 * DAY + timedelta(hours=1), 5)
    roll_up()
    assert stored(alpha) == {9: 2, 0: 1}

    settings.PUNCTUAL = replace(conf(), retention_days=7)
    done = housekeeping.run_once()

    assert done["minutes_dropped"] == 2
    assert stored(alpha) == {9: 7, 0: 1}


def test_a_minute_that_comes_back_after_its_day_went_takes_nothing_away(alpha: Tenant):
    at = midnight(database_now()) - 200 * DAY
    minute(alpha, at, 9)
    roll_up()
    MinuteStat.objects.all().delete()
    minute(alpha, at, 1)

    roll_up()

    assert stored(alpha) == {200: 9}


def test_minutes_go_by_whole_days_and_never_before_three_of_them(alpha: Tenant):
    now = database_now()

    assert usage_days.roll_up(now, now - DAY) == midnight(now) - 3 * DAY
    assert usage_days.roll_up(now, now - 10 * DAY) == midnight(now) - 10 * DAY


def test_days_past_their_own_retention_go(
    alpha: Tenant, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retention, "drop_days", lambda before: 0)
    settings.PUNCTUAL = replace(conf(), usage_retention_days=30)
    noon = midnight(database_now()) - DAY / 2
    for ago in (29, 31):
        minute(alpha, noon - (ago - 1) * DAY, 1)

    assert housekeeping.run_once()["usage_days_dropped"] == 1

    assert stored(alpha) == {29: 1}


def test_a_removed_tenants_minutes_make_no_rows(alpha: Tenant):
    minute(alpha, database_now(), 1)
    MinuteStat.objects.update(tenant_id=_GONE)
    roll_up()

    assert not UsageDay.objects.exists()
