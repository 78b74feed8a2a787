"""Makes spans of OpenTelemetry's SDK from ours and sends them by OTLP over HTTP.

Loaded by the thread that sends. Ids and times are given, since spans are written when they are over
and parts of a trace come from several processes; the decision to sample was made before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import requests
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from opentelemetry.trace.status import Status, StatusCode

from shared.tracing.config import Tracing
from shared.tracing.spans import Kind, Span

_KINDS = {
    Kind.INTERNAL: trace.SpanKind.INTERNAL,
    Kind.SERVER: trace.SpanKind.SERVER,
    Kind.CLIENT: trace.SpanKind.CLIENT,
    Kind.PRODUCER: trace.SpanKind.PRODUCER,
    Kind.CONSUMER: trace.SpanKind.CONSUMER,
}
_SCOPE = "punctual"
#: How long one post may take with all its repeats: less than the end of a process waits.
_SECONDS = 3.0


class _GivenIds(IdGenerator):
    """The ids of the span that is being made."""

    trace_id = 0
    span_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id


class _Ended(SpanProcessor):
    """Keeps spans as they end, for the export."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


class OtlpExport:
    """Sends spans to the operator's receiver, and follows no redirect; for one thread."""

    def __init__(self, tracing: Tracing) -> None:
        self._exporter = OTLPSpanExporter(
            endpoint=tracing.endpoint,
            headers=dict(tracing.headers),
            timeout=_SECONDS,
            session=_session(),
        )
        self._ids, self._ended = _GivenIds(), _Ended()
        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create({SERVICE_NAME: tracing.service_name}),
            shutdown_on_exit=False,
            id_generator=self._ids,
        )
        provider.add_span_processor(self._ended)
        self._tracer = provider.get_tracer(_SCOPE)

    def __call__(self, spans: Sequence[Span]) -> bool:
        """Post the spans; return whether the receiver took them."""
        # Not in the next post what was made before a fault in this one.
        made: list[ReadableSpan] = []
        self._ended.spans = made
        for span in spans:
            self._make(span)
        return self._exporter.export(made) is SpanExportResult.SUCCESS

    def _make(self, span: Span) -> None:
        self._ids.trace_id = int(span.context.trace_id, 16)
        self._ids.span_id = int(span.span_id, 16)
        made = self._tracer.start_span(
            span.name,
            context=_around(span),
            kind=_KINDS[span.kind],
            attributes=dict(span.attributes),
            links=[trace.Link(_context(*span.link))] if span.link else None,
            start_time=_nanoseconds(span.start),
        )
        if span.error:
            made.set_attribute("error.type", span.error)
            made.set_status(Status(StatusCode.ERROR))
        # Clocks of two machines may disagree by a little.
        made.end(_nanoseconds(max(span.start, span.end)))


def _session() -> requests.Session:
    """Return the session of the exporter, which would take a redirect for an acceptance."""
    session = requests.Session()
    session.hooks["response"].append(_refuse_redirect)
    return session


def _refuse_redirect(response: requests.Response, **_: Any) -> None:
    if 300 <= response.status_code < 400:
        response.close()
        message = f"The receiver answered {response.status_code}; only 2xx takes the spans."
        raise requests.HTTPError(message, response=response)


def _around(span: Span) -> Context:
    """Return the context of the parent; an empty one where the span begins its trace."""
    if not span.parent_id:
        return Context()
    parent = _context(
        span.context.trace_id,
        span.parent_id,
        is_remote=span.is_parent_remote,
        state=span.context.state,
    )
    return trace.set_span_in_context(NonRecordingSpan(parent), Context())


def _context(
    trace_id: str, span_id: str, *, is_remote: bool = True, state: str = ""
) -> SpanContext:
    return SpanContext(
        int(trace_id, 16),
        int(span_id, 16),
        is_remote,
        TraceFlags(TraceFlags.SAMPLED),
        TraceState.from_header([state]) if state else None,
    )


def _nanoseconds(seconds: float) -> int:
    # In two parts: a float has too few digits for nanoseconds since 1970.
    whole = int(seconds)
    return whole * 10**9 + round((seconds - whole) * 1e9)
