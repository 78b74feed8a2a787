from __future__ import annotations

import pytest

from events.models import AuditEntry
from tests.factories import make_client, make_tenant
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_mute_answers_until_when_and_is_audited():
    tenant = make_tenant()
    alert = make_alert(tenant)

    answer = make_client(tenant, ["operate"]).post(f"/v1/alerts/{alert.id}/mute", {"minutes": 5})

    assert answer.status_code == 200
    assert answer.json()["muted_until"] is not None
    assert AuditEntry.objects.get(action="alert.muted").object_id == str(alert.id)


def test_a_repeat_with_the_same_key_mutes_once():
    tenant = make_tenant()
    client, path = make_client(tenant), f"/v1/alerts/{make_alert(tenant).id}/mute"

    first = client.post(path, {}, idempotency_key="1")
    again = client.post(path, {}, idempotency_key="1")

    assert first.json() == again.json()
    assert AuditEntry.objects.filter(action="alert.muted").count() == 1


@pytest.mark.parametrize("body", [{"minutes": -1}, {"minutes": "60"}, {"hours": 1}])
def test_a_mute_without_sense_is_refused(body):
    tenant = make_tenant()

    answer = make_client(tenant).post(f"/v1/alerts/{make_alert(tenant).id}/mute", body)

    assert answer.status_code == 400
