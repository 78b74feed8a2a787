from __future__ import annotations

import pytest

from notifications.notices import plan_due_notices
from tests.factories import make_client, make_tenant
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_alert_shows_its_delivery_log():
    tenant = make_tenant()
    make_member(tenant, email="")
    alert = make_alert(tenant)
    plan_due_notices()

    shown = make_client(tenant, ["read"]).get(f"/v1/alerts/{alert.id}").json()

    assert shown["id"] == str(alert.id)
    assert {(line["channel"], line["status"], line["reason"]) for line in shown["deliveries"]} == {
        ("email", "SUPPRESSED", "no_address"),
        ("console", "SENT", None),
    }
