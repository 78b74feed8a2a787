from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError, connections
from django.utils import timezone

from notifications import consumers
from notifications.live import (
    publish_alert,
    publish_key_change,
    publish_recheck,
    publish_topics,
    publish_topics_to_all,
)
from notifications.live_access import Access, admit_by_ticket, is_still_valid
from notifications.tickets import Holder, issue
from shared import tenant_scope
from shared.actor import COMMAND
from shared.ids import new_id
from shared.redis_client import client
from tenants.authority import OPERATOR
from tenants.choices import SignInEnd
from tenants.models import ApiKey, Membership, SignIn, Tenant
from tenants.services import edit_api_key, remove_member, revoke_api_key, rotate_api_key
from tenants.services.sign_ins import end_sign_ins
from tests.factories import ACTOR, make_key, make_tenant
from tests.support.live import closing_code, communicator, live_socket, log_in, make_member, refusal

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def _no_connection_stays(transactional_db: None) -> AsyncIterator[None]:
    """Close the connection of the thread in which consumers ask the database."""
    yield
    await sync_to_async(connections.close_all)()


@pytest.fixture
def alpha(transactional_db: None) -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def cookie(alpha: Tenant) -> str:
    return log_in(make_member(alpha))


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no check by itself come before the end of a test."""
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 3600)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the right to listen all the time."""
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.05)


async def publish(tenant: Tenant, *topics: str) -> None:
    await asyncio.to_thread(publish_topics, tenant.id, topics)


async def test_a_member_hears_what_changes_in_the_tenant(alpha: Tenant, cookie: str):
    async with live_socket(cookie) as socket:
        await publish(alpha, "executions")

        said = await socket.receive_json()

    assert said["topic"] == "executions"
    assert set(said) == {"topic", "version"}


async def test_versions_rise_from_hello_on(alpha: Tenant, cookie: str):
    socket = communicator(cookie)
    await socket.connect()
    hello = await socket.receive_json()
    await publish(alpha, "tasks")
    said = await socket.receive_json()
    await socket.disconnect()

    assert hello["topic"] == "hello"
    assert 0 < hello["version"] <= said["version"]


async def test_an_alert_is_shown_as_it_is(alpha: Tenant, cookie: str):
    async with live_socket(cookie) as socket:
        alert = {"id": "a-1", "severity": "error", "title": "Daily failed", "url": "/alerts#a-1"}
        await asyncio.to_thread(lambda: publish_alert(alpha.id, **alert))

        assert await socket.receive_json() == {"topic": "alert", **alert}


async def test_other_tenants_are_not_heard(alpha: Tenant, cookie: str):
    beta = await sync_to_async(make_tenant)("Beta")
    async with live_socket(cookie) as socket:
        await publish(beta, "tasks")
        await asyncio.to_thread(publish_topics_to_all, ["workers"])

        assert (await socket.receive_json())["topic"] == "workers"


async def test_the_session_chooses_among_the_tenants_of_a_member(alpha: Tenant):
    def prepare() -> tuple[Tenant, str]:
        user = make_member(alpha)
        beta = make_tenant("Beta")
        Membership.objects.create(user=user, tenant=beta, role="viewer")
        return beta, log_in(user, tenant_id=str(beta.id))

    beta, cookie = await sync_to_async(prepare)()
    async with live_socket(cookie) as socket:
        await publish(alpha, "tasks")
        await publish(beta, "executions")

        assert (await socket.receive_json())["topic"] == "executions"


async def test_another_tenants_id_in_the_session_gives_the_first_membership(alpha: Tenant):
    def prepare() -> str:
        return log_in(make_member(alpha), tenant_id=str(make_tenant("Beta").id))

    async with live_socket(await sync_to_async(prepare)()) as socket:
        await publish(alpha, "tasks")

        assert (await socket.receive_json())["topic"] == "tasks"


