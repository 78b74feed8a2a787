from __future__ import annotations

import asyncio

import pytest

from receiver.messages import Request
from receiver.outgoing import Callbacks, Outgoing, forwarding_url
from shared.addresses import AllowList
from tests.support.http_receiver import http_receiver

ID = "0193a5f0-0000-7000-8000-000000000001"


def test_only_what_webhooks_may_reach_is_forwarded_to():
    outgoing = Outgoing(AllowList(["127.0.0.1/32:9000"]))

    assert forwarding_url("http://127.0.0.1:9000/x", outgoing, "127.0.0.1:1").port == 9000
    with pytest.raises(ValueError, match="WEBHOOK_ALLOWED_NETWORKS"):
        forwarding_url("http://127.0.0.1:9001/", outgoing, "127.0.0.1:1")
    with pytest.raises(ValueError, match="to: "):
        forwarding_url("ftp://127.0.0.1/", outgoing, "127.0.0.1:1")


def test_a_path_is_one_of_the_receiver_itself():
    outgoing = Outgoing(AllowList(["127.0.0.1/32:8001"]))

    url = forwarding_url("/flaky?fail=1", outgoing, "127.0.0.1:8001/own")

    assert (url.port, url.path_and_query) == (8001, "/own/flaky?fail=1")


@pytest.mark.parametrize(
    "installation", ["http://10.0.0.1:8000", "https://p.example/base", "https://p.example/"]
)
def test_a_callback_is_that_of_an_execution_of_the_installation(installation: str):
    base = f"{installation.rstrip('/')}/v1/executions/{ID}"

    url = Callbacks(installation).url(base, "complete")

    assert url.path_and_query.endswith(f"/v1/executions/{ID}/complete")


@pytest.mark.parametrize(
    "base",
    [
        "http://127.0.0.1:6379/",
        f"http://127.0.0.1:9000/v1/executions/{ID}",
        f"http://169.254.169.254/v1/executions/{ID}",
        f"https://127.0.0.1/v1/executions/{ID}",
        f"http://127.0.0.1.evil.example/v1/executions/{ID}",
        f"http://127.0.0.1@evil.example/v1/executions/{ID}",
        f"http://evil.example/http://127.0.0.1/v1/executions/{ID}",
        f"http://127.0.0.1/v1/tasks/{ID}",
        f"http://127.0.0.1/?v1/executions/{ID}",
        f"http://127.0.0.1/v1/executions/{ID}/../../x",
        f"http://127.0.0.1/v1/executions/{ID}?x=",
        "http://127.0.0.1/v1/executions/",
    ],
)
def test_any_other_callback_is_refused(base: str):
    with pytest.raises(ValueError, match="X-Scheduler-Callback-Url"):
        Callbacks("http://127.0.0.1").url(base, "complete")


def test_without_an_installation_there_are_no_callbacks():
    with pytest.raises(ValueError, match="--callbacks"):
        Callbacks("").url(f"http://127.0.0.1/v1/executions/{ID}", "complete")


async def test_a_request_is_forwarded_with_its_headers_and_body():
    outgoing = Outgoing(AllowList(["127.0.0.0/8"]))
    headers = (
        ("host", "127.0.0.1:8001"),
        ("content-length", "2"),
        ("x-name", "é".encode().decode("latin-1")),
    )
    with http_receiver() as receiver:
        url = forwarding_url(receiver.url, outgoing, "127.0.0.1:1")
        response = await outgoing.forward(Request("PUT", "/chaos", headers, b"{}"), url)
        await outgoing.close()

    (got,) = receiver.requests
    assert (response.status, got.method, got.path, got.body) == (200, "PUT", "/hook", b"{}")
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["x-name"].encode("latin-1").decode() == "é"


async def test_closing_an_unused_one_does_nothing():
    await asyncio.wait_for(Callbacks("").close(), 20)
