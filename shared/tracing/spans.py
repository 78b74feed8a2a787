"""A span as it waits to be sent: plain values, so that making one costs little."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from shared.trace_context import TraceContext, span_of


class Kind(IntEnum):
    """The kinds of spans, by the values of OpenTelemetry."""

    INTERNAL = 0
    SERVER = 1
    CLIENT = 2
    PRODUCER = 3
    CONSUMER = 4


class Part(IntEnum):
    """What the spans of an attempt are about; the request, which receivers see, is 0."""

    REQUEST = 0
    ATTEMPT = 1
    MATERIALIZE = 2
    DISPATCH = 3
    QUEUE = 4
    CALLBACK = 5
    RECORD = 6


class Link(NamedTuple):
    """Another span that a span refers to, in any trace."""

    trace_id: str
    span_id: str


class Span(NamedTuple):
    """One span; ids are hexadecimal digits, times are seconds since 1970.

    ``error`` is the class of an error, '' where there is none. Names and attributes come from
    code, never from a payload, an answer or a message.
    """

    name: str
    kind: Kind
    context: TraceContext
    span_id: str
    parent_id: str
    start: float
    end: float
    attributes: Mapping[str, str | int | float | bool]
    error: str = ""
    link: Link | None = None
    #: Whether the parent is a span of a caller.
    is_parent_remote: bool = False


def part_of(execution_id: str, attempt: int, part: Part) -> str:
    """Return the id of a span of an attempt."""
    return span_of(execution_id.replace("-", ""), attempt, part)
