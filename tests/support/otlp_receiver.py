"""A receiver of traces as OTLP has it: it takes posts and reads them by the official protobufs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from shared.conf import conf
from shared.tracing import sending
from shared.tracing.config import Tracing
from tests.support.http_receiver import HttpReceiver, http_receiver


@dataclass(frozen=True)
class Seen:
    """A span as it arrived; ids are hexadecimal digits, times are seconds."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    start: float
    end: float
    attributes: dict[str, Any]
    #: Trace and span of each link.
    links: list[tuple[str, str]]
    is_error: bool
    state: str
    service: str


class OtlpReceiver:
    """What has arrived; asking ends the sending of what still waits in this process."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self._receiver = receiver

    @property
    def bodies(self) -> list[bytes]:
        sending.close()
        return [one.body for one in self._receiver.requests]

    @property
    def headers(self) -> dict[str, str]:
        sending.close()
        return self._receiver.requests[-1].headers

    @property
    def spans(self) -> list[Seen]:
        return [span for body in self.bodies for span in _spans(body)]

    def named(self, name: str, **wanted: str) -> Seen:
        """Return the one span of this name, of those with the values."""
        [found] = [
            span
            for span in self.spans
            if span.name == name and all(getattr(span, key) == wanted[key] for key in wanted)
        ]
        return found


@contextmanager
def otlp_receiver(settings: Any, **parts: Any) -> Iterator[OtlpReceiver]:
    """Run a receiver for a block, and let this process send its spans there."""
    with http_receiver() as receiver:
        receiver.headers, receiver.body = {"Content-Type": "application/x-protobuf"}, b""
        tracing = Tracing(f"http://127.0.0.1:{receiver.port}/v1/traces", **parts)
        settings.PUNCTUAL = replace(conf(), tracing=tracing)
        try:
            yield OtlpReceiver(receiver)
        finally:
            sending.close()


def _spans(body: bytes) -> Iterator[Seen]:
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    for of_resource in request.resource_spans:
        resource = _values(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Seen(
                    name=span.name,
                    kind=span.kind,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    start=_seconds(span.start_time_unix_nano),
                    end=_seconds(span.end_time_unix_nano),
                    attributes=_values(span.attributes),
                    links=[(one.trace_id.hex(), one.span_id.hex()) for one in span.links],
                    is_error=span.status.code == span.status.STATUS_CODE_ERROR,
                    state=span.trace_state,
                    service=resource["service.name"],
                )


def _seconds(nanoseconds: int) -> float:
    # In two parts, which a float has digits for.
    return nanoseconds // 10**9 + nanoseconds % 10**9 / 1e9


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
