from __future__ import annotations

import pytest

from notifications.models.notification_preference import final_failures
from tests.factories import make_client, make_tenant
from tests.notifications.cast import make_member

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/v1/notification-preferences"


def test_every_member_of_the_tenant_is_listed_with_the_defaults():
    tenant = make_tenant("Alpha")
    member = make_member(tenant)
    make_member(make_tenant("Beta"), "bob")

    [shown] = make_client(tenant).get(PATH).json()["notification_preferences"]

    assert shown["member"] == member.pk
    assert shown["email_events"] == final_failures()
    assert shown["effective_email_address"] == "ada@example.com"
