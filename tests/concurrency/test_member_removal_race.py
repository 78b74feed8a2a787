"""A member leaves while something of theirs is made: one waits for the other, and both end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from notifications.models import Alert
from notifications.services.alerts import assign_alert, mute_alert_for_member
from notifications.services.preferences import update_preference
from notifications.services.push_subscriptions import subscribe
from shared.exceptions import InvalidInput
from tenants.models import Membership, Tenant
from tenants.services.calendar_feeds import create_feed
from tenants.services.memberships import remove_member
from tenants.services.saved_views import create_view
from tests.access.world import PUSH_KEYS
from tests.concurrency.pair_barrier import run_both
from tests.factories import ACTOR
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

_ENDPOINT = "https://push.example.com/leaving"


def _view(member: Membership, _: Alert) -> None:
    given: Any = {"list": "tasks", "name": "mine", "query": ""}
    create_view(member.tenant_id, given, member=member.pk, actor=ACTOR)


def _feed(member: Membership, _: Alert) -> None:
    parts: Any = {"name": "mine", "filter_text": "", "timezone": "UTC"}
    create_feed(member.tenant_id, member=member.pk, actor=ACTOR, **parts)


def _push(member: Membership, _: Alert) -> None:
    parts: Any = {"endpoint": _ENDPOINT, "user_agent": "", **PUSH_KEYS}
    subscribe(member.tenant_id, member.pk, actor=ACTOR, **parts)


def _preference(member: Membership, _: Alert) -> None:
    update_preference(member.tenant_id, member.pk, {"timezone": "Asia/Tokyo"}, actor=ACTOR)


def _mute(member: Membership, alert: Alert) -> None:
    mute_alert_for_member(alert.id, member.pk, minutes=5, address="")


def _assign(member: Membership, alert: Alert) -> None:
    assign_alert(member.tenant_id, alert.id, member_id=member.pk, actor=ACTOR)


MADE: dict[str, Callable[[Membership, Alert], None]] = {
    "view": _view,
    "feed": _feed,
    "push": _push,
    "preference": _preference,
    "mute": _mute,
    "assignee": _assign,
}


def _answered(make: Callable[[Membership, Alert], None], member: Membership, alert: Alert) -> None:
    with suppress(InvalidInput):
        make(member, alert)


@pytest.mark.parametrize("after", [None, 1])
@pytest.mark.parametrize("leaves_first", [True, False])
@pytest.mark.parametrize("made", MADE)
def test_a_member_leaves_while_something_of_theirs_is_made(
    alpha: Tenant, settings: Any, made: str, leaves_first: bool, after: int | None
):
    settings.VAPID_PRIVATE_KEY = "A" * 42 + "E"
    member, alert = make_member(alpha, "ada"), make_alert(alpha)
    work = [
        lambda: remove_member(alpha.id, member.user_id, actor=ACTOR),
        lambda: _answered(MADE[made], member, alert),
    ]

    ahead, _, _ = run_both(*(work if leaves_first else reversed(work)), after=after)

    assert ahead.stopped
    assert not Membership.objects.filter(pk=member.pk).exists()