async def test_a_topic_is_said_at_most_twice_a_second(
    alpha: Tenant, cookie: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(consumers, "SPACING_SECONDS", 3600.0)
    async with live_socket(cookie) as socket:
        for _ in range(5):
            await publish(alpha, "tasks")
        await publish(alpha, "tasks", "executions")

        said = [(await socket.receive_json())["topic"] for _ in range(2)]

    assert said == ["tasks", "executions"]


async def test_what_was_held_back_is_said_later_once(
    alpha: Tenant, cookie: str, monkeypatch: pytest.MonkeyPatch
):
    # Longer than four calls take on a slow machine.
    monkeypatch.setattr(consumers, "SPACING_SECONDS", 3.0)
    async with live_socket(cookie) as socket:
        versions = []
        for _ in range(4):
            await publish(alpha, "tasks")
        for _ in range(2):
            said = await socket.receive_json()
            versions.append(said["version"])
        await publish(alpha, "workers")

        assert (await socket.receive_json())["topic"] == "workers"
    assert versions[0] <= versions[1]


async def test_a_ping_is_answered_and_the_rest_is_ignored(cookie: str):
    async with live_socket(cookie) as socket:
        for text in ("", "{", "[]", "1", '{"type": "subscribe"}', '{"type":"ping"' + " " * 2000):
            await socket.send_text(text)
        await socket.send_input({"type": "websocket.receive", "bytes": b'{"type": "ping"}'})
        await socket.send_text('{"type": "ping"}')

        said = await socket.receive_json()

        assert said["type"] == "pong"
        assert said["version"] > 0
        assert await socket.receive_nothing(0.05)


async def test_without_a_valid_session_it_is_4401(alpha: Tenant):
    assert await refusal() == 4401
    assert await refusal("sessionid=made-up") == 4401


async def test_a_user_without_a_tenant_is_refused(transactional_db: None):
    cookie = await sync_to_async(lambda: log_in(make_member(None)))()

    assert await refusal(cookie) == 4401


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://localhost:9999", "null", "file://", None]
)
async def test_a_foreign_page_is_refused_before_anything_else(cookie: str, origin: str | None):
    socket = communicator(cookie, origin=origin)

    assert (await socket.connect())[0] is False


async def test_other_addresses_are_refused(cookie: str):
    socket = communicator(cookie, path="/ws/other")

    assert (await socket.connect())[0] is False


async def test_a_ticket_opens_one_socket_without_an_origin(alpha: Tenant):
    def prepare() -> str:
        return issue(Holder(alpha.id, make_key(alpha, ["read"])[0].id))[0]

    path = f"/ws/live?ticket={await sync_to_async(prepare)()}"
    async with live_socket(path=path, origin=None) as socket:
        await publish(alpha, "tasks")
        assert (await socket.receive_json())["topic"] == "tasks"

    assert await refusal(path=path, origin=None) == 4401


@pytest.mark.parametrize(
    "change",
    [
        lambda key: edit_api_key(
            key.tenant_id, key.id, {"addresses": ["203.0.113.7"]}, actor=COMMAND, by=OPERATOR
        ),
        lambda key: edit_api_key(
            key.tenant_id, key.id, {"scopes": ["write"]}, actor=COMMAND, by=OPERATOR
        ),
        lambda key: revoke_api_key(key.tenant_id, key.id, actor=COMMAND, by=OPERATOR),
        lambda key: rotate_api_key(
            key.tenant_id, key.id, overlap_seconds=0, actor=COMMAND, by=OPERATOR
        ),
    ],
    ids=["addresses", "scopes", "revoked", "rotated"],
)
async def test_a_change_of_the_key_closes_its_open_sockets_at_once(
    alpha: Tenant, seldom: None, change: Any
):
    key = (await sync_to_async(make_key)(alpha, ["read", "write"]))[0]
    ticket = (await sync_to_async(issue)(Holder(alpha.id, key.id)))[0]

    async with live_socket(path=f"/ws/live?ticket={ticket}", origin=None) as socket:
        await sync_to_async(change)(key)

        assert await closing_code(socket) == 4401


async def test_a_change_that_takes_nothing_away_leaves_the_socket_open(alpha: Tenant):
    key = (await sync_to_async(make_key)(alpha, ["read"]))[0]
    ticket = (await sync_to_async(issue)(Holder(alpha.id, key.id)))[0]

    async with live_socket(path=f"/ws/live?ticket={ticket}", origin=None) as socket:
        await sync_to_async(edit_api_key)(
            alpha.id, key.id, {"addresses": ["127.0.0.0/8"]}, actor=COMMAND, by=OPERATOR
        )
        await publish(alpha, "tasks")

        assert (await socket.receive_json())["topic"] == "tasks"


