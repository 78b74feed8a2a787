"""Past runs by day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.models import MinuteStat
from insight.month import past as module
from insight.month.past import Ended, ended_of_filter, ended_of_tenant
from tests.factories import daily, make_task
from tests.insight.month.march import DAYS, NOW, on
from tests.support.ended_rows import ended
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db
PAST = DAYS[:20]


def _minute(tenant, minute, **counts):
    MinuteStat.objects.create(tenant_id=tenant.pk, minute=minute, start_delays=[0] * 16, **counts)


@recounts("month.ended")
def test_minutes_of_a_day_of_the_zone_are_added_up(alpha, beta):
    # 00:00 and 23:59 of the 2nd in Berlin.
    _minute(alpha, datetime(2027, 3, 1, 23, tzinfo=UTC), succeeded=5, failed=1)
    _minute(alpha, datetime(2027, 3, 2, 22, 59, tzinfo=UTC), succeeded=2)
    # A run of four steps, one of which failed first.
    _minute(
        alpha,
        datetime(2027, 3, 2, 23, tzinfo=UTC),
        succeeded=4,
        failed=1,
        steps_succeeded=4,
        steps_failed=1,
        runs_succeeded=1,
    )
    _minute(beta, datetime(2027, 3, 5, 12, tzinfo=UTC), succeeded=9)

    assert ended_of_tenant(alpha.id, PAST, NOW) == {on(2): Ended(7, 1), on(3): Ended(1, 0)}


def test_runs_of_a_filter_count_by_their_time(alpha):
    task, other = make_task(alpha, daily()), make_task(alpha, daily(name="Other"))
    for hours, status in ((48, "SUCCEEDED"), (47, "FAILED"), (46, "CANCELLED"), (45, "SKIPPED")):
        ended(task, NOW - timedelta(hours=hours), status)
    ended(other, NOW - timedelta(hours=48))

    found = ended_of_filter(alpha.id, PAST, NOW, lambda tasks: tasks.filter(pk=task.pk))

    assert {day: one for day, one in found.items() if one != Ended()} == {on(18): Ended(1, 1)}
    assert len(found) == 20
    assert set(ended_of_filter(alpha.id, PAST, NOW, lambda tasks: tasks.none()).values()) == {
        Ended()
    }


def test_days_with_more_than_is_read_are_at_least(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    task = make_task(alpha, daily())
    for hours in (48, 47):
        ended(task, NOW - timedelta(hours=hours))

    assert ended_of_filter(alpha.id, PAST, NOW, lambda tasks: tasks)[on(18)] == Ended(1, 0, True)


def test_more_tasks_than_are_read_make_every_day_at_least(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_TASKS", 1)
    for _ in range(2):
        make_task(alpha, daily())

    found = ended_of_filter(alpha.id, PAST, NOW, lambda tasks: tasks)

    assert set(found.values()) == {Ended(at_least=True)}
