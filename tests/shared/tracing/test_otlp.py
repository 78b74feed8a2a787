"""Spans as a receiver of OTLP reads them."""

from __future__ import annotations

from typing import Any

import pytest

from shared.trace_context import TraceContext
from shared.tracing import sending
from shared.tracing.config import Tracing
from shared.tracing.otlp import OtlpExport
from shared.tracing.spans import Kind, Link, Span
from tests.support.http_receiver import http_receiver
from tests.support.otlp_receiver import otlp_receiver

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def span(**parts: Any) -> Span:
    usual: dict[str, Any] = {
        "name": "POST",
        "kind": Kind.CLIENT,
        "context": TraceContext(TRACE, "01", "rojo=1,congo=t6"),
        "span_id": "00f067aa0ba902b7",
        "parent_id": "00f067aa0ba902b8",
        "start": 1_700_000_000.25,
        "end": 1_700_000_001.5,
        "attributes": {"http.request.method": "POST", "http.response.status_code": 200},
    }
    return Span(**usual | parts)


def test_a_span_arrives_with_its_ids_times_and_attributes(settings: Any, db: None):
    with otlp_receiver(settings, headers={"x-key": "k1"}, service_name="jobs") as receiver:
        sending.emit([span(), span(span_id="1" * 16, parent_id="", link=Link("2" * 32, "3" * 16))])

        first, second = receiver.spans
        assert receiver.headers["x-key"] == "k1"
        assert receiver.headers["content-type"] == "application/x-protobuf"

    assert (first.name, first.kind, first.trace_id, first.span_id, first.parent_id) == (
        "POST",
        3,
        TRACE,
        "00f067aa0ba902b7",
        "00f067aa0ba902b8",
    )
    assert (first.start, first.end) == (1_700_000_000.25, 1_700_000_001.5)
    assert first.attributes == {"http.request.method": "POST", "http.response.status_code": 200}
    assert (first.state, first.links, first.is_error) == ("rojo=1,congo=t6", [], False)
    assert first.service == second.service == "jobs"
    assert (second.parent_id, second.links) == ("", [("2" * 32, "3" * 16)])


@pytest.mark.parametrize("kind", Kind)
def test_kinds_are_those_of_the_protocol(settings: Any, db: None, kind: Kind):
    with otlp_receiver(settings) as receiver:
        sending.emit([span(kind=kind)])

        # There, 0 means that it was not told.
        assert receiver.named("POST").kind == kind + 1


def test_an_error_is_told_by_its_class(settings: Any, db: None):
    with otlp_receiver(settings) as receiver:
        sending.emit([span(error="timeout_total", end=0.0)])

        found = receiver.named("POST")

    assert found.is_error
    assert found.attributes["error.type"] == "timeout_total"
    # Clocks may disagree: a span is never shorter than nothing.
    assert found.end == found.start


def test_a_redirect_is_not_followed(db: None):
    with http_receiver() as elsewhere, http_receiver() as receiver:
        receiver.status, receiver.headers = 307, {"Location": elsewhere.url}
        OtlpExport(Tracing(f"http://127.0.0.1:{receiver.port}/v1/traces"))([span()])

        assert len(receiver.requests) == 1
        assert elsewhere.requests == []


@pytest.mark.parametrize("status", [304, 307, 400])
def test_a_receiver_that_refuses_has_not_taken_them(db: None, status: int):
    with http_receiver() as receiver:
        receiver.status = status

        assert not OtlpExport(Tracing(f"http://127.0.0.1:{receiver.port}/v1/traces"))([span()])
