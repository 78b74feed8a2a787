from __future__ import annotations

import pytest

from notifications.event_webhooks.urls import parse_receiver_url, sealed_url, url_of
from notifications.models import EventSubscription
from shared.addresses import UrlError
from shared.encryption import DecryptionFailed
from shared.ids import new_id


@pytest.mark.parametrize("url", ["http://127.0.0.1/x", "ftp://a.example.com/", "https://a:b@c.de/"])
def test_a_url_is_judged_as_that_of_a_webhook(url: str):
    with pytest.raises(UrlError):
        parse_receiver_url(url)


@pytest.mark.django_db
def test_a_sealed_url_opens_for_its_row_alone():
    row = EventSubscription(tenant_id=new_id())
    row.sealed_url = sealed_url(row, "https://a.example.com/token")

    assert url_of(row) == "https://a.example.com/token"
    with pytest.raises(DecryptionFailed):
        url_of(EventSubscription(tenant_id=row.tenant_id, sealed_url=row.sealed_url))