async def test_a_socket_closes_when_its_key_ends(alpha: Tenant, seldom: None):
    key = (await sync_to_async(make_key)(alpha, ["read"]))[0]
    ticket = (await sync_to_async(issue)(Holder(alpha.id, key.id)))[0]
    soon = timezone.now() + timedelta(seconds=1)
    await sync_to_async(ApiKey.objects.filter(pk=key.pk).update)(expires_at=soon)

    async with live_socket(path=f"/ws/live?ticket={ticket}", origin=None) as socket:
        assert await closing_code(socket) == 4401


async def test_a_socket_closes_when_its_key_ends_sooner_than_it_did_at_first(
    alpha: Tenant, seldom: None, monkeypatch: pytest.MonkeyPatch
):
    key = (await sync_to_async(make_key)(alpha, ["read"]))[0]
    ticket = (await sync_to_async(issue)(Holder(alpha.id, key.id)))[0]
    loop, looked = asyncio.get_running_loop(), asyncio.Event()
    ends = iter([None, 0.0])
    seen: list[float | None] = []

    def left(access: Any) -> float | None:
        seen.append(next(ends, 0.0))
        loop.call_soon_threadsafe(looked.set)
        return seen[-1]

    monkeypatch.setattr(consumers, "seconds_left", left)
    # Valid when it is told of the change; not any more once it knows the new end.
    monkeypatch.setattr(consumers, "is_still_valid", lambda access: len(seen) < 2)

    async with live_socket(path=f"/ws/live?ticket={ticket}", origin=None) as socket:
        await asyncio.wait_for(looked.wait(), 30)
        await asyncio.to_thread(publish_key_change, key.id)

        assert await closing_code(socket) == 4401


async def test_a_key_that_was_revoked_while_its_socket_opened_is_refused(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    key = (await sync_to_async(make_key)(alpha, ["read"]))[0]
    ticket = (await sync_to_async(issue)(Holder(alpha.id, key.id)))[0]
    admit = admit_by_ticket

    def admit_and_lose(*arguments: Any) -> Any:
        access = admit(*arguments)
        with tenant_scope.scoped(alpha.id):
            revoke_api_key(alpha.id, key.id, actor=COMMAND, by=OPERATOR)
        return access

    monkeypatch.setattr(consumers, "admit_by_ticket", admit_and_lose)

    assert await refusal(path=f"/ws/live?ticket={ticket}", origin=None) == 4401


async def test_a_ticket_from_another_address_than_the_keys_is_refused(alpha: Tenant):
    key = (await sync_to_async(make_key)(alpha, ["read"]))[0]
    await sync_to_async(edit_api_key)(
        alpha.id, key.id, {"addresses": ["203.0.113.0/24"]}, actor=COMMAND, by=OPERATOR
    )
    tickets = [(await sync_to_async(issue)(Holder(alpha.id, key.id)))[0] for _ in range(2)]
    here, there = (f"/ws/live?ticket={ticket}" for ticket in tickets)

    assert await refusal(path=here, origin=None) == 4401
    async with live_socket(path=there, origin=None, address="203.0.113.7"):
        pass


async def test_a_ticket_does_not_excuse_a_foreign_page(alpha: Tenant):
    socket = communicator(path="/ws/live?ticket=x", origin="http://evil.example")

    assert (await socket.connect())[0] is False


@pytest.mark.parametrize(
    "end",
    [
        lambda: Session.objects.all().delete(),
        lambda: Membership.objects.all().delete(),
        lambda: User.objects.update(is_active=False),
        lambda: User.objects.update(password="changed"),
    ],
    ids=["logout", "membership", "inactive", "password"],
)
async def test_it_closes_when_the_right_to_listen_ends(
    alpha: Tenant, cookie: str, often: None, end: Any
):
    async with live_socket(cookie) as socket:
        await sync_to_async(end)()

        assert await closing_code(socket) == 4401


async def test_it_stays_while_the_right_stands(alpha: Tenant, cookie: str, often: None):
    checked = asyncio.Event()
    valid = is_still_valid
    loop = asyncio.get_running_loop()

    def check(access: Any) -> bool:
        found = valid(access)
        loop.call_soon_threadsafe(checked.set)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consumers, "is_still_valid", check)
        async with live_socket(cookie) as socket:
            await asyncio.wait_for(checked.wait(), 10)
            await publish(alpha, "tasks")

            assert (await socket.receive_json())["topic"] == "tasks"


