from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import orjson
import pytest

from delivery.caller import Caller
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient, Request, Response
from delivery.plan import read_plan
from shared.addresses import AllowList
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS
from tests.delivery.calls import request_to
from tests.delivery.sites import Answer, FakeClient

OAUTH = {
    "type": "oauth2",
    "token_url": "https://id.example/token",
    "client_id": "c",
    "client_secret": "s",
    "scope": None,
    "audience": None,
}


async def call(
    answer: Callable[[Request], Any], *, timeout: float = 5.0, **target: Any
) -> tuple[Response, FakeClient]:
    client = FakeClient(answer)
    plan = read_plan(
        {**TARGET_DEFAULTS, "url": "https://a.example/", **target},
        None,
        policy=RETRY_DEFAULTS,
        tenant="t1",
        allow=AllowList(),
    )
    request = request_to(443, scheme="https", host="a.example", path="/", timeout=timeout)
    response = await Caller(cast(HttpClient, client)).call(plan, request, "t1")
    return response, client


def authorization(request: Request) -> str | None:
    return dict(request.headers).get("Authorization")


async def test_a_plain_target_is_one_untouched_request():
    response, client = await call(lambda _: Answer(302, [("Location", "/b")]))

    assert response.status == 302
    assert response.timings == {"first_byte": 1.0, "total": 2.0}
    assert len(client.requests) == 1


async def test_every_request_of_a_call_is_its_tenants():
    def answer(request: Request) -> Answer:
        if request.url.host == "id.example":
            return Answer(body=orjson.dumps({"access_token": "t"}))
        return Answer(302, [("Location", "/b")]) if request.url.path_and_query == "/" else Answer()

    _, direct = await call(lambda _: Answer())
    _, followed = await call(answer, auth=OAUTH, follow_redirects=True)

    assert direct.tenants == ["t1"]
    assert followed.tenants == ["t1"] * 3


async def test_a_fixed_proof_is_added():
    _, client = await call(lambda _: Answer(), auth={"type": "bearer", "token": "t"})

    assert authorization(client.requests[0]) == "Bearer t"


async def test_redirects_are_followed_to_the_last_answer():
    def answer(request: Request) -> Answer:
        number = int(request.url.path_and_query[1:] or 0)
        return Answer(307, [("Location", f"/{number + 1}")]) if number < 5 else Answer(201)

    response, client = await call(answer, follow_redirects=True)

    assert (response.status, len(client.requests)) == (201, 6)


@pytest.mark.parametrize("location", ["/", "https://a.example:443/#x"])
async def test_a_redirect_to_where_it_was_is_a_circle(location: str):
    with pytest.raises(DeliveryError, match="circle") as refused:
        await call(lambda _: Answer(307, [("Location", location)]), follow_redirects=True)

    assert refused.value.code == "redirect_forbidden"


async def test_a_longer_circle_is_one_too():
    def answer(request: Request) -> Answer:
        there = "/" if request.url.path_and_query == "/b" else "/b"
        return Answer(308, [("Location", there)])

    with pytest.raises(DeliveryError, match="circle"):
        await call(answer, follow_redirects=True)


async def test_more_than_five_redirects_are_too_many():
    def answer(request: Request) -> Answer:
        return Answer(302, [("Location", request.url.path_and_query + "x")])

    with pytest.raises(DeliveryError, match="more than 5") as refused:
        await call(answer, follow_redirects=True)

    assert refused.value.code == "redirect_forbidden"


async def test_a_redirect_that_counts_as_success_is_not_followed():
    response, _ = await call(
        lambda _: Answer(303, [("Location", "/b")]),
        follow_redirects=True,
        success={"statuses": ["303"]},
    )

    assert response.status == 303


@pytest.mark.parametrize("answer", [Answer(300, [("Location", "/b")]), Answer(302), Answer(304)])
async def test_what_names_no_place_is_the_answer(answer: Answer):
    response, client = await call(lambda _: answer, follow_redirects=True)

    assert (response.status, len(client.requests)) == (answer.status, 1)


async def test_a_key_of_an_odd_name_does_not_leave_the_origin():
    def answer(request: Request) -> Answer:
        if request.url.host == "a.example":
            return Answer(307, [("Location", "https://b.example/")])
        return Answer()

    key = {"type": "api_key", "name": "X-Shop", "value": "v", "in": "header"}
    _, client = await call(answer, follow_redirects=True, auth=key)

    assert [dict(request.headers).get("X-Shop") for request in client.requests] == ["v", None]


async def test_one_deadline_covers_all_hops():
    left: list[float] = []

    def answer(request: Request) -> Answer:
        left.append(request.timeout)
        return Answer(307, [("Location", request.url.path_and_query + "x")])

    with pytest.raises(DeliveryError):
        await call(answer, follow_redirects=True)

    assert left == sorted(left, reverse=True)
    assert max(left) <= 5.0


async def test_a_deadline_that_has_passed_ends_it(monkeypatch: pytest.MonkeyPatch):
    loop = asyncio.get_running_loop()
    now = loop.time()

    def answer(_: Request) -> Answer:
        monkeypatch.setattr(loop, "time", lambda: now + 60)
        return Answer(307, [("Location", "/b")])

    with pytest.raises(DeliveryError) as late:
        await call(answer, follow_redirects=True)

    assert late.value.code == "timeout_total"
    assert "total" in late.value.timings


def endpoint(*answers: Answer) -> Callable[[Request], Answer]:
    """Answer token calls with t1, t2, ... and the receiver's with these."""
    left, tokens = list(answers), iter(range(1, 9))

    def answer(request: Request) -> Answer:
        if request.url.host == "id.example":
            return Answer(body=orjson.dumps({"access_token": f"t{next(tokens)}"}))
        return left.pop(0)

    return answer


async def test_a_fetched_token_is_the_proof():
    response, client = await call(endpoint(Answer(204)), auth=OAUTH)

    assert response.status == 204
    assert [request.url.host for request in client.requests] == ["id.example", "a.example"]
    assert authorization(client.requests[1]) == "Bearer t1"


async def test_a_token_that_is_refused_is_fetched_anew_once():
    response, client = await call(endpoint(Answer(401), Answer(204)), auth=OAUTH)

    assert response.status == 204
    assert [authorization(request) for request in client.requests][1::2] == [
        "Bearer t1",
        "Bearer t2",
    ]


async def test_a_second_refusal_is_the_answer():
    response, client = await call(endpoint(Answer(401), Answer(401), Answer(204)), auth=OAUTH)

    assert (response.status, len(client.requests)) == (401, 4)


async def test_without_a_token_nothing_is_sent():
    with pytest.raises(DeliveryError, match="token endpoint") as failed:
        await call(lambda _: Answer(503), auth=OAUTH)

    assert (failed.value.code, failed.value.status) == ("http_status", 503)
    assert "total" in failed.value.timings


async def test_other_answers_are_not_a_reason_for_another_token():
    response, client = await call(endpoint(Answer(403)), auth=OAUTH)

    assert (response.status, len(client.requests)) == (403, 2)
