"""The live socket by every kind of session, ticket and caller: who is refused, and who hears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from notifications.live import TOPICS, publish_alert, publish_topics
from notifications.tickets import Holder, issue
from shared.actor import COMMAND
from shared.conf import conf
from tenants.choices import Role
from tenants.models import ApiKey, Membership, SignIn, Tenant
from tenants.services import suspend_tenant
from tests.access.rights import CREDENTIALS
from tests.access.socket_rights import (
    HEARD,
    NO_TICKET,
    NOT_HEARD,
    REFUSED,
    SAID,
    SESSIONS,
    TICKETS,
    by_ticket,
)
from tests.access.world import World, make_callers
from tests.factories import make_key, make_tenant
from tests.support.live import communicator, log_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def _no_connection_stays(transactional_db: None) -> AsyncIterator[None]:
    """Close the connection of the thread in which consumers ask the database."""
    yield
    await sync_to_async(connections.close_all)()


@pytest.fixture
def alpha(transactional_db: None) -> Tenant:
    return make_tenant("Alpha")


async def test_each_kind_of_session_hears_what_the_table_says(alpha: Tenant):
    cookies = await sync_to_async(_cookies)(alpha)

    heard = {
        kind: await _heard(alpha, cookie=cookies[kind], own=own)
        for kind, own in cookies.own.items()
    }

    assert heard == {kind: dict.fromkeys(SAID, answer) for kind, answer in SESSIONS.items()}


class _Cookies(dict[str, str]):
    """The cookies of sessions by kind, and the tenant of each."""

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[str, UUID] = {}


def _cookies(alpha: Tenant) -> _Cookies:
    gone, strict, beta = (make_tenant(name) for name in ("Zeta", "Eta", "Beta"))
    suspend_tenant(gone.id, actor=COMMAND)
    Tenant.objects.filter(pk=strict.pk).update(second_factor_required=True)
    tenants: dict[str, list[Tenant]] = {
        "a member of no tenant": [],
        "a suspended tenant's owner": [gone],
        "a member who must enrol": [alpha, strict],
        "a foreign owner": [beta],
    }
    made = _Cookies()
    for kind in SESSIONS:
        user = User.objects.create_user(kind)
        of = tenants.get(kind, [alpha])
        for tenant in of:
            role = kind if kind in Role.values else Role.OWNER
            Membership.objects.create(user=user, tenant=tenant, role=role)
        made[kind] = "" if kind == "no session" else log_in(user)
        made.own[kind] = (of or [alpha])[0].id
        sessions = SignIn.objects.filter(user=user)
        if kind == "an ended session":
            sessions.update(ended_at=timezone.now(), ended_by="ended")
        if kind == "an idle session":
            sessions.update(seen_at=timezone.now() - timedelta(days=30))
        if "not active" in kind:
            User.objects.filter(pk=user.pk).update(is_active=False)
    return made


async def test_each_kind_of_ticket_opens_what_the_table_says(alpha: Tenant):
    tickets = await sync_to_async(_tickets)(alpha)

    heard = {kind: await _heard(alpha, ticket=tickets[kind], own=alpha.id) for kind in TICKETS}

    assert heard == {kind: dict.fromkeys(SAID, answer) for kind, answer in TICKETS.items()}


def _tickets(alpha: Tenant) -> dict[str, str]:
    from notifications.live_access import admit_by_ticket

    def since(**change: Any) -> str:
        key, _ = make_key(alpha, ["read"])
        made, _ = issue(Holder(alpha.id, key.id))
        ApiKey.objects.filter(pk=key.pk).update(**change)
        return made

    now, gone = timezone.now(), make_tenant("Gamma")
    used, late = since(), issue(Holder(gone.id, make_key(gone, ["read"])[0].id))[0]
    assert admit_by_ticket(used, "127.0.0.1") is not None
    suspend_tenant(gone.id, actor=COMMAND)
    return {
        "a made-up ticket": "x" * 43,
        "a used ticket": used,
        "the ticket of a key that was revoked since": since(revoked_at=now),
        "the ticket of a key that expired since": since(expires_at=now),
        "the ticket of a key that lost the scope since": since(scopes=["write"]),
        "the ticket of a key for other addresses": since(addresses=["203.0.113.0/24"]),
        "the ticket of a tenant that was suspended since": late,
    }


async def test_each_caller_of_the_api_hears_what_the_table_says(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings, "PUNCTUAL", conf())  # put back what trusting an issuer changes
    callers = await sync_to_async(_callers)(alpha)

    heard = {}
    for kind, (ticket, own) in callers.items():
        heard[kind] = (
            await _heard(alpha, ticket=ticket, own=own)
            if ticket
            else dict.fromkeys(SAID, NO_TICKET)
        )

    assert heard == {kind: dict.fromkeys(SAID, by_ticket(kind)) for kind in CREDENTIALS}


def _callers(alpha: Tenant) -> dict[str, tuple[str, UUID]]:
    user = User.objects.create_user("owner")
    member = Membership.objects.create(user=user, tenant=alpha, role=Role.OWNER)
    made = {}
    for kind, caller in make_callers(World(alpha, {"owner_member": member.pk}, "made-up")).items():
        answer = caller.client.post("/v1/ws-tickets", {}).json()
        own = Tenant.objects.get(name="Beta").id if caller.foreign else alpha.id
        made[kind] = (answer.get("ticket", ""), own)
    return made


async def _heard(alpha: Tenant, *, own: UUID, cookie: str = "", ticket: str = "") -> dict[str, str]:
    """Open a socket and say everything of alpha; return what becomes of it, by what was said."""
    path = f"/ws/live?ticket={ticket}" if ticket else "/ws/live"
    socket = communicator(cookie, path=path)
    assert (await socket.connect())[0]
    first = await socket.receive_output(60)
    if first["type"] == "websocket.close":
        await socket.disconnect()
        return dict.fromkeys(SAID, str(first["code"]))
    await asyncio.to_thread(_say_all, alpha.id, own)
    told = set()
    while True:
        said = await socket.receive_json()
        if said.get("id") == "end":
            break
        told.add(said["topic"])
    await socket.disconnect()
    return {one: HEARD if one in told else NOT_HEARD for one in SAID}


def _say_all(alpha: UUID, own: UUID) -> None:
    publish_topics(alpha, TOPICS)
    publish_alert(alpha, id="a-1", severity="error", title="Daily failed", url="/alerts")
    publish_alert(own, id="end", severity="error", title="The end", url="/alerts")


def test_the_tables_have_each_answer():
    answers = {*SESSIONS.values(), *TICKETS.values(), *map(by_ticket, CREDENTIALS)}

    assert answers == {HEARD, NOT_HEARD, REFUSED, NO_TICKET}
