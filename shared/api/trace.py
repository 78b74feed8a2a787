"""W3C trace context of a request: continue the caller's trace or begin one.

``TraceMiddleware`` sets ``request.trace_id`` and ``request.traceparent``; problems, audit
entries and executions read them.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any

# Version 00 has exactly four fields; later versions may have more, which are ignored.
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace id, our own span's id and the flags to hand on."""

    trace_id: str
    span_id: str
    flags: str = "01"

    @property
    def traceparent(self) -> str:
        """Return the header for requests made on behalf of this one."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


def continue_trace(header: str) -> Trace:
    """Return the trace that the header names, or a new one where it names none validly."""
    found = _TRACEPARENT.fullmatch(header.strip())
    span_id = secrets.token_hex(8)
    if not found:
        return Trace(secrets.token_hex(16), span_id)
    version, trace_id, parent_id, flags, more = found.groups()
    invalid = version == "ff" or (version == "00" and more) or not int(trace_id, 16)
    if invalid or not int(parent_id, 16):
        return Trace(secrets.token_hex(16), span_id)
    return Trace(trace_id, span_id, flags)


def trace_id_of(request: Any) -> str:
    """Return the request's trace id, or nothing outside of the middleware."""
    return str(getattr(request, "trace_id", ""))
