"""W3C trace context as it travels with work: from a call through the ledger to the webhook.

Kept as one text where an execution continues the trace of the call that made it. An execution
without the text begins a trace of its own, whose id is the execution's. Ids of spans follow from
execution and attempt, so that every process knows them; :mod:`shared.tracing` records spans.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Longest text that is kept: id and flags, and the longest state.
MAX_LENGTH = 560
#: The length of state that the standard requires to be passed on; a longer one is dropped whole.
_MOST_STATE = 512
#: The flags of a trace that is recorded.
SAMPLED = "01"
_MEMBER = re.compile(r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,256}")
_MOST_MEMBERS = 32


class TraceContext(NamedTuple):
    """A trace that work belongs to, whether it is sampled, and the state of other tracers."""

    #: 32 hexadecimal digits.
    trace_id: str
    flags: str = SAMPLED
    #: The header ``tracestate``, '' for none.
    state: str = ""
    #: The span of ours that what comes is a part of, 16 hexadecimal digits; '' where none is kept.
    parent: str = ""

    @property
    def is_sampled(self) -> bool:
        """Whether spans of the trace are recorded."""
        return int(self.flags, 16) & 1 == 1

    def sampled(self, is_sampled: bool) -> TraceContext:
        """Return the context with this decision; other flags stay."""
        flags = int(self.flags, 16)
        return self._replace(flags=f"{flags | 1 if is_sampled else flags & ~1:02x}")

    def traceparent(self, span_id: str) -> str:
        """Return the header of a request that is the span."""
        return f"00-{self.trace_id}-{span_id}-{self.flags}"

    def to_text(self) -> str:
        """Return the text that is kept: without the parent where the state leaves it no room."""
        if self.parent:
            text = f"{self.trace_id}-{self.flags}-{self.parent} {self.state}".rstrip()
            if len(text) <= MAX_LENGTH:
                return text
        return f"{self.trace_id}-{self.flags} {self.state}".rstrip()


def from_text(text: str) -> TraceContext:
    """Return the context of a text from :meth:`TraceContext.to_text`."""
    ids, _, state = text.partition(" ")
    trace_id, flags, *parent = ids.split("-")
    return TraceContext(trace_id, flags, state, *parent)


def context_of(execution_id: str, kept: str | None) -> TraceContext:
    """Return the trace of an execution: the one it continues, or its own."""
    return from_text(kept) if kept else TraceContext(execution_id.replace("-", ""))


def span_of(execution: str, attempt: int, part: int = 0) -> str:
    """Return the id of an attempt's span; ``execution`` is the digits of its id.

    Part 0 is the request, or what runs in its place.
    """
    # The low half of a UUID is random in versions 4, 7 and 8; zero is no valid span id.
    return f"{int(execution[16:], 16) ^ part << 48 ^ attempt or 1:016x}"


def read_state(header: str) -> str:
    """Return a ``tracestate`` that may be passed on, '' for one that breaks its rules."""
    members = [member for part in header.split(",") if (member := part.strip(" \t"))]
    if len(members) > _MOST_MEMBERS or not all(map(_MEMBER.fullmatch, members)):
        return ""
    state = ",".join(members)
    return state if len(state) <= _MOST_STATE else ""
