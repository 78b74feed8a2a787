from __future__ import annotations

import asyncio

import pytest

from scheduler_site.receiver_messages import Request
from scheduler_site.receiver_outgoing import Outgoing, callback_url, callbacks, forwarding_url
from shared.addresses import AllowList
from tests.support.http_receiver import http_receiver

ID = "0193a5f0-0000-7000-8000-000000000001"


def test_only_what_webhooks_may_reach_is_forwarded_to():
    outgoing = Outgoing(AllowList(["127.0.0.1/32:9000"]))

    assert forwarding_url("http://127.0.0.1:9000/x", outgoing, 1).port == 9000
    with pytest.raises(ValueError, match="WEBHOOK_ALLOWED_NETWORKS"):
        forwarding_url("http://127.0.0.1:9001/", outgoing, 1)
    with pytest.raises(ValueError, match="to: "):
        forwarding_url("ftp://127.0.0.1/", outgoing, 1)


def test_a_path_is_one_of_the_receiver_itself():
    outgoing = Outgoing(AllowList(["127.0.0.1/32:8001"]))

    url = forwarding_url("/flaky?fail=1", outgoing, 8001)

    assert (url.port, url.path_and_query) == (8001, "/flaky?fail=1")


@pytest.mark.parametrize(
    "base",
    [f"http://10.0.0.1:8000/v1/executions/{ID}", f"https://p.example/base/v1/executions/{ID}"],
)
def test_a_callback_is_that_of_an_execution(base: str):
    assert callback_url(base, "complete").path_and_query.endswith(f"/{ID}/complete")


@pytest.mark.parametrize(
    "base",
    [
        "http://127.0.0.1:6379/",
        f"http://127.0.0.1/v1/tasks/{ID}",
        f"http://127.0.0.1/?v1/executions/{ID}",
        f"http://127.0.0.1/v1/executions/{ID}/../../x",
        f"ftp://127.0.0.1/v1/executions/{ID}",
    ],
)
def test_any_other_callback_is_refused(base: str):
    with pytest.raises(ValueError, match="X-Scheduler-Callback-Url"):
        callback_url(base, "complete")


async def test_a_request_is_forwarded_with_its_headers_and_body():
    outgoing = callbacks()
    headers = (
        ("host", "127.0.0.1:8001"),
        ("content-length", "2"),
        ("x-name", "é".encode().decode("latin-1")),
    )
    with http_receiver() as receiver:
        url = forwarding_url(receiver.url, outgoing, 1)
        response = await outgoing.forward(Request("PUT", "/chaos", headers, b"{}"), url)
        await outgoing.close()

    (got,) = receiver.requests
    assert (response.status, got.method, got.path, got.body) == (200, "PUT", "/hook", b"{}")
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["x-name"].encode("latin-1").decode() == "é"


async def test_closing_an_unused_one_does_nothing():
    await asyncio.wait_for(callbacks().close(), 20)
