"""Where spans are sent, and which traces are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tracing:
    """The operator's choice, from the variables that OpenTelemetry defines."""

    #: The full URL that spans are posted to.
    endpoint: str
    #: Headers of each post; they may hold a key.
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The share of traces that begin here and are recorded, 0 to 1.
    ratio: float = 1.0
    #: Whether the flag of a caller's ``traceparent`` decides about the trace that it names.
    follows_callers: bool = True
    #: The name of the service in the receiver.
    service_name: str = "punctual"
