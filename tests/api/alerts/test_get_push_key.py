from __future__ import annotations

import pytest
from django.conf import settings

from notifications.transports.vapid import public_key
from tests.factories import make_client, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("vapid")
def test_the_public_key_is_shown_to_any_reader():
    answer = make_client(make_tenant(), ["read"]).get("/v1/push-key")

    assert answer.json() == {"public_key": public_key()}


def test_without_a_key_there_is_null(monkeypatch):
    monkeypatch.setattr(settings, "VAPID_PRIVATE_KEY", "")

    assert make_client(make_tenant()).get("/v1/push-key").json() == {"public_key": None}
