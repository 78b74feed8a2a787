from __future__ import annotations

import pytest

from notifications.models import NotificationPreference
from tests.factories import make_client, make_tenant
from tests.notifications.cast import make_member

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/v1/notification-preferences"


def test_a_change_is_answered_and_stays():
    tenant = make_tenant()
    member = make_member(tenant)
    body = {
        "member": member.pk,
        "email_events": ["first_failure", "final_failure"],
        "email_address": "ops@example.com",
        "timezone": "Europe/Berlin",
        "quiet_from": "22:00",
        "quiet_to": "07:00",
        "muted_until": "2026-12-24T12:00:00Z",
    }

    answer = make_client(tenant).patch(PATH, body)

    assert answer.status_code == 200
    shown = answer.json()
    assert {name: shown[name] for name in body if name != "muted_until"} == {
        name: value for name, value in body.items() if name != "muted_until"
    }
    assert NotificationPreference.objects.get().email_address == "ops@example.com"


@pytest.mark.parametrize(
    "change",
    [
        {"email_events": ["everything"]},
        {"email_address": "a@b\nBcc: eve@example.com"},
        {"quiet_from": "25:00", "quiet_to": "07:00"},
        {"quiet_from": "22:00"},
        {"timezone": "Mars/Olympus"},
        {"muted_task_ids": ["x"]},
        {"colour": "red"},
    ],
    ids=["events", "address", "clock", "one-end", "zone", "task", "unknown"],
)
def test_a_wish_without_sense_is_refused(change):
    tenant = make_tenant()

    answer = make_client(tenant).patch(PATH, {"member": make_member(tenant).pk, **change})

    assert answer.status_code == 400
    assert not NotificationPreference.objects.exists()


def test_another_tenants_member_is_unknown():
    theirs = make_member(make_tenant("Alpha"))

    answer = make_client(make_tenant("Beta")).patch(PATH, {"member": theirs.pk})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/member"
    assert not NotificationPreference.objects.exists()
