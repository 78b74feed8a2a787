"""Which calls have a span, and what it says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import resolve

from api.protocol import request_spans
from api.protocol.request_counts import HELD_BACK
from api.protocol.trace import continue_trace
from shared.conf import conf
from shared.tracing import sending
from shared.tracing.config import Tracing
from shared.tracing.spans import Kind, Span
from tests.support.api import ApiClient

TRACE, CALLERS = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADER = f"00-{TRACE}-{CALLERS}-01"
TASK = "/v1/tasks/0195c0c0-0000-7000-8000-000000000002"


@pytest.fixture
def sent(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Span]:
    """Return the spans that were sent, of callers' traces that are recorded."""
    settings.PUNCTUAL = replace(conf(), tracing=Tracing("http://a.example", ratio=0.0))
    found: list[Span] = []

    def emit(spans: Sequence[Span]) -> None:
        found.extend(spans)

    monkeypatch.setattr(sending, "emit", emit)
    return found


def span_of(path: str, method: str = "GET", status: int = 200) -> Span | None:
    request = RequestFactory().generic(method, path)
    request.resolver_match = resolve(request.path_info)
    trace = continue_trace(HEADER, "rojo=1")
    return request_spans.span_of_call(request, HttpResponse(status=status), trace, 1.0, 2.5)


def test_a_call_of_the_api_is_a_servers_span_of_its_route(sent: list[Span]):
    span = span_of(f"{TASK}?key=secret", "PATCH", 409)

    assert span is not None
    assert (span.name, span.kind) == ("PATCH /v1/tasks/<uuid:task_id>", Kind.SERVER)
    assert (span.context.trace_id, span.context.state) == (TRACE, "rojo=1")
    assert (span.parent_id, span.is_parent_remote) == (CALLERS, True)
    assert span.span_id == span.context.parent != CALLERS
    assert (span.start, span.end, span.error) == (1.0, 2.5, "")
    assert span.attributes == {
        "http.request.method": "PATCH",
        "http.route": "/v1/tasks/<uuid:task_id>",
        "http.response.status_code": 409,
        "url.scheme": "http",
        "url.path": TASK,
    }


def test_a_fault_of_ours_is_an_error(sent: list[Span]):
    span = span_of("/v1/tasks", "POST", 503)

    assert span is not None
    assert span.error == "503"


def test_a_method_of_the_callers_own_is_no_name(sent: list[Span]):
    span = span_of("/v1/tasks", "BREW")

    assert span is not None
    assert span.name == "_OTHER /v1/tasks"
    assert span.attributes["http.request.method"] == "_OTHER"


def test_a_form_of_the_console_has_a_span_without_its_path_and_a_page_none(sent: list[Span]):
    form = span_of("/login", "POST", 302)

    assert form is not None
    assert "url.path" not in form.attributes
    assert span_of("/login") is None


def test_a_caller_who_is_not_authenticated_makes_no_span(sent: list[Span], db: None):
    ApiClient().get("/v1/tasks", traceparent=HEADER)
    ApiClient().get("/v1/nowhere", traceparent=HEADER)
    # Refused before it was asked who calls; and a form for everyone.
    ApiClient().get("/v1/tasks", accept="text/csv", traceparent=HEADER)
    ApiClient().post("/login", traceparent=HEADER)

    assert sent == []


def test_a_span_that_cannot_be_made_fails_no_call(
    sent: list[Span], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(request_spans, "span_of_call", lambda *of: 1 / 0)

    request_spans.emit(RequestFactory().get("/"), HttpResponse(), continue_trace(HEADER), 1.0, 2.0)

    assert [one.message for one in caplog.records] == ["span_of_call.not_made"]


def test_a_call_that_may_be_made_again_is_sent_with_its_answer(sent: list[Span]):
    held: list[Any] = []
    request = RequestFactory().post("/v1/tasks")
    request.resolver_match = resolve("/v1/tasks")
    request.scope = {HELD_BACK: held}  # type: ignore[attr-defined]  # of requests by ASGI

    request_spans.emit(request, HttpResponse(), continue_trace(HEADER), 1.0, 2.0)

    assert sent == []
    [send] = held
    send()
    assert [one.name for one in sent] == ["POST /v1/tasks"]


@pytest.mark.parametrize(
    ("header", "spans"), [("", 0), (HEADER.replace("-01", "-00"), 0), (HEADER, 1)]
)
def test_a_trace_that_is_not_recorded_has_no_span(
    sent: list[Span], client: ApiClient, header: str, spans: int
):
    answer = client.get("/v1/tasks", traceparent=header)

    assert answer.headers["X-Trace-Id"]
    assert len(sent) == spans
