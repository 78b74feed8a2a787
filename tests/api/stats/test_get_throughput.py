from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.factories import ApiClient, make_execution

pytestmark = pytest.mark.django_db
PATH = "/v1/stats/throughput"


def test_every_minute_of_the_last_hour_is_answered(client: ApiClient, alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")

    shown = client.get(PATH).json()

    assert len(shown["minutes"]) == 60
    assert sum(minute["succeeded"] for minute in shown["minutes"]) == 1
    assert shown["minutes"][0]["minute"] < shown["minutes"][-1]["minute"]
    buckets = len(shown["bucket_bounds_ms"]) + 1
    assert {len(minute["start_delays"]) for minute in shown["minutes"]} == {buckets}


def test_the_stretch_may_be_chosen(client: ApiClient):
    assert len(client.get(f"{PATH}?minutes=5").json()["minutes"]) == 5
    assert len(client.get(f"{PATH}?minutes=1440").json()["minutes"]) == 1440


@pytest.mark.parametrize("minutes", ["0", "1441", "x", "-1", ""])
def test_a_stretch_out_of_bounds_is_refused(client: ApiClient, minutes: str):
    assert client.get(f"{PATH}?minutes={minutes}").status_code == 400


def test_another_tenants_minutes_are_not_shown(stranger: ApiClient, alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")

    shown = stranger.get(PATH).json()

    assert not any(minute["succeeded"] for minute in shown["minutes"])
