from __future__ import annotations

from datetime import date, timedelta

import pytest

from executions.ledger.usage_days import midnight
from executions.loop.clocks import database_now
from executions.models import MinuteStat, UsageDay
from insight.statistics.usage import Span, read_day, span_of, usage_of, usage_of_many
from shared.exceptions import InvalidInput
from tenants.models import Tenant

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
ZEROS = dict.fromkeys(
    (
        *("started", "succeeded", "failed", "cancelled", "attempts", "execution_ms"),
        *("recorded_bytes", "runs_succeeded", "runs_failed"),
    ),
    0,
)


def today() -> date:
    return midnight(database_now()).date()


def day(tenant: Tenant, ago: int, succeeded: int) -> None:
    figures = {**ZEROS, "succeeded": succeeded}
    UsageDay.objects.create(tenant_id=tenant.id, day=today() - ago * DAY, **figures)


def test_today_and_yesterday_are_read_from_minutes_and_the_days_before_from_their_rows(
    alpha: Tenant,
):
    for ago in range(4):
        day(alpha, ago, 100 + ago)
    for ago in range(4):
        at = midnight(database_now()) - ago * DAY
        MinuteStat.objects.create(tenant_id=alpha.id, minute=at, succeeded=ago, start_delays=[])

    found = usage_of(alpha.id, span_of(today() - 3 * DAY, today()))

    assert [one.succeeded for one in found] == [103, 102, 1, 0]


def test_only_the_days_asked_for_are_counted(alpha: Tenant):
    for ago in range(2, 6):
        day(alpha, ago, ago)
    MinuteStat.objects.create(
        tenant_id=alpha.id, minute=midnight(database_now()), succeeded=1, start_delays=[]
    )

    found = usage_of(alpha.id, span_of(today() - 4 * DAY, today() - DAY))

    assert [one.succeeded for one in found] == [4, 3, 2, 0]


def test_a_tenant_has_its_own_usage_alone(alpha: Tenant, beta: Tenant):
    day(alpha, 3, 7)
    MinuteStat.objects.create(
        tenant_id=alpha.id, minute=midnight(database_now()), succeeded=1, start_delays=[]
    )
    span = span_of(None, None)

    assert not any(one.succeeded for one in usage_of(beta.id, span))
    assert usage_of_many([beta.id], span) == []
    assert [one.tenant_id for one in usage_of_many([alpha.id, beta.id], span)] == [alpha.id] * 2


def test_unless_given_thirty_days_up_to_today_are_shown():
    assert span_of(None, None) == Span(today() - 29 * DAY, today())
    assert span_of(date(2026, 1, 5), date(2026, 1, 7)).days == [
        date(2026, 1, number) for number in (5, 6, 7)
    ]
    tomorrow = today() + DAY
    assert span_of(tomorrow, None) == Span(tomorrow, tomorrow)


def test_days_in_the_wrong_order_or_too_many_are_refused_by_name():
    with pytest.raises(InvalidInput) as wrong:
        span_of(date(2026, 2, 1), date(2026, 1, 1))
    assert wrong.value.errors[0].pointer == "?from"

    assert len(span_of(date(2026, 1, 1), date(2026, 1, 1) + 399 * DAY).days) == 400
    with pytest.raises(InvalidInput) as many:
        span_of(date(2026, 1, 1), date(2026, 1, 1) + 400 * DAY, ("--from", "--to"))
    assert many.value.errors[0].pointer == "--from"


@pytest.mark.parametrize(
    "text",
    ["", "2026-02-30", "20260101", "2026-W01-1", "1999-12-31", "2200-01-01", "today", "x" * 10],
)
def test_a_text_that_is_no_day_is_refused(text: str):
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        read_day(text)


def test_a_day_is_read():
    assert read_day("2026-11-30") == date(2026, 11, 30)
