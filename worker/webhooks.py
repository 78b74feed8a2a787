"""Makes the webhook delivery of a process; a worker and an isolated process get the same."""

from __future__ import annotations

from delivery.address_guard import AddressGuard
from delivery.attempt import Deliverer
from delivery.http_client import HttpClient
from shared.addresses import AllowList
from shared.conf import conf


def webhook_delivery() -> tuple[HttpClient, Deliverer]:
    """Return a client, to be closed at the end, and the deliverer that sends through it."""
    allow = AllowList(conf().webhook_allowed_networks)
    client = HttpClient(AddressGuard(allow))
    return client, Deliverer(client, allow)
