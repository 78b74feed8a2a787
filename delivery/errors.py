"""The one error of a delivery: why a call ended without a complete response.

Raised by the address guard and the HTTP client, turned into an outcome by ``outcome``. The
codes are those of an attempt in the public API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

ErrorCode = Literal[
    "timeout_connect",
    "timeout_total",
    "dns_failed",
    "connection_refused",
    "connection_reset",
    "tls_failed",
    "address_forbidden",
    "redirect_forbidden",
    "secret_unavailable",
    "response_invalid",
    "http_status",
    "internal",
]


class DeliveryError(Exception):
    """The call ended without a complete response."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        timings: Mapping[str, float] | None = None,
        *,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        #: Milliseconds by phase, as in a response; empty when none was reached.
        self.timings: dict[str, float] = dict(timings or {})
        #: With ``http_status``: what a token endpoint answered, which judges the attempt.
        self.status = status
