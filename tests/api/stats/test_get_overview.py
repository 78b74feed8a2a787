from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.factories import ApiClient, make_dead_letter, make_execution

pytestmark = pytest.mark.django_db


def test_the_overview_shows_open_work_and_the_last_hour(client: ApiClient, alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")
    make_dead_letter(alpha)
    make_execution(alpha, "RUNNING")

    answer = client.get("/v1/overview")

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["running"], shown["due_now"], shown["exact"]) == (1, 0, True)
    assert shown["dead_letters_open"] == 1
    hour = shown["last_hour"]
    assert (hour["succeeded"], hour["failed"], hour["success_rate"]) == (1, 1, 0.5)
    assert hour["start_delay_ms"].keys() == {"p50", "p95", "p99", "count"}
    assert shown["at"].endswith("Z")


def test_an_empty_tenant_has_no_rate_and_no_delay(client: ApiClient):
    shown = client.get("/v1/overview").json()

    assert shown["oldest_due_seconds"] is None
    assert shown["last_hour"]["success_rate"] is None
    assert shown["last_hour"]["start_delay_ms"]["p95"] is None


def test_another_tenants_work_is_not_shown(stranger: ApiClient, alpha: Tenant):
    make_execution(alpha, "RUNNING")

    assert stranger.get("/v1/overview").json()["running"] == 0


def test_unknown_parameters_are_refused(client: ApiClient):
    assert client.get("/v1/overview?oops=1").status_code == 400
