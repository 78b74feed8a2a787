"""A name that changes its addresses gets nowhere: not at any point of a call.

127.0.0.1 is the public world of these tests, 127.0.0.2 the network that nobody may reach.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from delivery.address_guard import AddressGuard
from delivery.caller import Caller
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient, Request
from delivery.plan import read_plan
from shared.addresses import AllowList, parse_target_url
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS
from tests.delivery.sites import Answer, Received, Site, proxy, site

ALLOW = AllowList(["127.0.0.1"])
GOOD, BAD, ODD = ["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "::1"]
CLOSE = ("Connection", "close")


class World:
    """A client whose DNS gives the answers of a host one after the other, the last for ever."""

    def __init__(self, **names: list[Sequence[str]]) -> None:
        self._names = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.guard = AddressGuard(ALLOW, self._resolve, cache_seconds=0)
        self.client = HttpClient(self.guard)
        self._caller = Caller(self.client)

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        answers = self._names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def call(self, url: str, **target: Any) -> int | str:
        """Return the status, or the code of the error."""
        plan = read_plan(
            {**TARGET_DEFAULTS, "url": url, **target},
            None,
            policy=RETRY_DEFAULTS,
            tenant="t1",
            allow=ALLOW,
        )
        request = Request(
            "POST", parse_target_url(url, ALLOW), [], b"{}", 60.0, 60.0, route=plan.route
        )
        try:
            return (await self._caller.call(plan, request, "t1")).status
        except DeliveryError as error:
            return error.code


@asynccontextmanager
async def world(**names: list[Sequence[str]]) -> AsyncIterator[World]:
    made = World(**names)
    try:
        yield made
    finally:
        await made.client.close()
        made.guard.close()


@asynccontextmanager
async def both(answer: Any) -> AsyncIterator[tuple[Site, Site]]:
    """Run the same site in the public world and, on the same port, in the forbidden network."""
    async with site(answer) as public, site(answer, host="127.0.0.2", port=public.port) as inner:
        yield public, inner


def closing(_: Received) -> Answer:
    return Answer(200, [CLOSE])


@pytest.mark.parametrize("bad", [BAD, ODD, ["::1"], ["::ffff:127.0.0.1"], ["127.0.0.1%lo"]])
async def test_every_new_connection_judges_every_address_of_the_answer(bad: list[str]):
    async with both(closing) as (public, inner), world(a_test=[GOOD, bad, GOOD]) as here:
        url = f"http://a.test:{public.port}/"

        found = [await here.call(url) for _ in range(3)]

        expected = "dns_failed" if "%" in bad[0] else "address_forbidden"
        assert found == [200, expected, 200]
        assert (public.connections, inner.connections) == (2, 0)


async def test_the_name_is_never_resolved_again_behind_the_guard(monkeypatch: pytest.MonkeyPatch):
    loop, asked = asyncio.get_running_loop(), []
    resolve = loop.getaddrinfo

    async def noted(host: Any, *args: Any, **options: Any) -> Any:
        asked.append(host)
        return await resolve(host, *args, **options)

    async with both(closing) as (public, _), world(a_test=[GOOD, BAD]) as here:
        monkeypatch.setattr(loop, "getaddrinfo", noted)

        assert await here.call(f"http://a.test:{public.port}/") == 200

    assert set(asked) <= {"127.0.0.1"}


async def test_a_kept_connection_stays_where_it_was_approved():
    def answer(_: Received) -> Answer:
        return Answer(200, [CLOSE] if len(public.requests) == 2 else [])

    async with both(answer) as (public, inner), world(a_test=[GOOD, BAD]) as here:
        url = f"http://a.test:{public.port}/"

        found = [await here.call(url) for _ in range(3)]

        assert found == [200, 200, "address_forbidden"]
        assert (public.connections, inner.connections) == (1, 0)


async def test_a_redirect_to_a_name_that_leads_inside_is_not_followed():
    def answer(_: Received) -> Answer:
        return Answer(307, [("Location", f"http://b.test:{public.port}/")])

    async with both(answer) as (public, inner), world(a_test=[GOOD], b_test=[BAD]) as here:
        found = await here.call(f"http://a.test:{public.port}/", follow_redirects=True)

        assert (found, inner.connections) == ("address_forbidden", 0)


async def test_a_redirect_to_the_same_name_is_judged_anew():
    def answer(_: Received) -> Answer:
        return Answer(307, [("Location", "/b"), CLOSE])

    async with both(answer) as (public, inner), world(a_test=[GOOD, BAD]) as here:
        found = await here.call(f"http://a.test:{public.port}/", follow_redirects=True)

        assert (found, inner.connections) == ("address_forbidden", 0)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.2", "2130706434", "0x7f.2", "0177.0.0.2", "127.2", "[::ffff:127.0.0.2]"),
        *("[::1]", "0", "[::]", "[fe80::1]", "169.254.169.254", "[fd00:ec2::254]"),
    ],
)
async def test_a_redirect_to_any_spelling_of_an_inner_address_is_not_followed(host: str):
    def answer(_: Received) -> Answer:
        return Answer(307, [("Location", f"http://{host}:{public.port}/")])

    async with both(answer) as (public, inner), world(a_test=[GOOD]) as here:
        found = await here.call(f"http://a.test:{public.port}/", follow_redirects=True)

        assert (found, inner.connections) == ("address_forbidden", 0)


async def test_a_token_endpoint_is_judged_on_every_call():
    def answer(received: Received) -> Answer:
        if received.path == "/token":
            return Answer(200, [CLOSE], orjson.dumps({"access_token": "t"}))
        return Answer(401, [CLOSE])

    async with both(answer) as (public, inner), world(a_test=[GOOD], id_test=[GOOD, BAD]) as here:
        auth = {
            "type": "oauth2",
            "token_url": f"http://id.test:{public.port}/token",
            "client_id": "c",
            "client_secret": "s",
        }
        # The receiver refuses the first token, and the second would come from inside.
        found = await here.call(f"http://a.test:{public.port}/", auth=auth)

        assert (found, inner.connections) == ("address_forbidden", 0)
        assert [request.path for request in public.requests] == ["/token", "/"]


async def test_a_proxy_is_judged_on_every_connection():
    async with (
        site(closing) as target,
        proxy(lambda _: target.port) as outer,
        proxy(lambda _: target.port, host="127.0.0.2", port=outer.port) as inner,
        world(a_test=[GOOD], p_test=[GOOD, BAD]) as here,
    ):
        way = {"url": f"http://p.test:{outer.port}"}

        found = [await here.call("http://a.test:9999/", proxy=way) for _ in range(2)]

        assert found == [200, "address_forbidden"]
        assert (outer.connections, inner.connections) == (1, 0)


async def test_a_proxy_is_no_way_round_the_guard():
    async with (
        site(closing) as target,
        proxy(lambda _: target.port) as running,
        world(a_test=[GOOD, BAD], p_test=[GOOD]) as here,
    ):
        way = {"url": f"http://p.test:{running.port}"}

        found = [await here.call("http://a.test:9999/", proxy=way) for _ in range(2)]

        assert found == [200, "address_forbidden"]
        assert [request.path for request in running.requests] == ["127.0.0.1:9999"]


async def test_a_redirect_through_a_proxy_is_judged_too():
    def answer(_: Received) -> Answer:
        return Answer(307, [("Location", "http://b.test:9999/")])

    async with (
        site(answer) as target,
        proxy(lambda _: target.port) as running,
        world(a_test=[GOOD], b_test=[BAD], p_test=[GOOD]) as here,
    ):
        way = {"url": f"http://p.test:{running.port}"}

        found = await here.call("http://a.test:9999/", proxy=way, follow_redirects=True)

        assert (found, len(running.requests)) == ("address_forbidden", 1)
