"""The world and its callers, made once for a module in a transaction that is rolled back.

Each test, and each call within one, rolls back what it changed: no test sees another's changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from delivery.errors import DeliveryError
from executions.triggering import receiver_requests, test_delivery
from notifications.event_webhooks import trial
from notifications.services import channel_sending
from notifications.transports.answers import Answer
from notifications.transports.event_webhook import Receipt
from shared import payload_sight
from shared.conf import conf
from tenants.services import invitations
from tests.access.stored_rows import StoredRows
from tests.access.world import Caller, World, make_callers, make_world, undone
from tests.architecture import tree


@pytest.fixture(scope="module")
def _transaction(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    import scheduler_site.urls  # noqa: F401 - loads every view before a transaction waits for it

    with django_db_blocker.unblock(), undone():
        yield


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    """Send nothing to another process."""
    # First: a command that is loaded meanwhile would keep what it imports from here for ever.
    for name, app in get_commands().items():
        if (tree.REPOSITORY / app).is_dir():
            load_command_class(app, name)

    async def unreachable(*_: Any) -> DeliveryError:
        return DeliveryError("dns_failed", "nowhere")

    def taken(*_: Any, **__: Any) -> Answer:
        return Answer(200, "")

    def received(*_: Any) -> dict[str, Any]:
        payload_sight.require()
        return {"requests": [], "kept": 0, "total": 0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "VAPID_PRIVATE_KEY", "A" * 42 + "E")
        patch.setattr("notifications.services.deliveries.wake_sender", lambda delivery: None)
        patch.setattr(test_delivery, "_exchange", unreachable)
        patch.setattr("notifications.limits.MOST_TESTS", 10**6)
        patch.setattr(channel_sending, "send_webhook", taken)
        patch.setattr(trial, "send_parcels", lambda parcels: [Receipt(1, 200) for _ in parcels])
        patch.setattr(invitations, "MOST_OF_TENANT", 10**6)
        patch.setattr(invitations, "MOST_TO_ADDRESS", 10**6)
        patch.setattr(receiver_requests, "required_address_of", lambda tenant: "http://here/")
        patch.setattr(receiver_requests, "received", received)
        patch.setattr(receiver_requests, "forget", lambda tenant: None)
        yield


@pytest.fixture(scope="module")
def world(_transaction: None, _quiet: None) -> World:
    return make_world()


@pytest.fixture(scope="module")
def callers(world: World) -> Iterator[dict[str, Caller]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "PUNCTUAL", conf())  # put back what trusting an issuer changes
        yield make_callers(world)


@pytest.fixture(scope="module")
def _stored_rows(world: World) -> Iterator[StoredRows]:
    """Return the rows of the world's tenant; at the end, fail if a change of them was not seen."""
    rows = StoredRows(world.tenant)
    yield rows
    rows.remember()
    assert rows.missed() == []


@pytest.fixture
def stored(db: None, _stored_rows: StoredRows) -> StoredRows:
    """Return the rows of the world's tenant, as they are when the test begins."""
    _stored_rows.remember()
    return _stored_rows
