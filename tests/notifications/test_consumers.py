from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connections

from notifications import consumers
from notifications.live import publish_alert, publish_topics, publish_topics_to_all
from notifications.live_access import is_still_valid
from notifications.tickets import Holder, issue
from shared.redis_client import client
from tenants.models import Membership, Tenant
from tests.factories import make_key, make_tenant
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
