from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import WorkerMinute
from shared.conf import conf
from shared.sql import run
from tenants.models import Tenant
from tests.factories import ApiClient

pytestmark = pytest.mark.django_db
PATH = "/v1/workers/earlier"


@pytest.fixture(autouse=True)
def _shown(settings: Any) -> None:
    """Let the operator have shown processes to everyone."""
    settings.PUNCTUAL = replace(conf(), processes_public=True)


def keep(worker: str, days_ago: int, **parts: object) -> None:
    minute = database_now() - timedelta(days=days_ago)
    WorkerMinute.objects.create(worker=worker, minute=minute, pool="pull.etl", **parts)


def test_workers_of_the_last_days_are_listed_the_latest_first(
    viewer: ApiClient, alpha: Tenant, beta: Tenant
):
    keep("old", 30, ended_in_minute=4)
    keep("mine", 2, tenant_id=alpha.id)
    keep("theirs", 2, tenant_id=beta.id)
    run("workers/roll_up", {"now": database_now()})

    shown = viewer.get(f"{PATH}?days=90").json()["workers"]

    assert [(one["id"], one["kind"], one["ended"]) for one in shown] == [
        ("mine", "pull_worker", None),
        ("old", "worker", 4),
    ]
    assert shown[0]["pool"] == "etl"
    assert [one["id"] for one in viewer.get(PATH).json()["workers"]] == ["mine"]
    assert [one["id"] for one in viewer.get(f"{PATH}?days=90&q=OL").json()["workers"]] == ["old"]
    assert len(viewer.get(f"{PATH}?days=90&limit=1").json()["workers"]) == 1


@pytest.mark.parametrize("query", ["days=0", "days=91", "limit=0", "limit=1001", "page=2"])
def test_values_that_make_no_sense_are_refused(viewer: ApiClient, query: str):
    assert viewer.get(f"{PATH}?{query}").status_code == 400
