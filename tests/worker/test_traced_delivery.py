"""The span of a request says what the conventions ask for, and nothing that is sealed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.addresses import AllowList, TargetUrl, parse_target_url
from shared.conf import conf
from shared.trace_context import TraceContext
from shared.tracing import sending
from shared.tracing.config import Tracing
from shared.tracing.spans import Kind, Part, Span, part_of
from tests.support.entries import entry_of
from worker.traced_delivery import TracedDelivery

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
BATCH: Any = {"offset": 0.5, "secrets": {}}
STARTED = 1_700_000_000.0
URL = parse_target_url("https://api.example.com:8443/hook/secret?key=secret", AllowList())


@pytest.fixture
def sent(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Span]:
    """Return the spans that were sent, of traces that are all recorded."""
    settings.PUNCTUAL = replace(conf(), tracing=Tracing("http://a.example"))
    found: list[Span] = []

    def emit(spans: Sequence[Span]) -> None:
        found.extend(spans)

    monkeypatch.setattr(sending, "emit", emit)
    return found


def webhook(**parts: Any) -> Any:
    return entry_of("webhook", url=None, parts=parts)


def delivering(outcome: Any, url: TargetUrl | None = URL) -> TracedDelivery:
    async def deliver(entry: Any, batch: Any, started: float) -> Any:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return TracedDelivery(deliver, lambda entry, batch: url)


def outcome(**parts: Any) -> dict[str, Any]:
    return {"verb": "succeeded", "outcome": "SUCCEEDED", "status": 200, **parts}


async def test_a_request_is_a_clients_span_below_that_of_its_attempt(sent: list[Span]):
    entry = webhook(trace=f"{TRACE}-01-00f067aa0ba902b7 rojo=1")

    assert await delivering(outcome())(entry, BATCH, STARTED) == outcome()

    [span] = sent
    assert (span.name, span.kind, span.error, span.link) == ("POST", Kind.CLIENT, "", None)
    assert span.context == TraceContext(TRACE, "01", "rojo=1", "00f067aa0ba902b7")
    assert span.span_id == part_of(entry["id"], 1, Part.REQUEST)
    assert span.parent_id == part_of(entry["id"], 1, Part.ATTEMPT)
    # Redis' clock, of which the message says how far it is from the database's.
    assert span.start == STARTED - 0.5
    assert span.end >= span.start
    assert span.attributes == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "api.example.com",
        "server.port": 8443,
        "url.scheme": "https",
        "url.full": "https://api.example.com:8443/REDACTED",
    }


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (outcome(verb="retrying", error_code="http_status", status=503), "503"),
        (outcome(verb="failed", error_code="response_mismatch"), "response_mismatch"),
        (outcome(verb="retrying", error_code="timeout_total", status=None), "timeout_total"),
        (outcome(verb="cancelled", status=None), "cancelled"),
        (outcome(verb="accepted", status=202), ""),
    ],
)
async def test_the_error_is_a_code_or_the_status(sent: list[Span], said: Any, error: str):
    await delivering(said)(webhook(), BATCH, STARTED)

    assert [one.error for one in sent] == [error]
    assert sent[0].attributes.get("http.response.status_code") == said["status"]


@pytest.mark.parametrize(
    ("raised", "error"), [(asyncio.CancelledError(), "cancelled"), (ValueError("x"), "internal")]
)
async def test_an_attempt_that_is_aborted_has_a_span_too(
    sent: list[Span], raised: BaseException, error: str
):
    with pytest.raises(type(raised)):
        await delivering(raised)(webhook(), BATCH, STARTED)

    assert [one.error for one in sent] == [error]


async def test_an_address_that_only_the_request_says_is_told_by_its_destination(sent: list[Span]):
    entry = webhook(destination="api.example.com", attempt=3)

    await delivering(outcome(), url=None)(entry, BATCH, STARTED)

    [span] = sent
    assert span.attributes["server.address"] == "api.example.com"
    assert span.attributes["http.request.resend_count"] == 2
    assert "url.full" not in span.attributes


@pytest.mark.parametrize("kind", ["handler", "command"])
async def test_what_runs_in_place_of_a_request_is_named_by_its_kind(sent: list[Span], kind: str):
    entry = entry_of(kind)

    await delivering({"verb": "succeeded", "outcome": "SUCCEEDED"})(entry, BATCH, STARTED)

    [span] = sent
    assert (span.name, span.kind, span.attributes) == (f"run {kind}", Kind.INTERNAL, {})


async def test_a_trace_that_is_not_recorded_costs_no_span(sent: list[Span], settings: Any):
    entry = webhook(trace=f"{TRACE}-00")

    assert await delivering(outcome())(entry, BATCH, STARTED) == outcome()

    assert sent == []


async def test_a_span_that_cannot_be_made_fails_no_attempt(
    sent: list[Span], caplog: pytest.LogCaptureFixture
):
    def no_address(entry: Any, batch: Any) -> TargetUrl:
        raise KeyError("url")

    async def deliver(entry: Any, batch: Any, started: float) -> Any:
        return outcome()

    assert await TracedDelivery(deliver, no_address)(webhook(), BATCH, STARTED) == outcome()

    assert sent == []
    assert [one.getMessage() for one in caplog.records] == ["span_of_delivery.not_made"]
