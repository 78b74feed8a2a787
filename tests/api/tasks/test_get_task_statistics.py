from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from executions.loop.clocks import database_now
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ApiClient, daily, make_task
from tests.support.ended_rows import ended


def test_statistics_and_calendar_are_answered(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, daily())
    ended(task, database_now() - timedelta(minutes=5), "FAILED")

    told = client.get(f"/v1/tasks/{task.pk}/statistics?window=30d").json()
    days = client.get(f"/v1/tasks/{task.pk}/calendar").json()

    assert (told["window"], told["total"]["failed"], told["complete"]) == ("30d", 1, True)
    assert told["causes"][0]["response_status"] == 503
    assert days["timezone"] == "Europe/Berlin"
    assert sum(day["failed"] for day in days["days"]) == 1


@pytest.mark.parametrize("query", ["window=1y", "since=2026-11-20T08:00:00Z"])
def test_a_query_that_makes_no_sense_is_400(client: ApiClient, alpha: Tenant, query: str):
    answer = client.get(f"/v1/tasks/{make_task(alpha).pk}/statistics?{query}")

    assert problem(answer) == (400, "invalid")


@pytest.mark.parametrize("part", ["statistics", "calendar"])
def test_an_unknown_task_is_404(client: ApiClient, part: str):
    assert problem(client.get(f"/v1/tasks/{uuid4()}/{part}")) == (404, "not_found")
