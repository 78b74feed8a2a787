from __future__ import annotations

import pytest

from notifications.models import Alert
from tests.factories import make_client, make_tenant
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


def test_alerts_come_newest_first_and_go_on_by_cursor():
    tenant = make_tenant()
    client = make_client(tenant, ["read"])
    made = [make_alert(tenant, number) for number in range(3)]

    first = client.get("/v1/alerts?limit=2").json()
    rest = client.get(f"/v1/alerts?limit=2&cursor={first['pagination']['next_cursor']}").json()

    shown = [alert["id"] for alert in first["alerts"] + rest["alerts"]]
    assert shown == [str(alert.id) for alert in reversed(made)]
    assert first["alerts"][0]["title"] == "2 failures: task 2: HTTP 503 from host-2.example.com"


def test_open_and_closed_ones_and_kinds_can_be_told_apart():
    tenant = make_tenant()
    client = make_client(tenant)
    make_alert(tenant, 1)
    closed = make_alert(tenant, 2, kind="first_failure")
    Alert.objects.filter(pk=closed.pk).update(closed_at=closed.last_at, next_notice_at=None)

    def ids(query):
        return [alert["id"] for alert in client.get(f"/v1/alerts?{query}").json()["alerts"]]

    assert ids("open=false") == ids("kind=first_failure") == [str(closed.id)]
    assert len(ids("open=true")) == 1


def test_another_tenants_alerts_are_not_there():
    make_alert(make_tenant("Alpha"))

    assert make_client(make_tenant("Beta")).get("/v1/alerts").json()["alerts"] == []


def test_an_unknown_kind_is_refused():
    assert make_client(make_tenant()).get("/v1/alerts?kind=all").status_code == 400