async def test_a_full_process_refuses_more_sockets(cookie: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(consumers, "MOST_SOCKETS", 1)
    async with live_socket(cookie):
        assert await refusal(cookie) == 4429

    async with live_socket(cookie):
        pass  # the place is free again


async def test_a_tenant_leaves_room_to_others(
    alpha: Tenant, cookie: str, monkeypatch: pytest.MonkeyPatch
):
    def prepare() -> str:
        return log_in(make_member(make_tenant("Beta"), "other@example.com"))

    others = await sync_to_async(prepare)()
    monkeypatch.setattr(consumers, "MOST_OF_TENANT", 1)
    async with live_socket(cookie):
        assert await refusal(cookie) == 4429
        async with live_socket(others):
            pass


async def test_without_redis_the_client_is_sent_away_to_try_again(cookie: str, settings: Any):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    code = await refusal(cookie)

    assert code == 1013
    assert not consumers._open


async def test_a_socket_that_may_have_missed_something_ends(cookie: str):
    async with live_socket(cookie) as socket:
        await asyncio.to_thread(lambda: client().client_kill_filter(_type="pubsub"))

        assert await closing_code(socket) == 1012
    assert not consumers._open


async def test_a_removed_members_socket_closes_at_once(alpha: Tenant, cookie: str):
    async with live_socket(cookie) as socket:
        member = await Membership.objects.aget(tenant=alpha)
        await sync_to_async(remove_member)(alpha.id, member.user_id, actor=COMMAND)

        assert await closing_code(socket) == consumers.NO_ACCESS


async def test_a_changed_members_socket_stays_open(alpha: Tenant, cookie: str):
    async with live_socket(cookie) as socket:
        await asyncio.to_thread(publish_recheck, alpha.id)
        await publish(alpha, "tasks")

        assert (await socket.receive_json())["topic"] == "tasks"


async def test_the_socket_of_an_ended_session_closes_at_once(alpha: Tenant):
    user = await sync_to_async(make_member)(alpha)
    here = await sync_to_async(log_in)(user)
    there = await sync_to_async(log_in)(user)
    async with live_socket(here) as stays, live_socket(there) as socket:
        kept = await sync_to_async(lambda: SignIn.objects.order_by("began_at")[0].pk)()
        await sync_to_async(end_sign_ins)(user.pk, SignInEnd.ENDED, actor=ACTOR, but=kept)

        assert await closing_code(socket) == 4401
        await publish(alpha, "tasks")
        assert (await stays.receive_json())["topic"] == "tasks"


async def test_a_session_that_ends_while_its_socket_opens_is_refused(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    user = await sync_to_async(make_member)(alpha)
    cookie = await sync_to_async(log_in)(user)
    real = consumers.LiveConsumer._listen

    async def ends_first(self: consumers.LiveConsumer, *groups: str) -> None:
        await sync_to_async(end_sign_ins)(user.pk, SignInEnd.ENDED, actor=ACTOR)
        await real(self, *groups)

    monkeypatch.setattr(consumers.LiveConsumer, "_listen", ends_first)

    assert await refusal(cookie) == 4401


@pytest.mark.logs("live_access.not_checked", reason="OperationalError")
async def test_an_outage_of_the_database_ends_no_socket(monkeypatch: pytest.MonkeyPatch):
    def away(access: Access) -> bool:
        raise OperationalError

    monkeypatch.setattr(consumers, "is_still_valid", away)
    consumer = consumers.LiveConsumer()

    await consumer._check(Access(new_id()))

    assert not consumer._closed


@pytest.mark.logs("live_socket.gone")
async def test_a_client_that_has_gone_is_not_told_so(monkeypatch: pytest.MonkeyPatch):
    async def gone(code: int) -> None:
        raise OSError

    consumer = consumers.LiveConsumer()
    monkeypatch.setattr(consumer, "close", gone)

    await consumer._refuse(consumers.NO_ACCESS)

    assert consumer._closed
