"""Wishes of members: validated as a whole, audited, and each tenant's own."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest

from events.models import AuditEntry
from notifications.models.notification_preference import final_failures
from notifications.services.preferences import list_preferences, update_preference
from shared.exceptions import InvalidInput, NotFound
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member

pytestmark = pytest.mark.django_db


def test_a_change_keeps_the_rest_and_is_audited() -> None:
    tenant = make_tenant()
    member = make_member(tenant)

    update_preference(tenant.id, member.pk, {"email_events": []}, actor=ACTOR)
    wish = update_preference(
        tenant.id, member.pk, {"quiet_from": time(22), "quiet_to": time(7)}, actor=ACTOR
    )

    assert (wish.email_events, wish.quiet_from) == ([], time(22))
    entries = AuditEntry.objects.filter(action="notification_preference.changed")
    assert entries.count() == 2


def test_a_change_to_what_is_already_so_is_not_audited() -> None:
    tenant = make_tenant()

    update_preference(
        tenant.id, make_member(tenant).pk, {"email_events": final_failures()}, actor=ACTOR
    )

    assert not AuditEntry.objects.filter(action="notification_preference.changed").exists()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"email_events": ["everything"]}, "#/email_events"),
        ({"email_address": "nobody"}, "#/email_address"),
        ({"email_address": f"{'x' * 300}@example.com"}, "#/email_address"),
        ({"timezone": "Mars/Olympus"}, "#/timezone"),
        ({"quiet_from": time(22)}, "#/quiet_from"),
        ({"quiet_from": time(22), "quiet_to": time(22)}, "#/quiet_to"),
        ({"colour": "red"}, "#/colour"),
    ],
    ids=["events", "address", "long", "zone", "one-end", "empty", "unknown"],
)
def test_a_wish_without_sense_is_refused(change: dict[str, Any], pointer: str) -> None:
    tenant = make_tenant()

    with pytest.raises(InvalidInput) as caught:
        update_preference(tenant.id, make_member(tenant).pk, change, actor=ACTOR)

    assert [error.pointer for error in caught.value.errors] == [pointer]


def test_another_tenants_member_cannot_be_changed() -> None:
    theirs = make_member(make_tenant("Beta"))

    with pytest.raises(NotFound):
        update_preference(make_tenant("Alpha").id, theirs.pk, {}, actor=ACTOR)


def test_every_member_has_a_preference() -> None:
    tenant = make_tenant()
    make_member(tenant)
    make_member(make_tenant("Beta"), "bob")

    assert [wish.membership.user.username for wish in list_preferences(tenant.id)] == ["ada"]
