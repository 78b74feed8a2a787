from __future__ import annotations

import pytest

from notifications.models import Alert
from shared.ids import new_id
from tests.factories import make_client, make_tenant
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_alert_is_acknowledged_and_that_is_taken_back():
    tenant = make_tenant()
    client, path = make_client(tenant), f"/v1/alerts/{make_alert(tenant).id}/acknowledge"

    taken = client.post(path, {}).json()
    back = client.post(path, {"acknowledged": False}).json()

    assert taken["acknowledged_at"] is not None
    assert taken["acknowledged_by"].startswith("api_key:")
    assert (back["acknowledged_at"], back["acknowledged_by"]) == (None, None)


def test_an_alert_that_is_over_is_a_conflict():
    tenant = make_tenant()
    alert = make_alert(tenant)
    Alert.objects.update(closed_at=alert.last_at, next_notice_at=None)

    answer = make_client(tenant).post(f"/v1/alerts/{alert.id}/acknowledge", {})

    assert (answer.status_code, answer.json()["code"]) == (409, "alert_closed")


@pytest.mark.parametrize("body", [{"acknowledged": "yes"}, {"acknowledged": None}, {"by": 1}, []])
def test_bad_input_is_refused(body):
    tenant = make_tenant()

    path = f"/v1/alerts/{make_alert(tenant).id}/acknowledge"
    assert make_client(tenant).post(path, body).status_code == 400


def test_an_unknown_alert_is_not_found():
    assert (
        make_client(make_tenant()).post(f"/v1/alerts/{new_id()}/acknowledge", {}).status_code == 404
    )
