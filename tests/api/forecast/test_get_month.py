"""``GET /v1/forecast/month``."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from tenants.models import Tenant
from tests.factories import ApiClient, daily, make_task

URL = "/v1/forecast/month"


def test_a_month_is_told_by_day(client: ApiClient, alpha: Tenant):
    make_task(alpha, daily(name="Nightly"))
    make_task(alpha, daily(name="Other", labels={}))
    following = (database_now().replace(day=1) + timedelta(days=40)).replace(day=3)
    query = f"month={following:%Y-%m}&timezone=Europe/Berlin&filter=label:team"

    answer = client.get(f"{URL}?{query}&day={following:%Y-%m-%d}")

    shown = answer.json()
    assert answer.status_code == 200, shown
    assert (shown["month"], shown["timezone"]) == (f"{following:%Y-%m}", "Europe/Berlin")
    assert (shown["tasks"], shown["tasks_counted"], shown["complete"]) == (1, 1, True)
    assert {one["coming"] for one in shown["days"]} == {1}
    assert {one["succeeded"] for one in shown["days"]} == {None}
    assert [run["task_name"] for run in shown["runs"]["runs"]] == ["Nightly"]
    assert client.get(URL).json()["runs"] is None
    assert client.get(URL).json()["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("month=2026-13", "?month"),
        ("month=2010-01", "?month"),
        ("day=2010-01-01", "?day"),
        ("day=20261201", "?day"),
        ("timezone=Nowhere", "?timezone"),
        ("filter=oops:x", "?filter"),
        ("moth=2026-12", "?moth"),
    ],
)
def test_what_cannot_be_read_is_refused(client: ApiClient, query: str, pointer: str):
    refused = client.get(f"{URL}?{query}")

    assert refused.status_code == 400
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


def test_other_tenants_are_not_told(stranger: ApiClient, alpha: Tenant):
    make_task(alpha, daily())

    assert stranger.get(URL).json()["tasks"] == 0
