"""Which request headers a user may set on an outgoing call, and which ones carry secrets.

Validation of targets asks on creation; the delivery side sets the reserved ones itself and so
may rely on their absence. The HTTP client still refuses CR, LF and NUL by itself, because
templates fill values after validation. Everything that shows, keeps or forwards headers asks
:func:`is_secret_header`, so that a header is secret everywhere or nowhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: Lower case. Set by the product, or deciding how a message is framed.
RESERVED_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "idempotency-key",
        "keep-alive",
        "te",
        "traceparent",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
        "x-execution-token",
        "x-idempotency-key",
        "x-scheduler-attempt",
        "x-scheduler-callback-url",
        "x-scheduler-fencing-token",
        "x-scheduler-progress",
        "x-scheduler-scheduled-for",
        "x-scheduler-task-id",
        "x-scheduler-test",
    }
)
RESERVED_PREFIXES = ("proxy-",)

_SECRET_NAME = re.compile(
    r"authorization|cookie|token|secret|passw|signature|credential|private|session|jwt|bearer|"
    r"(api|access)[-_]?key|(^|[-_])(auth|key)($|[-_])",
    re.IGNORECASE,
)
#: They sound like secrets; the one orders attempts and proves nothing, the others are ids.
_OPEN_NAMES = frozenset({"x-scheduler-fencing-token", "idempotency-key", "x-idempotency-key"})

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}")
_VALUE = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")


def check_header(name: str, value: str) -> str | None:
    """Return ``header_invalid`` or ``header_reserved``, or None when the header may be set."""
    if not is_token(name) or not _VALUE.fullmatch(value):
        return "header_invalid"
    lowered = name.lower()
    if lowered in RESERVED_HEADERS or lowered.startswith(RESERVED_PREFIXES):
        return "header_reserved"
    return None


def is_token(text: str) -> bool:
    """Say whether the text may be a header name or a method (RFC 9110 token)."""
    return _TOKEN.fullmatch(text) is not None


@lru_cache(1024)
def is_secret_header(name: str) -> bool:
    """Return whether a header of this name is likely to carry a secret."""
    return _SECRET_NAME.search(name) is not None and name.lower() not in _OPEN_NAMES
